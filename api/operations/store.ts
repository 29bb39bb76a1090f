import { type Expression, expressionBuilder, type QueryCreator, type SqlBool, sql } from 'kysely'
import { type Database, isSqlite, type Queries, taking } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { Schema } from '../database/schema.ts'
import { isActive } from './operations.ts'
import type { OperationTable } from './tables.ts'

/** The operations that a process can take. */
interface Look {
  now: number
  /** The names of steps that it can carry out. */
  steps: readonly string[]
}

interface Claim extends Look {
  owner: string
  leaseMs: number
  /** The most operations to take. */
  limit: number
  /** The most operations of an account that the owner may hold. */
  share?: number
}

/**
 * Takes due operations in turns: the first of each account, then the second of each, so that no account waits for a
 * backlog of another. Operations that the owner already holds count as turns. Operations that another process is
 * taking at this moment are skipped.
 */
export function claimDue(db: Database, by: Claim): Promise<OperationTable[]> {
  const { owner, leaseMs, limit, share = limit, now, steps } = by
  const claim = claims.get(steps) ?? claimOf(steps)
  claims.set(steps, claim)
  return taking(db, (tx) => claim.all(tx, { owner, until: now + leaseMs, limit, share, now }))
}

/** The statement for each list of steps: a process has one. */
const claims = new WeakMap<readonly string[], ReturnType<typeof claimOf>>()

function claimOf(steps: readonly string[]) {
  return prepared((db, values: ClaimValues) => claiming(db, values, steps))
}

interface ClaimValues extends Record<string, string | number> {
  owner: string
  until: number
  limit: number
  share: number
  now: number
}

/** The due operations that one claim reads; if there are more, it also reads the oldest OF_EACH of each account. */
const PAGE = 256
const OF_EACH = 8

/**
 * The statement of claimDue. It reads one page of due operations. If the page is full, it adds the oldest few of each
 * account. So a long backlog of one account neither costs more nor hides the others. Its plan must not depend on
 * PostgreSQL's statistics. They often say that nothing is due, and joining a backlog with itself then takes quadratic
 * time. So rows are read once, sorted, and found again by id.
 */
export function claiming(
  db: Queries,
  { owner, until, limit, share, now }: ClaimValues,
  steps: readonly string[],
) {
  return (
    db
      .withRecursive('page', (eb) => oldest(db, eb, { now, steps }, PAGE))
      .withRecursive('active_accounts(account_id)', (eb) =>
        eb
          .selectNoFrom(accountAfter(sql.lit('')).as('account_id'))
          .where(sql<SqlBool>`(SELECT count(*) FROM page) = ${sql.lit(PAGE)}`)
          .unionAll(
            eb
              .selectFrom('active_accounts')
              .select(accountAfter(sql.ref('active_accounts.account_id')).as('account_id'))
              .where('account_id', 'is not', null),
          ),
      )
      .with('few', (eb) => oldestOfEach(db, eb, { now, steps }))
      .with('candidates', (eb) =>
        heldBy(eb, owner).unionAll(eb.selectFrom('page').selectAll()).union(eb.selectFrom('few').selectAll()),
      )
      .with('turns', (eb) =>
        eb.selectFrom('candidates').select(['operation_id', 'next_run_at', 'is_waiting', turn.as('turn')]),
      )
      .with('picked', (eb) =>
        eb
          .selectFrom('turns')
          .select('operation_id')
          .where('is_waiting', '=', 1)
          .where('turn', '<=', share)
          .orderBy('turn')
          .orderBy('next_run_at')
          .limit(limit),
      )
      // This checks each row again under its lock: another process may have taken it meanwhile.
      .with('due', (eb) =>
        eb
          .selectFrom('operations')
          .select('operation_id')
          .where(isAmong(db, eb.selectFrom('picked').select('operation_id')))
          // This means "active" as well, but fits no partial index, which PostgreSQL would read instead of the picked
          // rows.
          .where('finished_at', 'is', null)
          .where(isDue(db, { now, steps }))
          .forUpdate()
          .skipLocked(),
      )
      .updateTable('operations')
      .set((eb) => ({
        status: 'running',
        lease_owner: owner,
        lease_until: until,
        started_at: eb.fn.coalesce('started_at', eb.val(now)),
      }))
      .where((eb) => isAmong(db, eb.selectFrom('due').select('operation_id')))
      .returningAll()
  )
}

/**
 * True for the operations whose ids a query returns. The array makes PostgreSQL run the query first and then find
 * each row by id.
 */
function isAmong(db: Queries, ids: Expression<unknown>) {
  const id = sql.ref('operation_id')
  return isSqlite(db) ? sql<SqlBool>`${id} IN ${ids}` : sql<SqlBool>`${id} = ANY(ARRAY${ids})`
}

type Creator = Pick<QueryCreator<Schema>, 'selectFrom'>

function heldBy(db: Creator, owner: string) {
  return db
    .selectFrom('operations')
    .select(['operation_id', 'account_id', 'next_run_at', sql<number>`0`.as('is_waiting')])
    .where(isLeased())
    .where('lease_owner', '=', owner)
}

/** The due operations that have waited longest. */
function oldest(db: Queries, eb: Creator, look: Look, limit: number) {
  return waiting(db, eb, look).orderBy('next_run_at').limit(sql.lit(limit))
}

