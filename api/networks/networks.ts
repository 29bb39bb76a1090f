import { randomInt } from 'node:crypto'
import type { Static } from 'typebox'
import { v7 as uuid } from 'uuid'
import { takeRoom } from '../accounts/accounts.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { type Catalog, findZone, onSale, unknownZone } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { labelled, labelsColumn } from '../database/labels.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import { MOST_NUMBERS } from '../drivers/addresses.ts'
import { type Event, record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import type { Actor } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { type Subject, subjectIsGone } from '../operations/operations.ts'
import { freeHost, isHost, rangeMistake } from './ranges.ts'
import { type NetworkCreate, type NetworkQuery, type NetworkUpdate, networkProblems } from './schema.ts'
import type { NetworkServerTable, NetworkTable } from './tables.ts'
import { networkView } from './view.ts'

export interface NetworksOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
}

/** The name of networks as subjects of operations. */
export const NETWORK_SUBJECT = 'network'

export function networkSubject(networkId: string): Subject {
  return { subject_type: NETWORK_SUBJECT, subject_id: networkId }
}

/** Selects the networks of a server, and those with labels. */
type Filter = Static<typeof NetworkQuery>

/** Newest first. */
export function listNetworks(db: Queries, accountId: string, filter: Filter, page: Page) {
  const { server_id: serverId, label } = filter
  const all = ofAccount(db, accountId)
  const own =
    serverId === undefined
      ? all
      : all.where(({ exists, selectFrom }) =>
          exists(
            selectFrom('network_servers as member')
              .select('member.server_id')
              .whereRef('member.network_id', '=', 'networks.network_id')
              .where('member.server_id', '=', serverId),
          ),
        )
  return pageOf(labelled(own.selectAll(), label).orderBy('network_id', 'desc'), page)
}

export function findNetwork(db: Queries, accountId: string, networkId: string) {
  return ofAccount(db, accountId).selectAll().where('network_id', '=', networkId).executeTakeFirst()
}

/** Finds the network that a path names. */
export function networkLoader({ db }: Pick<NetworksOptions, 'db'>) {
  return async ({ actor, params }: { actor: Actor; params: { network_id: string } }) =>
    found(await findNetwork(db, actor.accountId, params.network_id), networkProblems.network_not_found)
}

/** Returns the account's networks among these ids. */
export function findNetworks(
  db: Queries,
  accountId: string,
  ids: readonly string[],
): Promise<NetworkTable[]> {
  if (ids.length === 0) return Promise.resolve([])
  return ofAccount(db, accountId).selectAll().where('network_id', 'in', ids).execute()
}

/** The networks that a server is in. */
export function networksOn(db: Queries, serverId: string) {
  return db
    .selectFrom('network_servers')
    .innerJoin('networks', 'networks.network_id', 'network_servers.network_id')
    .select(['networks.network_id as id', 'name'])
    .where('server_id', '=', serverId)
    .orderBy('name')
    .execute()
}

