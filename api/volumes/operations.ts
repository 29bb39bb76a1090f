import type { Queries } from '../database/database.ts'
import { findActive, inProgress, insertOperation, type Subject } from '../operations/operations.ts'
import type { OperationTable } from '../operations/tables.ts'
import type { VolumeTable } from './tables.ts'

/** The name of volumes as subjects of operations. */
export const VOLUME_SUBJECT = 'volume'

export function volumeSubject(volumeId: string): Subject {
  return { subject_type: VOLUME_SUBJECT, subject_id: volumeId }
}

/** The types of operations on volumes, with the values that each keeps. */
export interface VolumeOperations {
  /** `returns`: the server has the volume already, and its machine gets it back. */
  attach_volume: { returns?: true }
  detach_volume: object
  /** `before` is restored if the volume could not be grown. */
  resize_volume: { before: Pick<VolumeTable, 'size_gb' | 'price_month' | 'price_hour' | 'priced_at'> }
  delete_volume: object
}
export type VolumeOperation = keyof VolumeOperations

const MINUTE_MS = 60_000
/** The only step of each type, and the time within which it must succeed. */
export const plans: Record<VolumeOperation, { step: string; deadlineMs: number }> = {
  attach_volume: { step: 'attach', deadlineMs: 10 * MINUTE_MS },
  detach_volume: { step: 'detach', deadlineMs: 10 * MINUTE_MS },
  resize_volume: { step: 'grow', deadlineMs: 10 * MINUTE_MS },
  // A delete ignores its deadline (Procedure.endsDone).
  delete_volume: { step: 'remove', deadlineMs: 60 * MINUTE_MS },
}

/** Begins an operation on a volume, whose row is locked. */
export function beginOperation<Type extends VolumeOperation>(
  tx: Queries,
  type: Type,
  { account_id, volume_id, server_id }: Pick<VolumeTable, 'account_id' | 'volume_id' | 'server_id'>,
  data: VolumeOperations[Type],
  now: number,
): Promise<OperationTable> {
  const { step, deadlineMs } = plans[type]
  const subject = { accountId: account_id, subject: volumeSubject(volume_id), serverId: server_id }
  return insertOperation(tx, { ...subject, type, step, data, now, deadlineAt: now + deadlineMs })
}

/** @throws ApiError operation_in_progress */
export async function refuseBusy(tx: Queries, { volume_id }: VolumeTable): Promise<void> {
  const active = await findActive(tx, volumeSubject(volume_id))
  if (active) throw inProgress(active, 'The volume is being changed. Wait until that operation has finished.')
}
