import type { Queries } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
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
  const rows = await duePools.all(db, { now })
  return rows.map(({ pool }) => pool)
}

const duePools = prepared((db, { now }: { now: number }) => toBackUp(db, now).select('pool').distinct())

/**
 * Queries the server of a pool that has waited longest for its backup, if no server of the pool is being
 * backed up. One statement decides both: otherwise two processes could each begin a backup.
 */
export function dueBackup(db: Queries, pool: string, now: number) {
  return toBackUp(db, now)
    .select('server_id')
    .where('pool', '=', pool)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('servers as busy')
            .select('busy.server_id')
            .where('busy.deleted_at', 'is', null)
            .where('busy.pool', '=', pool)
            .where('busy.backing_up', 'is not', null),
        ),
      ),
    )
    .orderBy('backup_due_at')
    .orderBy('server_id')
    .limit(1)
    .executeTakeFirst()
}
