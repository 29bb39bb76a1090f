import type { Address } from '@berth/sdk'
import { Command, Option } from 'commander'
import { deleted } from './delete.ts'
import { exitCodes, nothingToChange, Refusal } from './errors.ts'
import { find, idOf, kind } from './find.ts'
import {
  type LabelChanges,
  type Labels,
  labelsAfter,
  labelText,
  withLabelChanges,
  withLabelFilter,
  withLabels,
} from './labels.ts'
import type { Columns } from './output.ts'
import { serverKind } from './server/kind.ts'
import { action, listCommand, type Session } from './session.ts'

export const addressKind = kind({
  noun: 'address',
  all: (berth) => berth.addresses.listAll(),
  id: ({ address_id }) => address_id,
  name: ({ address }) => address,
})

const columns = {
  id: ({ address_id }) => address_id,
  address: ({ address }) => address,
  family: ({ family }) => family,
  zone: ({ zone_slug }) => zone_slug,
  server: ({ server_id }) => server_id,
  reverse_dns: ({ reverse_dns }) => reverse_dns,
  price_month: ({ price_month_rub }) => price_month_rub,
  labels: labelText,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
} satisfies Columns<Address>

const GIVEN = 'address or id'

export function addressCommand(): Command {
  return new Command('address')
    .description('manage public addresses')
    .addCommand(
      withLabelFilter(
        listCommand({
          description: 'list public addresses, newest first',
          columns,
          shown: ['id', 'address', 'zone', 'server', 'price_month'],
          items: async ({ berth }, { server, label }: { server?: string; label?: string }) =>
            berth.addresses.listAll({
              label,
              ...(server && { server_id: await idOf(berth, serverKind, server) }),
            }),
        }).option('--server <server>', 'only addresses of this server, by name or id'),
        'addresses',
      ),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(assignCommand())
    .addCommand(unassignCommand())
    .addCommand(updateCommand())
    .addCommand(deleteCommand())
}

function showAddress({ show }: Session, address: Address): Promise<void> {
  return show(address, {
    ID: columns.id,
    Address: columns.address,
    Zone: columns.zone,
    Server: columns.server,
    'Reverse DNS': columns.reverse_dns,
    'Price per month': columns.price_month,
    Labels: labelText,
    Created: columns.created,
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show a public address')
    .argument('<address>', GIVEN)
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showAddress(session, await berth.addresses.get(await idOf(berth, addressKind, given)))
      }),
    )
}

function createCommand(): Command {
  const command = new Command('create')
    .description('reserve a public address')
    .option('--zone <zone>', 'zone (default: the first one that has addresses)')
    .addOption(new Option('--family <family>', 'kind of address').choices(['ipv4', 'ipv6']).default('ipv4'))
    .option('--server <server>', 'server to assign it to, by name or id')
  return withLabels(command).action(
    action(async (session, { zone, family, server, label: labels }: Wanted) => {
      const { berth } = session
      const body = {
        zone_slug: zone ?? (await zoneWith(session, family)),
        family,
        server_id: server === undefined ? undefined : await idOf(berth, serverKind, server),
        labels,
      }
      await showAddress(session, await berth.addresses.create(body))
    }),
  )
}

interface Wanted {
  zone?: string
  family: Address['family']
  server?: string
  label?: Labels
}

/** Returns the first zone with addresses of this family. @throws Refusal if there is none */
async function zoneWith({ berth }: Session, family: Address['family']): Promise<string> {
  const zones = await berth.zones.list()
  const zone = zones.find(({ features }) => features.includes(`public_${family}`))
  if (zone) return zone.zone_slug
  throw new Refusal(
    `No zone has public ${family === 'ipv4' ? 'IPv4' : 'IPv6'} addresses.`,
    'Publish ports instead: berth server publish <server> <port>',
    exitCodes.conflict,
  )
}

function assignCommand(): Command {
  return new Command('assign')
    .description('assign a public address to a server, even if another server has it')
    .argument('<address>', GIVEN)
    .argument('<server>', 'name or id')
    .action(
      action(async (session, given: string, server: string) => {
        const { berth } = session
        const id = await idOf(berth, addressKind, given)
        const server_id = await idOf(berth, serverKind, server)
        await showAddress(session, await berth.addresses.update(id, { server_id }))
      }),
    )
}

function unassignCommand(): Command {
  return new Command('unassign')
    .description('unassign a public address from its server; it stays reserved')
    .argument('<address>', GIVEN)
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        const id = await idOf(berth, addressKind, given)
        await showAddress(session, await berth.addresses.update(id, { server_id: null }))
      }),
    )
}

function updateCommand(): Command {
  const command = new Command('update')
    .description('change the reverse DNS name and the labels of a public address')
    .argument('<address>', GIVEN)
    .option('--reverse-dns <name>', 'host name that the address resolves to')
    .option('--no-reverse-dns', 'remove the reverse DNS name')
  type Changes = { reverseDns?: string | false } & LabelChanges
  return withLabelChanges(command).action(
    action(async (session, given: string, options: Changes) => {
      const { berth } = session
      if (Object.keys(options).length === 0) throw nothingToChange('address')
      const before = await find(berth, addressKind, given)
      const { reverseDns } = options
      const name = reverseDns === undefined ? {} : { reverse_dns: reverseDns || null }
      const change = { ...name, ...labelsAfter(before, options) }
      await showAddress(session, await berth.addresses.update(before.address_id, change))
    }),
  )
}

function deleteCommand(): Command {
  return new Command('delete')
    .description('release a public address, which may then go to another customer')
    .argument('<address>', GIVEN)
    .option('--force', 'release it even if it is assigned to a server')
    .action(
      action(async ({ berth, note }, given: string, { force }: { force?: boolean }) => {
        const { address_id, address } = await find(berth, addressKind, given)
        await berth.addresses.delete(address_id, { force })
        note(deleted(addressKind, address))
      }),
    )
}
