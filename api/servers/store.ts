import { sql } from 'kysely'
import { findAccount } from '../accounts/accounts.ts'
import { findProject } from '../accounts/projects.ts'
import { type Queries, send, Taken } from '../database/database.ts'
import { inParts } from '../database/in-parts.ts'
import { selecting } from '../database/labels.ts'
import { type Page, pageOf, preparedPage } from '../database/page.ts'
import { prepared, type RowOf } from '../database/prepared.ts'
import type { CpuType } from '../drivers/driver.ts'
import { isForeign } from '../http/limits/origin.ts'
import type { OperationTable } from '../operations/tables.ts'
import { recordChange, recordCreated } from './events.ts'
import { runningServers } from './queries.ts'
import type { ServerQuery } from './schema.ts'
import { becomingBilledIn, offIn, statusDuring, watchedIn } from './states.ts'
import type { ServerTable } from './tables.ts'
import { LISTED, type ListedServer } from './view.ts'

/**
 * Writes a new server, and records the event.
 * @param begin writes its first operation, which is in the event
 * @returns that operation
 * @throws Taken if another server has its number, at the latest with the commit
 */
export async function insertServer(
  tx: Queries,
  row: ServerTable,
  begin: () => Promise<OperationTable>,
): Promise<OperationTable> {
  await send(tx, insert.with(tx, { ...row }), () => new Taken())
  const operation = await begin()
  await recordCreated(tx, row, operation)
  return operation
}

const insert = prepared((db, row: RowOf<ServerTable>) =>
  db
    .insertInto('servers')
    .values(row)
    .onConflict((conflict) => conflict.doNothing()),
)

/** A server of the account, unless it is deleted. */
export function findServer(
  db: Queries,
  accountId: string,
  serverId: string,
): Promise<ServerTable | undefined> {
  return ofAccount.first(db, { accountId, serverId })
}

const ofAccount = prepared((db, { accountId, serverId }: { accountId: string; serverId: string }) =>
  alive(db).selectAll().where('server_id', '=', serverId).where('account_id', '=', accountId),
)

/** Any server, including a deleted one: for operations, which know no account. */
export async function getServer(db: Queries, serverId: string): Promise<ServerTable> {
  const server = await byId.first(db, { serverId })
  if (!server) throw new Error(`no such server: ${serverId}`)
  return server
}

const byId = prepared((db, { serverId }: { serverId: string }) =>
  db.selectFrom('servers').selectAll().where('server_id', '=', serverId),
)

/**
 * Locks a server's row until the transaction ends.
 * @returns undefined if it is deleted, or another account has it by now
 */
export async function lockServer(tx: Queries, serverId: string): Promise<ServerTable | undefined> {
  const server = await locked.first(tx, { serverId })
  return server && !isForeign(server.account_id) ? server : undefined
}

const locked = prepared((db, { serverId }: { serverId: string }) =>
  alive(db).selectAll().where('server_id', '=', serverId).forNoKeyUpdate(),
)

/**
 * Changes a server, whose row is locked, and records the event: the only way to do so, so that none is missed.
 * @param active the operation that the change begins, if it begins one
 */
export async function updateServer(
  tx: Queries,
  before: ServerTable,
  change: Partial<ServerTable>,
  active?: OperationTable,
): Promise<void> {
  await write(tx, before.server_id, change)
  await recordChange(tx, before, { ...before, ...change }, active)
}

/** Changes columns that only steps use, without an event. */
export async function updateMachine(
  db: Queries,
  serverId: string,
  change: Partial<Pick<ServerTable, 'has_disk' | 'ssh_port'>>,
): Promise<void> {
  await write(db, serverId, change)
}

/** Moves all servers of a pool to another pool, without events: customers see no pools. */
export async function moveServers(db: Queries, from: string, to: string): Promise<void> {
  await db.updateTable('servers').set({ pool: to }).where('pool', '=', from).execute()
}

/**
 * Clears a column of an account's servers whose change is about to be mailed. It writes no event, as customers do
 * not see these columns.
 * @returns the servers
 */
export function forget(tx: Queries, news: 'down_at' | 'hold_changed_at', accountId: string) {
  const noted = tx.updateTable('servers').where(news, 'is not', null).where('account_id', '=', accountId)
  return noted.set(news, null).returningAll().execute()
}