/** The servers in these networks, by network. */
export async function membersOf(
  db: Queries,
  networkIds: readonly string[],
): Promise<Map<string, NetworkServerTable[]>> {
  if (networkIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('network_servers')
    .selectAll()
    .where('network_id', 'in', networkIds)
    .orderBy('server_id')
    .execute()
  return Map.groupBy(rows, (row) => row.network_id)
}

export const networkQuota: Quota = {
  name: 'networks',
  description: 'Private networks',
  limit: 10,
  example: 1,
  count: (db, accountId) => countIn(ofAccount(db, accountId)),
}

/** @throws ApiError validation_failed, not_supported, quota_exceeded */
export async function addNetwork(
  { db, clock, catalog, capacity }: NetworksOptions,
  accountId: string,
  { name, zone_slug, ip_range, labels = {} }: NetworkCreate,
  remember: Remember,
): Promise<NetworkTable> {
  const mistake = rangeMistake(ip_range)
  const issues = [
    ...(findZone(onSale(catalog), zone_slug)
      ? []
      : [bodyIssue('zone_slug', 'not_found', unknownZone(catalog, zone_slug))]),
    ...(mistake === null ? [] : [bodyIssue('ip_range', 'invalid_format', mistake)]),
  ]
  if (issues.length > 0) throw invalid(issues)
  await capacity.require({ pool: capacity.poolOf(zone_slug), zone_slug }, 'private_networks')
  return db.transaction().execute(async (tx) => {
    await takeRoom(tx, accountId, [networkQuota])
    const now = clock.now()
    const row = { network_id: uuid(), account_id: accountId, name, zone_slug, ip_range, number: 0 }
    const network = { ...row, labels: JSON.stringify(labels), created_at: now, updated_at: now }
    do network.number = randomInt(1, MOST_NUMBERS + 1)
    while (!(await insert(tx, network)))
    await tell(tx, 'network.created', network, now)
    await remember(tx, network.network_id)
    return network
  })
}

/** @returns false if it was not written, because another network has its number */
async function insert(tx: Queries, row: NetworkTable): Promise<boolean> {
  const { numInsertedOrUpdatedRows: written } = await tx
    .insertInto('networks')
    .values(row)
    .onConflict((conflict) => conflict.column('number').doNothing())
    .executeTakeFirstOrThrow()
  return written !== 0n
}

/** @throws ApiError network_not_found if it was deleted since */
export function updateNetwork(
  { db, clock }: NetworksOptions,
  { account_id, network_id }: NetworkTable,
  { labels, ...rest }: NetworkUpdate,
): Promise<NetworkTable> {
  return db.transaction().execute(async (tx) => {
    const now = clock.now()
    const row = await write(tx, account_id, network_id, { ...rest, ...labelsColumn(labels), updated_at: now })
    const network = found(row, networkProblems.network_not_found)
    await tell(tx, 'network.updated', network, now)
    return network
  })
}

/** @throws ApiError network_in_use */
export function deleteNetwork(
  { db, clock }: NetworksOptions,
  { account_id, network_id }: NetworkTable,
): Promise<void> {
  return db.transaction().execute(async (tx) => {
    const network = await lockNetwork(tx, account_id, network_id)
    if (!network) return
    const { length } = (await membersOf(tx, [network_id])).get(network_id) ?? []
    if (length > 0)
      throw new ApiError(
        networkProblems.network_in_use,
        `The network has ${length === 1 ? 'a server' : `${length} servers`}. Detach or delete them first.`,
      )
    await tx.deleteFrom('networks').where('network_id', '=', network_id).execute()
    await subjectIsGone(tx, networkSubject(network_id), clock.now())
    await tell(tx, 'network.deleted', network, clock.now())
  })
}

/** Locks a network's row until this transaction ends. */
export function lockNetwork(
  tx: Queries,
  accountId: string,
  networkId: string,
): Promise<NetworkTable | undefined> {
  return write(tx, accountId, networkId, { account_id: accountId })
}

/**
 * Adds a server to a network, whose row is locked.
 * @param wanted an address (default: the first free one)
 * @returns its address
 * @throws ApiError validation_failed, network_attached, network_address_unavailable
 */
export async function joinNetwork(
  tx: Queries,
  network: NetworkTable,
  serverId: string,
  now: number,
  wanted?: string,
): Promise<string> {
  const { network_id, ip_range } = network
  const members = (await membersOf(tx, [network_id])).get(network_id) ?? []
  if (members.some(({ server_id }) => server_id === serverId))
    throw new ApiError(networkProblems.network_attached, 'The server is already in this network.')
  if (wanted !== undefined && !isHost(ip_range, wanted)) {
    const message = `ipv4 must be an address of ${ip_range}, except its first two and its last.`
    throw invalid([bodyIssue('ipv4', 'invalid_format', message)])
  }
  const taken = new Set(members.map(({ ipv4 }) => ipv4))
  const ipv4 = wanted ?? freeHost(ip_range, taken)
  if (ipv4 === null || taken.has(ipv4)) {
    const detail = wanted
      ? `Another server has the address ${wanted}. Choose another one, or leave out ipv4 to get a free one.`
      : 'All addresses of the network are in use. Detach a server, or create a larger network.'
    throw new ApiError(networkProblems.network_address_unavailable, detail)
  }
  await tx.insertInto('network_servers').values({ network_id, server_id: serverId, ipv4 }).execute()
  await changed(tx, network, now)
  return ipv4
}

/** Removes a server from its networks. */
export async function leaveNetworks(
  tx: Queries,
  accountId: string,
  networkIds: readonly string[],
  serverId: string,
  now: number,
): Promise<void> {
  for (const networkId of networkIds.toSorted()) {
    const network = await lockNetwork(tx, accountId, networkId)
    if (!network) continue
    await tx
      .deleteFrom('network_servers')
      .where('network_id', '=', networkId)
      .where('server_id', '=', serverId)
      .execute()
    await changed(tx, network, now)
  }
}

async function changed(tx: Queries, { account_id, network_id }: NetworkTable, now: number): Promise<void> {
  const network = await write(tx, account_id, network_id, { updated_at: now })
  if (network) await tell(tx, 'network.updated', network, now)
}

async function tell(tx: Queries, type: Event['type'], network: NetworkTable, at: number): Promise<void> {
  const members = (await membersOf(tx, [network.network_id])).get(network.network_id) ?? []
  await record(tx, [{ accountId: network.account_id, type, data: networkView(network, members), at }])
}

function write(
  tx: Queries,
  accountId: string,
  networkId: string,
  change: Partial<NetworkTable>,
): Promise<NetworkTable | undefined> {
  return tx
    .updateTable('networks')
    .set(change)
    .where('account_id', '=', accountId)
    .where('network_id', '=', networkId)
    .returningAll()
    .executeTakeFirst()
}

function ofAccount(db: Queries, accountId: string) {
  return db.selectFrom('networks').where('account_id', '=', accountId)
}
