import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { OperationTable } from '../database/schema.ts'
import type { Page } from '../http/paging.ts'

export type OperationType = OperationTable['type']
/** What the request asked for, and what steps tell later ones. */
export type Data = Record<string, unknown>
/** An operation in the hands of the engine. */
export type Operation = Omit<OperationTable, 'data'> & { data: Data }
export type Outcome = { status: 'succeeded' } | { status: 'failed'; code: string; message: string }

/**
 * Whether an operation is not over. In words, not in parameters: only so do the databases see that their partial
 * indexes hold the answer.
 */
export const isActive = (column: 'status' | 'due.status' = 'status') =>
  sql<boolean>`${sql.ref(column)} IN ('pending', 'running')`

/** Writes a new operation; the database refuses a second active one of the same server. */
export async function insertOperation(
  tx: Queries,
  operation: {
    accountId: string
    serverId: string
    type: OperationType
    step: string
    data: Record<string, unknown>
    now: number
    runAt?: number
    deadlineAt: number
  },
): Promise<OperationTable> {
  return tx
    .insertInto('operations')
    .values({
      operation_id: uuid(),
      account_id: operation.accountId,
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
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function isStillActive(db: Queries, operationId: string): Promise<boolean> {
  const row = await db
    .selectFrom('operations')
    .select('status')
    .where('operation_id', '=', operationId)
    .executeTakeFirst()
  return row?.status === 'pending' || row?.status === 'running'
}

const activeOf = prepared((db, { serverId }: { serverId: string }) =>
  db.selectFrom('operations').selectAll().where('server_id', '=', serverId).where(isActive()),
)

export function findActive(db: Queries, serverId: string): Promise<OperationTable | undefined> {
  return activeOf.first(db, { serverId })
}

/** The active operations of many servers, by server id. */
export async function findActiveOf(
  db: Queries,
  serverIds: readonly string[],
): Promise<Map<string, OperationTable>> {
  if (serverIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('operations')
    .selectAll()
    .where('server_id', 'in', serverIds)
    .where(isActive())
    .execute()
  return new Map(rows.map((row) => [row.server_id, row]))
}

/** How many operations are due and wait for their turn. */
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

/** Operations stay readable for a week after their server is gone. */
const KEPT_MS = 7 * 24 * 3600_000

function readable(db: Queries, accountId: string, serverId: string, now: number) {
  return db
    .selectFrom('operations')
    .innerJoin('servers', 'servers.server_id', 'operations.server_id')
    .where('operations.account_id', '=', accountId)
    .where('operations.server_id', '=', serverId)
    .where((eb) =>
      eb.or([eb('servers.deleted_at', 'is', null), eb('servers.deleted_at', '>', now - KEPT_MS)]),
    )
}

export function findOperation(
  db: Queries,
  accountId: string,
  serverId: string,
  operationId: string,
  now: number,
) {
  return readable(db, accountId, serverId, now)
    .selectAll('operations')
    .where('operation_id', '=', operationId)
    .executeTakeFirst()
}

/** Newest first. */
export async function listOperations(
  db: Queries,
  accountId: string,
  serverId: string,
  page: Page,
  now: number,
) {
  const matching = readable(db, accountId, serverId, now)
  const [items, { total }] = await Promise.all([
    matching
      .selectAll('operations')
      .orderBy('operation_id', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute(),
    matching.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { items, total }
}

/** Ends the server's active operation, where there is one, as canceled. */
export function cancelActive(tx: Queries, serverId: string, now: number) {
  return tx
    .updateTable('operations')
    .set({ status: 'canceled', finished_at: now })
    .where('server_id', '=', serverId)
    .where(isActive())
    .returning(['operation_id', 'type', 'created_at'])
    .executeTakeFirst()
}

/** Deletes all operations of servers that are to be forgotten. */
export async function forgetOperations(tx: Queries, serverIds: readonly string[]): Promise<void> {
  await tx.deleteFrom('operations').where('server_id', 'in', serverIds).execute()
}

/** Of an account's operations that are over deletes some beyond the newest; @returns how many */
export async function forgetExcessOperations(
  db: Queries,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('operations')
    .where('operation_id', 'in', (eb) =>
      eb
        .selectFrom('operations as old')
        .select('old.operation_id')
        .where('old.account_id', '=', accountId)
        .where('old.finished_at', 'is not', null)
        // A canceled one may have a step that still runs.
        .where('old.lease_until', '=', 0)
        .orderBy('old.operation_id', 'desc')
        .limit(limit)
        .offset(most),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}
