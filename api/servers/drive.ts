import { type Catalog, findIso } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Queries } from '../database/database.ts'
import { findActive, inProgress, insertOperation } from '../operations/operations.ts'
import type { OperationTable } from '../operations/tables.ts'
import { holdIso } from '../snapshots/isos.ts'
import { type DriveData, driveSubject } from './operations.ts'
import { updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'

const MINUTE_MS = 60_000
const FETCH_MINUTES = 90

/**
 * Begins to insert an ISO into the drive of a server, whose row is locked, or to eject it.
 * @returns no operation if the drive does not change
 * @throws ApiError validation_failed, operation_in_progress
 */
export async function changeDrive(
  { clock, catalog }: { clock: Clock; catalog: Catalog },
  tx: Queries,
  server: ServerTable,
  iso_id: string | null,
): Promise<{ server: ServerTable; operation: OperationTable | null }> {
  const { server_id, account_id, iso_id: before } = server
  if (iso_id === before) return { server, operation: null }
  const subject = driveSubject(server_id)
  const active = await findActive(tx, subject)
  if (active) throw inProgress(active, 'The drive is being changed. Wait until that operation has finished.')
  if (iso_id !== null) await holdIso(tx, catalog, server, iso_id)
  const now = clock.now()
  const data: DriveData = { before }
  const operation = await insertOperation(tx, {
    ...{ accountId: account_id, subject, serverId: server_id, step: 'change', data, now },
    type: iso_id === null ? 'eject_iso' : 'insert_iso',
    // The host may have to fetch an ISO of the operator first.
    deadlineAt: now + (iso_id !== null && findIso(catalog, iso_id) ? FETCH_MINUTES : 10) * MINUTE_MS,
  })
  const change = { iso_id, updated_at: now }
  await updateServer(tx, server, change)
  return { server: { ...server, ...change }, operation }
}
