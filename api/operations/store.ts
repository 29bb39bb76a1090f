import { type QueryCreator, sql } from 'kysely'
import { type Database, type Queries, taking } from '../database/database.ts'
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
 * Takes due operations, the accounts in turn, so that no account waits for all operations of another: the first of each
 * account, then the second of each. Those that the owner holds count as taken. It skips operations that another process
 * is just taking.
 */
export function claimDue(db: Database, by: Claim): Promise<OperationTable[]> {
  const { owner, leaseMs, limit, share = limit, now, steps } = by
  const claim = claims.get(steps) ?? claimOf(steps)
  claims.set(steps, claim)
  return taking(db, (tx) => claim.all(tx, { owner, until: now + leaseMs, limit, share, now }))
}

/** The statement for each list of steps: a process has one. */
const claims = new WeakMap<readonly string[], ReturnType<typeof claimOf>>()

interface ClaimValues extends Record<string, string | number> {
  owner: string
  until: number
  limit: number
  share: number
  now: number
}

function claimOf(steps: readonly string[]) {
  return prepared((db, { owner, until, limit, share, now }: ClaimValues) =>
    db
      .with('held', (eb) =>
        eb
          .selectFrom('operations')
          .select(({ fn }) => ['account_id', fn.countAll<number>().as('total')])
          .where(isLeased())
          .where('lease_owner', '=', owner)
          .groupBy('account_id'),
      )
      .with('waiting', (eb) =>
        dueAt(eb, { now, steps })
          .leftJoin(eb.selectFrom('held').selectAll().as('held'), 'held.account_id', 'due.account_id')
          .select(['due.operation_id', 'due.next_run_at', turn.as('turn')]),
      )
      .with('picked', (eb) =>
        eb
          .selectFrom('waiting')
          .select('operation_id')
          .where('turn', '<=', share)
          .orderBy('turn')
          .orderBy('next_run_at')
          .limit(limit),
      )
      // It looks again at each row that it locks: another process may have taken it meanwhile.
      .with('due', (eb) =>
        dueAt(eb, { now, steps })
          .select('due.operation_id')
          .where('due.operation_id', 'in', eb.selectFrom('picked').select('operation_id'))
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
      .where('operation_id', 'in', (eb) => eb.selectFrom('due').select('due.operation_id'))
      .returningAll(),
  )
}

const turn = sql<number>`row_number() OVER (PARTITION BY due.account_id ORDER BY due.next_run_at)
  + coalesce(held.total, 0)`

/** Due operations. One waits while a canceled one of its subject still has a step running. */
function dueAt(select: Pick<QueryCreator<Schema>, 'selectFrom'>, { now, steps }: Look) {
  return select
    .selectFrom('operations as due')
    .where(isActive('due.status'))
    .where('due.next_run_at', '<=', now)
    .where('due.lease_until', '<=', now)
    .where(isFeasible('due', { now, steps }))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('operations as other')
            .select('other.operation_id')
            .whereRef('other.subject_type', '=', 'due.subject_type')
            .whereRef('other.subject_id', '=', 'due.subject_id')
            .whereRef('other.operation_id', '<>', 'due.operation_id')
            .where(isLeased('other.lease_until'))
            .where('other.lease_until', '>', now),
        ),
      ),
    )
}

/** An operation that only another version's process knows is left to it. After its deadline any process ends it. */
function isFeasible(table: 'due' | 'operations', { now, steps }: Look) {
  const column = (name: 'subject_type' | 'type' | 'step' | 'deadline_at') => sql.ref(`${table}.${name}`)
  const step = sql`${column('subject_type')} || '.' || ${column('type')} || '.' || ${column('step')}`
  return sql<boolean>`(${step} IN (${sql.join(steps)}) OR ${column('deadline_at')} <= ${now})`
}

export function readOperation(db: Queries, operationId: string): Promise<OperationTable | undefined> {
  return byId.first(db, { operationId })
}

const byId = prepared((db, { operationId }: { operationId: string }) =>
  db.selectFrom('operations').selectAll().where('operation_id', '=', operationId),
)

export async function nextDueAt(db: Queries, look: Look): Promise<number | null> {
  const next = await db
    .selectFrom('operations')
    .select('next_run_at')
    .where(isActive())
    .where('lease_until', '=', 0)
    .where(isFeasible('operations', look))
    .orderBy('next_run_at')
    .limit(1)
    .executeTakeFirst()
  return next?.next_run_at ?? null
}

/** Its status is a literal for the same reason as in isActive. */
const isLeased = (column: 'lease_until' | 'other.lease_until' = 'lease_until') =>
  sql<boolean>`${sql.ref(column)} > 0`

/** The process that held these leases is known to be dead. */
export async function takeOverLeases(db: Database): Promise<void> {
  await db.updateTable('operations').set({ lease_owner: null, lease_until: 0 }).where(isLeased()).execute()
}

/** Releases the operations of a dead process, so that others can continue them. */
export async function releaseLeasesOf(tx: Queries, owner: string): Promise<void> {
  const free = { lease_owner: null, lease_until: 0 }
  await tx.updateTable('operations').set(free).where('lease_owner', '=', owner).where(isLeased()).execute()
}

/**
 * @param ids the operations in progress: a claim whose reply was lost is not renewed
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