async function write(db: Queries, serverId: string, change: Partial<ServerTable>): Promise<void> {
  await send(db, db.updateTable('servers').set(change).where('server_id', '=', serverId))
}

/** Like findServer, with the columns of lists only: reading a column costs more than finding its row. */
export function findListed(
  db: Queries,
  accountId: string,
  serverId: string,
): Promise<ListedServer | undefined> {
  return listedOfAccount.first(db, { accountId, serverId })
}

const listedOfAccount = prepared((db, { accountId, serverId }: { accountId: string; serverId: string }) =>
  alive(db).select(LISTED).where('server_id', '=', serverId).where('account_id', '=', accountId),
)

const FILTERS = ['project_id', 'zone_slug', 'status', 'plan_type', 'cpu_type', 'template_id', 'name'] as const
type Filter = Omit<ServerQuery, keyof Page | 'sort'>
type Sort = NonNullable<ServerQuery['sort']>

export function listServers(db: Queries, accountId: string, filter: ServerQuery, page: Page) {
  const sort = filter.sort ?? '-created_at'
  const { project_id: projectId, label } = filter
  const others = FILTERS.filter((field) => field !== 'project_id' && filter[field] !== undefined)
  if (others.length > 0 || label !== undefined)
    return pageOf(sorted(matching(db, accountId, filter), sort), page)
  if (projectId === undefined) return ofAccounts[sort](db, { accountId }, page)
  return ofProjects[sort](db, { accountId, projectId }, page)
}

function matching(db: Queries, accountId: string, filter: Filter) {
  const equal = FILTERS.filter((field) => filter[field] !== undefined)
  const terms = filter.label === undefined ? [] : selecting(filter.label)
  const own = alive(db).where('account_id', '=', accountId)
  const chosen = equal.reduce((all, field) => all.where(field, '=', filter[field] ?? null), own)
  return terms.reduce((all, term) => all.where(term), chosen)
}

function sorted(query: ReturnType<typeof matching>, sort: Sort) {
  const direction = sort.startsWith('-') ? 'desc' : 'asc'
  // Ids are in order of creation, so that "newest first" is an index scan.
  const byName = sort.endsWith('name') ? query.orderBy('name', direction) : query
  return byName.select(LISTED).orderBy('server_id', direction)
}

/** The most requested pages, compiled once for each order. */
const ofAccounts = forEachSort((sort) =>
  preparedPage(
    (db, { accountId }: { accountId: string }) => sorted(matching(db, accountId, {}), sort),
    // The number of an account's servers is kept in its row, because counting rows would cost more with each server.
    async (db, { accountId }) => (await findAccount(db, accountId)).servers_used,
  ),
)
const ofProjects = forEachSort((sort) =>
  preparedPage(
    (db, { accountId, projectId }: { accountId: string; projectId: string }) =>
      sorted(matching(db, accountId, { project_id: projectId }), sort),
    async (db, { accountId, projectId }) => (await findProject(db, accountId, projectId))?.server_count ?? 0,
  ),
)

function forEachSort<Value>(make: (sort: Sort) => Value): Readonly<Record<Sort, Value>> {
  return {
    created_at: make('created_at'),
    '-created_at': make('-created_at'),
    name: make('name'),
    '-name': make('-name'),
  }
}

/** The next servers of a pool whose machines should be on, in a walk through all of them. */
export function listRunning(db: Queries, pool: string, { after, limit }: Walk) {
  return runningServers(db, pool)
    .select('status_reason')
    .where('server_id', '>', after)
    .orderBy('server_id')
    .limit(limit)
    .execute()
}

/** A part of a walk through servers. */
export interface Walk {
  /** The last server of the previous part; empty for the first part. */
  after: string
  limit: number
}

/** The pools with machines that should be on. */
export async function poolsOfRunning(db: Queries): Promise<string[]> {
  const rows = await watchedPools.all(db, {})
  return rows.map(({ pool }) => pool)
}

const watchedPools = prepared((db) => alive(db).select('pool').distinct().where('status', 'in', watchedIn))

/** Postpones the next backup of the servers with these columns, if it is due before a time. */
export async function postponeBackups(
  db: Queries,
  columns: Partial<Pick<ServerTable, 'server_id' | 'account_id' | 'pool'>>,
  until: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const update = db.updateTable('servers').set({ backup_due_at: until })
  await update
    .where((eb) => eb.and(columns))
    .where('backup_due_at', '<', before)
    .execute()
}

