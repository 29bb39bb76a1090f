import type { Queries } from '../database/database.ts'
import type { OperationTable } from '../operations/tables.ts'
import { postponeBackups } from './store.ts'
import type { ServerTable } from './tables.ts'

/** A copy that takes longer than this and then fails has wasted its host's time. The driver uses the same limit. */
const WASTED_MS = 600_000
const BEHIND_MS = 3600_000

/**
 * Postpones an account's backups in a pool by an hour after one of its long copies failed, so that other
 * accounts' backups come first.
 * @param server the row from while the operation was in progress
 * @param ended the operation that failed or was canceled; undefined: none was in progress
 */
export async function yieldTurns(
  tx: Queries,
  server: Pick<ServerTable, 'account_id' | 'pool' | 'copying' | 'backing_up'>,
  ended: Pick<OperationTable, 'started_at'> | undefined,
  now: number,
): Promise<void> {
  const { started_at = null } = ended ?? {}
  if (server.copying === null && server.backing_up === null) return
  if (started_at === null || now - started_at < WASTED_MS) return
  const { account_id, pool } = server
  const until = now + BEHIND_MS
  await postponeBackups(tx, { account_id, pool }, until, until)
}
