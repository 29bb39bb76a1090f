import { smtpRights } from '../accounts/accounts.ts'
import type { AccountTable } from '../accounts/tables.ts'
import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { firewallsOfAccounts } from '../firewalls/protection.ts'
import { leadingPorts } from '../ports/ports.ts'
import type { PortTable } from '../ports/tables.ts'
import { runningServers } from './queries.ts'
import type { Walk } from './store.ts'
import type { ServerTable } from './tables.ts'

/** The columns that decide a server's connectivity, the rights of its account, and its published ports. */
export type Connected = Pick<
  ServerTable,
  | 'server_id'
  | 'account_id'
  | 'zone_slug'
  | 'pool'
  | 'number'
  | 'networks'
  | 'status'
  | 'labels'
  | 'ipv4'
  | 'ipv6'
  | 'bandwidth_mbit'
> &
  Pick<AccountTable, 'is_smtp_open' | 'frozen_at'> & {
    ports: Pick<PortTable, 'protocol' | 'host_port' | 'port'>[]
    /** False if the account has no firewalls, which saves the search for the server's. */
    mayHaveFirewalls: boolean
  }

/** Returns the given servers without the deleted ones. */
export async function listConnected(db: Queries, ids: readonly string[]): Promise<Connected[]> {
  const [serverId] = ids
  if (serverId === undefined) return []
  if (ids.length === 1) return withPorts(await oneConnected.all(db, { serverId }))
  return withPorts(await connected(db).where('servers.server_id', 'in', ids).execute())
}

const oneConnected = prepared((db, { serverId }: { serverId: string }) =>
  connected(db).where('servers.server_id', '=', serverId),
)

/** Reads the connectivity of the next running servers of a pool, in a walk through all of them. */
export async function listRunningConnected(db: Queries, pool: string, { after, limit }: Walk) {
  const next = runningServers(db, pool).where('server_id', '>', after).orderBy('server_id').limit(limit)
  return withPorts(await connected(db).where('servers.server_id', 'in', next).execute())
}

/** One statement reads everything; it returns a row for each port of a server. */
function connected(db: Queries) {
  return db
    .selectFrom('servers')
    .where('deleted_at', 'is', null)
    .innerJoin(smtpRights(db).as('rights'), 'rights.account_id', 'servers.account_id')
    .leftJoin(leadingPorts(db).as('ports'), 'ports.server_id', 'servers.server_id')
    .select([
      'servers.server_id',
      'servers.account_id',
      'zone_slug',
      'pool',
      'number',
      'networks',
      'status',
      'labels',
      'ipv4',
      'ipv6',
      'bandwidth_mbit',
      'is_smtp_open',
      'frozen_at',
      'ports.protocol',
      'ports.host_port',
      'ports.port',
    ])
    .select((eb) =>
      firewallsOfAccounts(db)
        .whereRef('firewalls.account_id', '=', eb.ref('servers.account_id'))
        .limit(1)
        .as('firewalled'),
    )
    .orderBy('servers.server_id')
    .orderBy('ports.port_id')
}

type ConnectedRow = Awaited<ReturnType<ReturnType<typeof connected>['execute']>>[number]

function withPorts(rows: readonly ConnectedRow[]): Connected[] {
  const servers = new Map<string, Connected>()
  for (const { protocol, host_port, port, firewalled, ...row } of rows) {
    const server = servers.get(row.server_id) ?? { ...row, ports: [], mayHaveFirewalls: firewalled !== null }
    servers.set(row.server_id, server)
    // A server without ports has one row, whose port columns are null.
    if (protocol !== null && host_port !== null && port !== null)
      server.ports.push({ protocol, host_port, port })
  }
  return [...servers.values()]
}
