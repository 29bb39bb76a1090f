import { sql } from 'kysely'
import { closedBefore } from '../accounts/status.ts'
import type { Lent, Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { SnapshotTable } from './tables.ts'

type ServerProjects = Lent<{ server_id: string; account_id: string; project_id: string }>

/** All snapshots, including deleted ones, for the SQL of other features. Each is billed in its server's project. */
export function billedSnapshots(db: Queries, servers: ServerProjects) {
  return db
    .selectFrom('snapshots')
    .leftJoin(servers(db).as('copied'), (join) =>
      // A deleted snapshot stays with its account when its server moves to another account.
      join
        .onRef('copied.server_id', '=', 'snapshots.server_id')
        .onRef('copied.account_id', '=', 'snapshots.account_id'),
    )
    .select(({ fn }) => [
      'snapshot_id as item_id',
      'snapshots.account_id',
      'name',
      fn.coalesce('copied.project_id', 'snapshots.project_id').as('project_id'),
      sql<number>`CASE WHEN snapshots.deleted_at IS NULL THEN 0 ELSE 1 END`.as('is_gone'),
    ])
}

/** Some of the snapshots of accounts that were closed before a moment. */
export function snapshotsOfClosed(db: Queries, moment: number) {
  return ofClosed.all(db, { moment })
}

const SOME = 200

const ofClosed = prepared((db, { moment }: { moment: number }) =>
  db
    .selectFrom('snapshots')
    .select(['snapshot_id', 'account_id'])
    .where('deleted_at', 'is', null)
    .where('account_id', 'in', closedBefore(db, moment))
    .limit(SOME),
)

/**
 * Queries the snapshots of a pool that may have left files on its host: deleted ones, and those that could
 * not be made.
 */
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

/** Queries the zones and templates of all copies, which the catalogue must keep. */
export function systemsOfCopies(db: Queries) {
  return db
    .selectFrom('snapshots')
    .select(['zone_slug', 'template_id'])
    .distinct()
    .where('deleted_at', 'is', null)
}

/** The copies that are on a host, or should be, or that are off site. @param pool null: those of all pools */
export function keptCopies(db: Queries, pool: string | null) {
  const kept = db
    .selectFrom('snapshots')
    .select(['snapshot_id', 'item_type', 'name', 'status', 'bytes', 'deleted_at'])
    .select(['offsite_at', 'offsite_place'])
    .where((eb) =>
      eb.or([eb('deleted_at', 'is', null), eb('discarded', '=', 0), eb('offsite_place', 'is not', null)]),
    )
  return (pool === null ? kept : kept.where('pool', '=', pool)).execute()
}

/**
 * The newest snapshot or backup of a server that can be restored.
 * @param isThere true if its files are available
 */
export async function newestCopy(
  db: Queries,
  serverId: string,
  isThere: (row: SnapshotTable) => boolean,
): Promise<SnapshotTable | undefined> {
  const rows = await db
    .selectFrom('snapshots')
    .selectAll()
    .where('server_id', '=', serverId)
    .where('status', '=', 'available')
    .where('deleted_at', 'is', null)
    .orderBy('snapshot_id', 'desc')
    .limit(SOME)
    .execute()
  return rows.find(isThere)
}
