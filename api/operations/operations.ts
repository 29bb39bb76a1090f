import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import { type Lent, type Queries, send } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { type Page, pageOf } from '../database/page.ts'
import { prepared, type RowOf } from '../database/prepared.ts'
import { ApiError } from '../http/contract/problem.ts'
import { operationProblems } from './schema.ts'
import type { OperationTable } from './tables.ts'

/** The object that an operation is carried out on. */
export type Subject = Pick<OperationTable, 'subject_type' | 'subject_id'>

/**
 * True if an operation is unfinished. The values are literals and not parameters, so that the databases can use their
 * partial indexes.
 */
export const isActive = () => sql<boolean>`status IN ('pending', 'running')`

/** Writes a new operation; the database refuses a second active one of the same subject. */
export async function insertOperation<Data extends object>(
  tx: Queries,
  operation: {
    accountId: string
    subject: Subject
    /** The server that the operation concerns; null: none. */
    serverId: string | null
    type: string
    step: string
    data: Data
    now: number
    runAt?: number
    deadlineAt: number
  },
): Promise<OperationTable> {
  const row: OperationTable = {
    operation_id: uuid(),
    account_id: operation.accountId,
    subject_type: operation.subject.subject_type,
    subject_id: operation.subject.subject_id,
    server_id: operation.serverId,
    type: operation.type,
    status: 'pending',
    step: operation.step,
    progress: 0,
    data: JSON.stringify(operation.data),
    error_code: null,
    error_message: null,
    attempt: 0,
    next_run_at: operation.runAt ?? operation.now,
    deadline_at: operation.deadlineAt,
    lease_owner: null,
    lease_until: 0,
    created_at: operation.now,
    started_at: null,
    finished_at: null,
    readable_until: null,
  }
  await send(tx, insert.with(tx, { ...row }))
  return row
}

const insert = prepared((db, row: RowOf<OperationTable>) => db.insertInto('operations').values(row))

const activeOf = prepared((db, { subject_type, subject_id }: Subject) =>
  db
    .selectFrom('operations')
    .selectAll()
    .where('subject_type', '=', subject_type)
    .where('subject_id', '=', subject_id)
    .where(isActive()),
)

export function findActive(db: Queries, subject: Subject): Promise<OperationTable | undefined> {
  const { subject_type, subject_id } = subject
  return activeOf.first(db, { subject_type, subject_id })
}

/** An active operation of any subject that concerns a server. */
export function findActiveWith(db: Queries, serverId: string): Promise<OperationTable | undefined> {
  return db
    .selectFrom('operations')
    .selectAll()
    .where('server_id', '=', serverId)
    .where(isActive())
    .limit(1)
    .executeTakeFirst()
}

/** Seconds after which a client may look again whether another operation has ended. */
const RETRY_AFTER_SECONDS = '2'

/** The error that names the operation to wait for. */
export function inProgress(active: OperationTable | undefined, detail: string): ApiError {
  return new ApiError(
    operationProblems.operation_in_progress,
    detail,
    { operation_id: active?.operation_id ?? null },
    { 'retry-after': RETRY_AFTER_SECONDS },
  )
}

/** The active operations of many subjects of one type, by the id of the subject. */
export async function findActiveOf(
  db: Queries,
  subjectType: string,
  ids: readonly string[],
): Promise<Map<string, OperationTable>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('operations')
    .selectAll()
    .where('subject_type', '=', subjectType)
    .where('subject_id', 'in', ids)
    .where(isActive())
    .execute()
  return new Map(rows.map((row) => [row.subject_id, row]))
}

/** Counts the operations that are due and wait for a slot. */
export async function queueDepth(db: Queries, now: number): Promise<number> {
  const { total } = await db
    .selectFrom('operations')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where(isActive())
    .where('next_run_at', '<=', now)
    .where('lease_until', '<=', now)
    .executeTakeFirstOrThrow()
  return total
}

/** The number of unfinished operations by type and status, with the time at which the oldest was created. */
export function activeOperations(db: Queries) {
  return db
    .selectFrom('operations')
    .select(['type', 'status'])
    .select((eb) => [
      eb.fn.countAll<number>().as('total'),
      eb.fn.min<number>('created_at').as('oldest_created_at'),
    ])
    .where(isActive())
    .groupBy(['type', 'status'])
    .execute()
}

/** Operations stay readable for a week after their subject is gone. */
const KEPT_MS = 7 * 24 * 3600_000

