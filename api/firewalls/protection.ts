import type { Capacity } from '../catalog/capacity.ts'
import type { Queries } from '../database/database.ts'
import { isSelected } from '../database/labels.ts'
import type { FirewallRule } from '../drivers/driver.ts'
import { ApiError } from '../http/contract/problem.ts'
import { portRange } from './rules.ts'
import { firewallProblems, MOST_FIREWALLS } from './schema.ts'
import type { FirewallTable } from './tables.ts'
import { rulesOf } from './view.ts'

/** The fields of a server that decide which firewalls it has. */
export interface Protected {
  server_id: string
  account_id: string
  zone_slug: string
  pool: string
  /** JSON: {name: value}. */
  labels: string
}

const FEW = 1_000

/** The firewalls that servers have, by their ids and by their labels. */
export async function firewallsOf(
  db: Queries,
  servers: readonly Protected[],
): Promise<Map<string, FirewallTable[]>> {
  const accounts = [...new Set(servers.map(({ account_id }) => account_id))]
  if (accounts.length === 0) return new Map()
  // A statement should not list too many accounts, so beyond a limit the firewalls of all are read.
  const isFew = accounts.length <= FEW
  let all = db.selectFrom('firewalls').selectAll().orderBy('firewall_id')
  if (isFew) all = all.where('account_id', 'in', accounts)
  const firewalls = await all.execute()
  if (firewalls.length === 0) return new Map()
  let pairsOf = db
    .selectFrom('firewall_servers')
    .innerJoin('firewalls', 'firewalls.firewall_id', 'firewall_servers.firewall_id')
    .select(['firewall_servers.firewall_id', 'server_id'])
  if (isFew) pairsOf = pairsOf.where('account_id', 'in', accounts)
  const attached = await pairsOf.execute()
  const pairs = new Set(attached.map(({ firewall_id, server_id }) => `${firewall_id} ${server_id}`))
  const ofAccount = Map.groupBy(firewalls, ({ account_id }) => account_id)
  const found = servers.map((server) => {
    const own = (ofAccount.get(server.account_id) ?? []).filter(
      ({ firewall_id, label_selector }) =>
        pairs.has(`${firewall_id} ${server.server_id}`) ||
        (label_selector !== null && isSelected(server.labels, label_selector)),
    )
    return [server.server_id, own] as const
  })
  return new Map(found.filter(([, own]) => own.length > 0))
}

/** A query of the accounts with firewalls, so that reads can skip all others. */
export function firewallsOfAccounts(db: Queries) {
  return db.selectFrom('firewalls').select('account_id')
}

/** Returns the rules of servers' firewalls together; servers without a firewall are absent. */
export async function rulesOfServers(
  db: Queries,
  servers: readonly Protected[],
): Promise<Map<string, readonly FirewallRule[]>> {
  const read = new Map<FirewallTable, FirewallRule[]>()
  const rules = (firewall: FirewallTable) => {
    const known = read.get(firewall)
    const own =
      known ??
      rulesOf(firewall).map(({ direction, protocol, ports, cidrs }) => ({
        direction,
        protocol,
        ports: ports === null ? null : portRange(ports),
        cidrs,
      }))
    read.set(firewall, own)
    return own
  }
  return new Map([...(await firewallsOf(db, servers))].map(([id, own]) => [id, own.flatMap(rules)]))
}

/**
 * Checks that these servers may have the firewalls that they have. The account is locked.
 * @throws ApiError firewall_limit_reached, not_supported
 */
export async function requireProtectable(
  tx: Queries,
  capacity: Capacity,
  servers: readonly Protected[],
): Promise<void> {
  const found = await firewallsOf(tx, servers)
  for (const own of found.values())
    if (own.length > MOST_FIREWALLS)
      throw new ApiError(
        firewallProblems.firewall_limit_reached,
        `A server would have ${own.length} firewalls, by its id and its labels; it can have ${MOST_FIREWALLS}. Combine the rules in fewer firewalls.`,
      )
  const zones = new Map(
    servers.filter(({ server_id }) => found.has(server_id)).map((server) => [server.zone_slug, server]),
  )
  for (const server of zones.values()) await capacity.require(server, 'firewalls')
}

/** Returns the given ids that name no firewall of the account. */
export async function unknownFirewalls(
  db: Queries,
  accountId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('firewalls')
    .select('firewall_id')
    .where('account_id', '=', accountId)
    .where('firewall_id', 'in', ids)
    .execute()
  const known = new Set(rows.map(({ firewall_id }) => firewall_id))
  return new Set(ids.filter((id) => !known.has(id)))
}

/**
 * Gives a new server its firewalls. The account is locked.
 * @throws ApiError firewall_limit_reached, not_supported
 */
export async function addFirewalls(
  tx: Queries,
  capacity: Capacity,
  server: Protected,
  firewallIds: readonly string[],
): Promise<void> {
  const rows = firewallIds.map((firewall_id) => ({ firewall_id, server_id: server.server_id }))
  if (rows.length > 0) await tx.insertInto('firewall_servers').values(rows).execute()
  await requireProtectable(tx, capacity, [server])
}

/** Detaches all firewalls from a server that is gone. */
export async function removeFirewalls(tx: Queries, serverId: string): Promise<void> {
  await tx.deleteFrom('firewall_servers').where('server_id', '=', serverId).execute()
}
