import type { Queries } from '../../database/database.ts'
import { allowedIn } from '../states.ts'

/** The servers whose backup is due and can begin: no other operation is in progress, and their own system runs. */
function toBackUp(db: Queries, now: number) {
  return db
    .selectFrom('servers')
    .where('deleted_at', 'is', null)
    .where('backup_due_at', '<=', now)
    .where('status', 'in', allowedIn.snapshot)
    .where('copying', 'is', null)
    .where('backing_up', 'is', null)
    .where('rescue_id', 'is', null)
}

/** The pools with servers whose backup is due. */
export async function poolsToBackUp(db: Queries, now: number): Promise<string[]> {
  const rows = await toBackUp(db, now).select('pool').distinct().execute()
  return rows.map(({ pool }) => pool)
}

/** The server of a pool that has waited longest for its backup. */
export function dueBackups(db: Queries, pool: string, now: number) {
  return toBackUp(db, now)
    .select('server_id')
    .where('pool', '=', pool)
    .orderBy('backup_due_at')
    .orderBy('server_id')
    .limit(1)
    .execute()
}

/** True if a server of the pool is being backed up. */
export async function isBackingUp(db: Queries, pool: string): Promise<boolean> {
  const rows = await db
    .selectFrom('servers')
    .select('server_id')
    .where('deleted_at', 'is', null)
    .where('pool', '=', pool)
    .where('backing_up', 'is not', null)
    .limit(1)
    .execute()
  return rows.length > 0
}