/**
 * Lets customers read the operations of a deleted subject for KEPT_MS. Call it in the transaction that deletes the
 * subject.
 */
export async function subjectIsGone(tx: Queries, subject: Subject, now: number): Promise<void> {
  await tx
    .updateTable('operations')
    .set({ readable_until: now + KEPT_MS })
    .where('subject_type', '=', subject.subject_type)
    .where('subject_id', '=', subject.subject_id)
    .execute()
}

/** Narrows the operations of an account to those of a subject or project (default: all). */
export interface OperationFilter extends Partial<Subject> {
  status?: OperationTable['status']
  type?: string
  /** Leaves out operations on servers of other projects. */
  within?: { project_id: string; servers: ServersWithProjects } | undefined
}
export type ServersWithProjects = Lent<{ server_id: string; project_id: string }>

const FILTERS = ['subject_type', 'subject_id', 'status', 'type'] as const

function readable(db: Queries, accountId: string, filter: OperationFilter, now: number) {
  let matching = db
    .selectFrom('operations')
    .where('account_id', '=', accountId)
    .where((eb) => eb.or([eb('readable_until', 'is', null), eb('readable_until', '>', now)]))
  for (const field of FILTERS) {
    const wanted = filter[field]
    if (wanted !== undefined) matching = matching.where(field, '=', wanted)
  }
  const { within } = filter
  if (!within) return matching
  const elsewhere = db
    .selectFrom(within.servers(db).as('found'))
    .select('found.server_id')
    .where('found.server_id', '=', sql.ref<string>('operations.server_id'))
    .where('found.project_id', '!=', within.project_id)
  return matching.where((eb) => eb.not(eb.exists(elsewhere)))
}

/** An operation of the account that can still be read. @param subject the subject that it must have, if given */
export function findOperation(
  db: Queries,
  accountId: string,
  operationId: string,
  now: number,
  subject: Partial<Subject> = {},
): Promise<OperationTable | undefined> {
  return readable(db, accountId, subject, now)
    .selectAll()
    .where('operation_id', '=', operationId)
    .executeTakeFirst()
}

/** Newest first. */
export function listOperations(
  db: Queries,
  accountId: string,
  filter: OperationFilter,
  page: Page,
  now: number,
) {
  return pageOf(readable(db, accountId, filter, now).selectAll().orderBy('operation_id', 'desc'), page)
}

/** The number of recent operations among which failed ones are counted, which bounds the cost of counting. */
export const FAILED_AMONG = 10_000

/** The unfinished and recently failed operations of all accounts, newest first: for operators. */
export function operationsOfAll(db: Queries, state: 'active' | 'failed', page: Page) {
  const newest = db
    .selectFrom('operations')
    .select('operation_id')
    .orderBy('operation_id', 'desc')
    .limit(FAILED_AMONG)
  const all = db.selectFrom('operations').selectAll()
  const wanted =
    state === 'active'
      ? all.where(isActive())
      : all.where('status', '=', 'failed').where('operation_id', 'in', newest)
  return pageOf(wanted.orderBy('operation_id', 'desc'), page)
}

/** Cancels the subject's active operation, if there is one. */
export function cancelActive(tx: Queries, subject: Subject, now: number) {
  return tx
    .updateTable('operations')
    .set({ status: 'canceled', finished_at: now, data: '{}' })
    .where('subject_type', '=', subject.subject_type)
    .where('subject_id', '=', subject.subject_id)
    .where(isActive())
    .returning(['operation_id', 'type', 'created_at', 'started_at'])
    .executeTakeFirst()
}

/** Deletes all operations of servers whose rows are about to be deleted. */
export async function forgetOperations(tx: Queries, serverIds: readonly string[]): Promise<void> {
  await tx.deleteFrom('operations').where('server_id', 'in', serverIds).execute()
}

/** Deletes some of an account's finished operations beyond the newest. @returns the number deleted */
export async function forgetExcessOperations(
  db: Queries,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const old = db
    .selectFrom('operations')
    .select('operation_id')
    .where('account_id', '=', accountId)
    .where('finished_at', 'is not', null)
    // A canceled operation with a lease may still be running a step.
    .where('lease_until', '=', 0)
    .orderBy('operation_id', 'desc')
    .limit(limit)
    .offset(most)
  return deleteFound(db, 'operations', 'operation_id', old)
}
