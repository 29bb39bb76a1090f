import type { Queries } from '../database/database.ts'
import type { OperationTable } from '../operations/tables.ts'
import { postponeBackups } from './store.ts'
import type { ServerTable } from './tables.ts'

/** A copy that lasts as long and comes to nothing has wasted a turn of its host; the driver counts alike. */
const WASTED_MS = 600_000
const BEHIND_MS = 3600_000

/**
 * Lets the backups of a pool precede those of an account whose copy came to nothing after a long time: they are due an
 * hour later, and so come after all that are due by then.
 * @param server as it was while the operation was in progress
 * @param ended the operation that failed or was canceled; missing: none was in progress
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
