import type { Network } from '@berth/sdk'
import { Command } from 'commander'
import { deleteCommand } from './delete.ts'
import { find, idOf, kind } from './find.ts'
import { type Labels, labelText, withLabelFilter, withLabels } from './labels.ts'
import type { Columns } from './output.ts'
import { placeOf } from './place.ts'
import { serverKind } from './server/kind.ts'
import { follow } from './server/power.ts'
import { action, listCommand, type Session } from './session.ts'
import { updateCommand } from './update.ts'
import { addWaitOptions, type WaitOptions, wantsWait } from './wait.ts'

export const networkKind = kind({
  noun: 'network',
  all: (berth) => berth.networks.listAll(),
  id: ({ network_id }) => network_id,
  name: ({ name }) => name,
})

const columns: Columns<Network> = {
  id: ({ network_id }) => network_id,
  name: ({ name }) => name,
  zone: ({ zone_slug }) => zone_slug,
  range: ({ ip_range }) => ip_range,
  servers: ({ servers }) => servers.length,
  labels: labelText,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
}

export function networkCommand(): Command {
  return new Command('network')
    .description('manage private networks, in which servers reach each other')
    .addCommand(
      withLabelFilter(
        listCommand({
          description: 'list private networks, newest first',
          columns,
          shown: ['id', 'name', 'zone', 'range', 'servers'],
          items: async ({ berth }, { server, label }: { server?: string; label?: string }) =>
            berth.networks.listAll({
              label,
              ...(server && { server_id: await idOf(berth, serverKind, server) }),
            }),
        }).option('--server <server>', 'only the ones of this server'),
        'private networks',
      ),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(
      updateCommand(
        networkKind,
        'change the name and labels of a private network',
        (berth, id, change) => berth.networks.update(id, change),
        showNetwork,
      ),
    )
    .addCommand(
      deleteCommand(networkKind, 'delete a private network without servers', (berth, id) =>
        berth.networks.delete(id),
      ),
    )
    .addCommand(attachCommand())
    .addCommand(detachCommand())
}

function showNetwork({ show }: Session, network: Network): Promise<void> {
  const servers = network.servers.map(({ server_id, ipv4 }) => [ipv4, () => server_id] as const)
  return show(network, {
    ID: ({ network_id }) => network_id,
    Name: ({ name }) => name,
    Zone: ({ zone_slug }) => zone_slug,
    Range: ({ ip_range }) => ip_range,
    Labels: labelText,
    ...Object.fromEntries(servers),
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show a private network and its servers, sorted by address')
    .argument('<network>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showNetwork(session, await berth.networks.get(await idOf(berth, networkKind, given)))
      }),
    )
}

function createCommand(): Command {
  type Wanted = { range: string; zone?: string; label?: Labels }
  return withLabels(
    new Command('create')
      .description('create a private network')
      .argument('<name>', 'up to 100 characters')
      .requiredOption('--range <cidr>', 'private range, /16 to /29, such as 10.1.0.0/24')
      .option('--zone <zone>', 'zone (default: the first one)'),
  ).action(
    action(async (session, name: string, { range: ip_range, zone, label: labels }: Wanted) => {
      const { berth } = session
      const { zone_slug } = await placeOf(berth, { zone })
      await showNetwork(session, await berth.networks.create({ name, zone_slug, ip_range, labels }))
    }),
  )
}

function attachCommand(): Command {
  return addWaitOptions(
    new Command('attach')
      .description('attach a server to a private network, also while it runs')
      .argument('<network>', 'name or id')
      .argument('<server>', 'name or id')
      .option('--ipv4 <address>', 'address in the network (default: the first free one)'),
  ).action(
    action(async (session, given: string, server: string, options: { ipv4?: string } & WaitOptions) => {
      const { berth } = session
      const network_id = await idOf(berth, networkKind, given)
      const { server_id, name } = await find(berth, serverKind, server)
      const ordered = await berth.networks.attach(network_id, { server_id, ipv4: options.ipv4 })
      await follow(session, name, ordered, options)
      if (session.format === 'table' && wantsWait(session, options))
        await explain(session, network_id, server_id)
    }),
  )
}

function detachCommand(): Command {
  return addWaitOptions(
    new Command('detach')
      .description('detach a server from a private network, also while it runs')
      .argument('<network>', 'name or id')
      .argument('<server>', 'name or id'),
  ).action(
    action(async (session, given: string, server: string, options: WaitOptions) => {
      const { berth } = session
      const network_id = await idOf(berth, networkKind, given)
      const { server_id, name } = await find(berth, serverKind, server)
      await follow(session, name, await berth.networks.detach(network_id, server_id), options)
    }),
  )
}

/** Prints the server's address in the network, and the command that its guest may need until the next boot. */
async function explain({ berth, note }: Session, network_id: string, server_id: string): Promise<void> {
  const { status, network } = await berth.servers.details(server_id)
  const card = network.private.find((one) => one.network_id === network_id)
  if (!card) return
  note(`Its address is ${card.ipv4}.`)
  if (status !== 'running') return
  note(
    'If the server has no qemu-guest-agent, it takes the address when it boots. To set it now, run on the server:',
  )
  note(card.command)
}
