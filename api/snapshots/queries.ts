import { sql } from 'kysely'
import { closedBefore } from '../accounts/status.ts'
import type { Lent, Queries } from '../database/database.ts'

/** All snapshots, including deleted ones, for the SQL of other features. Each is billed in its server's project. */
export function billedSnapshots(db: Queries, servers: Lent<{ server_id: string; project_id: string }>) {
  return db
    .selectFrom('snapshots')
    .leftJoin(servers(db).as('copied'), 'copied.server_id', 'snapshots.server_id')
    .select(({ fn }) => [
      'snapshot_id as item_id',
      'name',
      fn.coalesce('copied.project_id', 'snapshots.project_id').as('project_id'),
      sql<number>`CASE WHEN snapshots.deleted_at IS NULL THEN 0 ELSE 1 END`.as('is_gone'),
    ])
}

/** Some of the snapshots of accounts that were closed before a moment. */
export function snapshotsOfClosed(db: Queries, moment: number) {
  return db
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('deleted_at', 'is', null)
    .where('account_id', 'in', closedBefore(db, moment))
    .limit(SOME)
    .execute()
}

const SOME = 200

/** Snapshots of a pool of which something may be left on its host: deleted ones, and those that could not be made. */
export function undiscardedSnapshots(db: Queries, pool: string) {
  return db
    .selectFrom('snapshots')
    .select(['snapshot_id', 'updated_at'])
    .where('discarded', '=', 0)
    .where('pool', '=', pool)
    .where((eb) =>
      eb.or([
        eb('deleted_at', 'is not', null),
        eb.and([eb('status', '=', 'error'), eb('bytes', 'is', null)]),
      ]),
    )
    .execute()
}

/** The zones and templates of all copies: the catalogue may not lose them. */
export function systemsOfCopies(db: Queries) {
  return db
    .selectFrom('snapshots')
    .select(['zone_slug', 'template_id'])
    .distinct()
    .where('deleted_at', 'is', null)
}