/** The next servers of a pool whose machines should be off, in a walk through all of them. */
export function listOff(db: Queries, pool: string, { after, limit }: Walk) {
  return alive(db)
    .select(['server_id', 'updated_at'])
    .where('status', 'in', offIn)
    .where('pool', '=', pool)
    .where('server_id', '>', after)
    .orderBy('server_id')
    .limit(limit)
    .execute()
}

/** Counts servers by status and zone. */
export function countByStatus(db: Queries) {
  return alive(db)
    .select((eb) => ['status', 'zone_slug', eb.fn.countAll<number>().as('total')])
    .groupBy(['status', 'zone_slug'])
    .execute()
}

/**
 * Queries the hourly cost of an account's servers that are about to be billed or are suspended, and the
 * number of servers being resized.
 */
export function orderedSums(db: Queries, accountId: string) {
  return (
    db
      .selectFrom('servers')
      // This repeats the condition of the index `servers_ordered`, which excludes deleted servers as well. A
      // condition on `deleted_at` would fit other indexes, one of which PostgreSQL would read whole while its
      // statistics say that the table is empty.
      .where(sql<boolean>`status NOT IN ('running', 'stopped', 'stopping', 'error', 'deleting')`)
      .where('account_id', '=', accountId)
      .select((eb) => [
        eb.fn
          .sum<string | number | null>(sql<number>`price_hour + backup_price_hour`)
          .filterWhere((unbilled) =>
            unbilled.or([
              unbilled('billed_since', 'is', null).and('status', 'in', becomingBilledIn),
              unbilled('billed_since', 'is not', null)
                .and('status', '=', 'suspended')
                // Servers that the operator keeps suspended are not counted: their owner can't use them.
                .and('suspension_reason', 'is', null),
            ]),
          )
          .as('unbilled'),
        eb.fn.countAll<number>().filterWhere('status', '=', statusDuring.resize).as('resizing'),
      ])
  )
}

/** True if a server of the account is suspended for this reason. */
export async function isSuspended(db: Queries, accountId: string, reason: string): Promise<boolean> {
  const row = await alive(db)
    .select('server_id')
    .where('account_id', '=', accountId)
    .where('status', '=', 'suspended')
    .where('status_reason', '=', reason)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Queries an account's servers that are being resized. */
export function resizingServers(db: Queries, accountId: string) {
  return alive(db).where('account_id', '=', accountId).where('status', '=', statusDuring.resize)
}

const SOME = 200

/** Queries some servers of a zone and CPU type whose prices are older than a time. */
export function pricedBefore(db: Queries, zoneSlug: string, cpuType: CpuType, at: number) {
  return alive(db)
    .select('server_id')
    .where('zone_slug', '=', zoneSlug)
    .where('cpu_type', '=', cpuType)
    .where('priced_at', '<', at)
    .limit(SOME)
}

/** All servers of an account. */
export function serversOf(db: Queries, accountId: string): Promise<ServerTable[]> {
  return alive(db).selectAll().where('account_id', '=', accountId).execute()
}

/** Returns the ids among these that belong to existing servers. */
export async function knownServers(db: Queries, ids: readonly string[]): Promise<Set<string>> {
  const rows = await inParts(ids, (some) =>
    alive(db).select('server_id').where('server_id', 'in', some).execute(),
  )
  return new Set(rows.map(({ server_id }) => server_id))
}

/** Returns the ids among these that belong to deleted servers of a pool. */
export async function deletedServers(db: Queries, pool: string, ids: readonly string[]): Promise<string[]> {
  const rows = await inParts(ids, (some) =>
    db
      .selectFrom('servers')
      .select('server_id')
      .where('server_id', 'in', some)
      .where('pool', '=', pool)
      .where('deleted_at', 'is not', null)
      .execute(),
  )
  return rows.map(({ server_id }) => server_id)
}

/** Deletes the rows of servers that are gone; their events were recorded before. */
export async function deleteRows(tx: Queries, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('servers').where('server_id', 'in', ids).where('deleted_at', 'is not', null).execute()
}

/** The servers that are not deleted. */
export function alive(db: Queries) {
  return db.selectFrom('servers').where('deleted_at', 'is', null)
}
