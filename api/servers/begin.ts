import type { Queries } from '../database/database.ts'
import { insertOperation } from '../operations/operations.ts'
import type { OperationTable } from '../operations/tables.ts'
import { dropSnapshot } from '../snapshots/snapshots.ts'
import { plans, type ServerOperation, type ServerOperations, serverSubject } from './operations.ts'
import { type StatusOperation, statusDuring } from './states.ts'
import { insertServer, updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'

/** A server whose status belongs to the operation. */
export interface Started {
  server: ServerTable
  operation: OperationTable
}

/**
 * Begins an operation on a server, whose row is locked: writes the operation and the server's new status.
 * @param change further changes of the row
 * @param runAt the earliest time of its first step (default: at once)
 */
export async function begin<Type extends StatusOperation>(
  tx: Queries,
  server: ServerTable,
  type: Type,
  data: ServerOperations[Type],
  { now, runAt = now, change = {} }: { now: number; runAt?: number; change?: Partial<ServerTable> },
): Promise<Started> {
  const whole = { status_reason: null, ...change, status: statusDuring[type], updated_at: now }
  const operation = await write(tx, server, type, data, { now, runAt })
  await updateServer(tx, server, whole, operation)
  return { server: { ...server, ...whole }, operation }
}

/**
 * Writes a new server and begins its create.
 * @returns null if another transaction has just taken the server's number
 */
export async function beginCreate(
  tx: Queries,
  row: Omit<ServerTable, 'status'>,
  data: ServerOperations['create'],
): Promise<Started | null> {
  const server = { ...row, status: statusDuring.create }
  const now = row.created_at
  const operation = await insertServer(tx, server, () =>
    write(tx, server, 'create', data, { now, runAt: now }),
  )
  return operation && { server, operation }
}

/** Begins to make a snapshot of a server, whose row is locked and keeps its status. */
export async function beginCopy(
  tx: Queries,
  server: ServerTable,
  snapshotId: string,
  now: number,
): Promise<OperationTable> {
  const operation = await write(tx, server, 'snapshot', { snapshot_id: snapshotId }, { now, runAt: now })
  await updateServer(tx, server, { copying: snapshotId, updated_at: now })
  return operation
}

/** Deletes the snapshot that is being made of a server, and whose operation is canceled. */
export async function endCopy(
  tx: Queries,
  { copying }: ServerTable,
  now: number,
): Promise<Partial<ServerTable>> {
  if (copying !== null) await dropSnapshot(tx, copying, now)
  return { copying: null }
}

function write<Type extends ServerOperation>(
  tx: Queries,
  { account_id, server_id }: ServerTable,
  type: Type,
  data: ServerOperations[Type],
  { now, runAt }: { now: number; runAt: number },
): Promise<OperationTable> {
  const { first, deadlineMs } = plans[type]
  return insertOperation(tx, {
    accountId: account_id,
    subject: serverSubject(server_id),
    serverId: server_id,
    type,
    step: first(data),
    data,
    now,
    runAt,
    deadlineAt: now + deadlineMs,
  })
}