/** The oldest few of each account. The databases differ in how they read rows for each row of another table. */
function oldestOfEach(db: Queries, eb: Creator, look: Look) {
  const isOwn = sql<SqlBool>`account_id = ${sql.ref('active_accounts.account_id')}`
  const own = oldest(db, eb, look, OF_EACH).where(isOwn)
  const few = isSqlite(db)
    ? sql`CROSS JOIN operations AS few ON few.operation_id IN (${own.clearSelect().select('operation_id')})`
    : sql`CROSS JOIN LATERAL (${own}) AS few`
  return sql<Pick<OperationTable, 'operation_id' | 'account_id' | 'next_run_at'> & { is_waiting: number }>`
    (SELECT few.operation_id, few.account_id, few.next_run_at, 1 AS is_waiting FROM active_accounts ${few})`
}

/** The next account that has unfinished operations. */
function accountAfter(account: Expression<unknown>) {
  return sql<string | null>`(SELECT account_id FROM operations AS others
    WHERE ${isActive()} AND others.account_id > ${account} ORDER BY others.account_id LIMIT 1)`
}

/** Due operations, except those on a subject whose canceled operation still has a step running. */
function waiting(db: Queries, eb: Creator, look: Look) {
  const busy = eb
    .selectFrom('operations')
    .select('subject_id')
    .where(isLeased())
    .where('lease_until', '>', look.now)
  return eb
    .selectFrom('operations')
    .select(['operation_id', 'account_id', 'next_run_at', sql<number>`1`.as('is_waiting')])
    .where(isActive())
    .where(isDue(db, look))
    .where('subject_id', 'not in', busy)
}

/** The turn of an operation within its account. Operations that the owner holds come first. */
const turn = sql<number>`row_number() OVER (PARTITION BY account_id ORDER BY is_waiting, next_run_at)`

function isDue(db: Queries, look: Look) {
  const eb = expressionBuilder<Schema, 'operations'>()
  return eb.and([eb('next_run_at', '<=', look.now), eb('lease_until', '<=', look.now), isFeasible(db, look)])
}

/**
 * True if this process knows the operation's step; a process of another version may know others. Past its deadline,
 * any process may end the operation.
 */
function isFeasible(db: Queries, { now, steps }: Look) {
  const eb = expressionBuilder<Schema, 'operations'>()
  const step = sql<string>`subject_type || '.' || type || '.' || step`
  // For each run of the statement, SQLite would put all names of a list into a table.
  const isKnown = isSqlite(db)
    ? sql<SqlBool>`instr(${`|${steps.join('|')}|`}, '|' || ${step} || '|') > 0`
    : eb(step, 'in', steps)
  return eb.or([isKnown, eb('deadline_at', '<=', now)])
}

export function readOperation(db: Queries, operationId: string): Promise<OperationTable | undefined> {
  return byId.first(db, { operationId })
}

const byId = prepared((db, { operationId }: { operationId: string }) =>
  db.selectFrom('operations').selectAll().where('operation_id', '=', operationId),
)

export async function nextDueAt(db: Queries, { now, steps }: Look): Promise<number | null> {
  const next = nexts.get(steps) ?? nextOf(steps)
  nexts.set(steps, next)
  return (await next.first(db, { now }))?.next_run_at ?? null
}

/** The query for each list of steps: a process has one. */
const nexts = new WeakMap<readonly string[], ReturnType<typeof nextOf>>()

function nextOf(steps: readonly string[]) {
  return prepared((db, { now }: { now: number }) =>
    db
      .selectFrom('operations')
      .select('next_run_at')
      .where(isActive())
      .where('lease_until', '=', 0)
      .where(isFeasible(db, { now, steps }))
      .orderBy('next_run_at')
      .limit(1),
  )
}

/** The value is a literal for the same reason as in isActive. */
const isLeased = () => sql<boolean>`lease_until > 0`

/** Releases all leases. Call it only if every process that held one is known to be dead. */
export async function takeOverLeases(db: Database): Promise<void> {
  await db.updateTable('operations').set({ lease_owner: null, lease_until: 0 }).where(isLeased()).execute()
}

/** Releases the operations of a dead process, so that others can continue them. */
export async function releaseLeasesOf(tx: Queries, owner: string): Promise<void> {
  const free = { lease_owner: null, lease_until: 0 }
  await tx.updateTable('operations').set(free).where('lease_owner', '=', owner).where(isLeased()).execute()
}

/**
 * @param ids the operations in progress. A claim whose reply was lost is not among them, so its lease runs out
 * @returns the operations of this owner that are still active
 */
export async function renewLeases(
  db: Database,
  { owner, ids, until }: { owner: string; ids: readonly string[]; until: number },
): Promise<Set<string>> {
  const rows = await db
    .updateTable('operations')
    .set({ lease_until: until })
    .where('lease_owner', '=', owner)
    .where('operation_id', 'in', ids)
    .where(isLeased())
    .returning(['operation_id', 'status'])
    .execute()
  return new Set(rows.filter((row) => row.status === 'running').map((row) => row.operation_id))
}

/**
 * Records the progress of an operation.
 * @returns false if it no longer runs for this owner: it was canceled, or taken by another process
 */
export async function saveStep(
  db: Queries,
  operation: OperationTable,
  change: Partial<Pick<OperationTable, 'next_run_at' | 'lease_owner' | 'lease_until'>>,
  by: { owner: string },
): Promise<boolean> {
  const { step, progress, attempt, data } = operation
  const isGivenBack = change.lease_until === 0
  const row = await db
    .updateTable('operations')
    .set((eb) => ({
      ...{ step, progress, attempt },
      // A canceled operation has lost its data for good.
      data: eb.case().when('status', '=', 'running').then(data).else(eb.ref('data')).end(),
      ...change,
    }))
    .where('operation_id', '=', operation.operation_id)
    .where('lease_owner', '=', by.owner)
    .$if(!isGivenBack, (query) => query.where('status', '=', 'running'))
    .returning('status')
    .executeTakeFirst()
  return row?.status === 'running'
}
