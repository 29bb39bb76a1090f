import { v7 as uuid } from 'uuid'
import type { Queries } from '../database/database.ts'
import { cancelActive, insertOperation } from '../operations/operations.ts'
import type { OperationTable } from '../operations/tables.ts'
import { dropSnapshot } from '../snapshots/snapshots.ts'
import type { SnapshotTable } from '../snapshots/tables.ts'
import { yieldTurns } from './backup-turns.ts'
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
  const free = await replaceBackup(tx, server, now)
  const whole = { status_reason: null, ...change, ...free, status: statusDuring[type], updated_at: now }
  const operation = await write(tx, server, type, data, { now, runAt })
  await updateServer(tx, server, whole, operation)
  return { server: { ...server, ...whole }, operation }
}

/** Writes a new server and begins its create. @throws Taken if another server has its number */
export async function beginCreate(
  tx: Queries,
  row: Omit<ServerTable, 'status'>,
  data: ServerOperations['create'],
): Promise<Started> {
  const server = { ...row, status: statusDuring.create }
  const now = row.created_at
  const operation = await insertServer(tx, server, () =>
    write(tx, server, 'create', data, { now, runAt: now }),
  )
  return { server, operation }
}

/** Begins to copy the disk of a server, whose row is locked and keeps its status. */
export async function beginCopy(
  tx: Queries,
  server: ServerTable,
  type: 'snapshot' | 'backup',
  base_id: string | null,
  now: number,
): Promise<Pick<SnapshotTable, 'snapshot_id' | 'operation_id' | 'base_id'>> {
  const snapshot_id = uuid()
  const free = await replaceBackup(tx, server, now)
  const data = { snapshot_id, ...(base_id !== null && { base_id }) }
  const { operation_id } = await write(tx, server, type, data, { now, runAt: now })
  const field = type === 'snapshot' ? 'copying' : 'backing_up'
  await updateServer(tx, server, { ...free, [field]: snapshot_id, updated_at: now })
  return { snapshot_id, operation_id, base_id }
}

/** Cancels the backup that is being made of a server: it is made again later, while customers' requests do not wait. */
async function replaceBackup(tx: Queries, server: ServerTable, now: number): Promise<Partial<ServerTable>> {
  if (server.backing_up === null) return {}
  const canceled = await cancelActive(tx, serverSubject(server.server_id), now)
  await dropSnapshot(tx, server.backing_up, now)
  await yieldTurns(tx, server, canceled, now)
  return { backing_up: null }
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
