import { type Berth, isBerthError, type PublishedPort } from '@berth/sdk'
import { Command, InvalidArgumentError } from 'commander'
import { allOf } from '../all.ts'
import { exitCodes, Refusal } from '../errors.ts'
import { idOf } from '../find.ts'
import { wholeNumber } from '../flags.ts'
import type { Columns } from '../output.ts'
import { action, listCommand } from '../session.ts'
import { serverKind } from './kind.ts'

const columns = {
  id: ({ port_id }) => port_id,
  port: ({ port, protocol }) => `${port}/${protocol}`,
  address: addressOf,
  ssh: ({ is_system }) => is_system,
  status: ({ status }) => status,
  created: ({ created_at }) => created_at,
} satisfies Columns<PublishedPort>

export function listPorts(): Command {
  return listCommand({
    name: 'ports',
    description: 'list the published ports of a server',
    columns,
    shown: ['port', 'address', 'ssh', 'status'],
    items: async ({ berth }, _, given) => berth.ports.listAll(await idOf(berth, serverKind, given ?? '')),
  }).argument('<server>', 'name or id')
}

export function publishCommand(): Command {
  return new Command('publish')
    .description('publish a port of a server, so that it can be reached from outside')
    .argument('<server>', 'name or id')
    .argument('<port>', 'port of the server, such as 80 or 53/udp', portOf)
    .option('--host-port <port>', 'port to connect to (default: a free one)', wholeNumber)
    .action(
      action(async (session, given: string, port: Port, { hostPort }: { hostPort?: number }) => {
        const { berth } = session
        const server_id = await idOf(berth, serverKind, given)
        const present = await presentPort(berth, server_id, { ...port, hostPort })
        if (present)
          session.note(
            `Port ${port.port}/${port.protocol} of ${given} is already published at ${addressOf(present)}.`,
          )
        const published = present ?? (await berth.ports.publish(server_id, { ...port, host_port: hostPort }))
        await session.show(published, {
          ID: columns.id,
          Port: columns.port,
          Address: columns.address,
          Status: columns.status,
        })
        if (published.status === 'pending')
          session.note(
            `${given} is running, and its ports cannot change until its next start. To open the port: berth server stop ${given} --wait && berth server start ${given}`,
          )
      }),
    )
}

/** Finds the existing publication of a port, so that a repeat does not create a second one. */
async function presentPort(
  berth: Berth,
  serverId: string,
  { port, protocol, hostPort }: Port & { hostPort: number | undefined },
): Promise<PublishedPort | undefined> {
  const all = await allOf(berth.ports.listAll(serverId)).catch((error: unknown) => {
    // A token that may publish need not be one that may read.
    if (isBerthError(error, 'insufficient_scope')) return []
    throw error
  })
  return all.find(
    (one) =>
      one.port === port &&
      one.protocol === protocol &&
      one.status !== 'closing' &&
      (hostPort === undefined || one.host_port === hostPort),
  )
}

export function unpublishCommand(): Command {
  return new Command('unpublish')
    .description('stop publishing a port of a server')
    .argument('<server>', 'name or id')
    .argument('<port>', 'port of the server, such as 80 or 53/udp', portOf)
    .action(
      action(async ({ berth, note }, given: string, { port, protocol }: Port) => {
        const server_id = await idOf(berth, serverKind, given)
        const all = await allOf(berth.ports.listAll(server_id))
        const published = all.filter((one) => one.port === port && one.protocol === protocol)
        if (published.length === 0)
          throw new Refusal(
            `Port ${port}/${protocol} of ${given} is not published.`,
            `List the published ports with: berth server ports ${given}`,
            exitCodes.notFound,
          )
        for (const { port_id } of published) await berth.ports.unpublish(server_id, port_id)
        const left = await allOf(berth.ports.listAll(server_id))
        const isClosing = left.some((one) => one.port === port && one.protocol === protocol)
        note(
          isClosing
            ? `Port ${port}/${protocol} of ${given} stays open until its next start: its ports cannot change while it runs. To close it: berth server stop ${given} --wait && berth server start ${given}`
            : `Port ${port}/${protocol} of ${given} is no longer published.`,
        )
      }),
    )
}

export type Port = Pick<PublishedPort, 'port' | 'protocol'>

/** @throws InvalidArgumentError */
export function portOf(text: string): Port {
  const [, digits, protocol = 'tcp'] = /^(\d{1,5})(?:\/(tcp|udp))?$/.exec(text) ?? []
  const port = Number(digits)
  if (!(port >= 1 && port <= 65_535) || (protocol !== 'tcp' && protocol !== 'udp'))
    throw new InvalidArgumentError('It must be a port such as 80, or 53/udp.')
  return { port, protocol }
}

const WEB = new Map([
  [80, 'http'],
  [443, 'https'],
])

/** Returns the address to connect to; for web servers, a URL to click. */
export function addressOf({ host, host_port, port, protocol }: PublishedPort): string {
  const address = `${host.includes(':') ? `[${host}]` : host}:${host_port}`
  const scheme = protocol === 'tcp' ? WEB.get(port) : undefined
  return scheme ? `${scheme}://${address}` : address
}
