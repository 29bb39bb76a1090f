import { sql } from 'kysely'
import type { Lent, Queries } from '../database/database.ts'
import { inParts } from '../database/in-parts.ts'

// Queries for the SQL of other features, which need not know the table of volumes.

/** All volumes, including deleted ones. Each is billed in the project of the server that has it. */
export function billedVolumes(db: Queries, servers: Lent<{ server_id: string; project_id: string }>) {
  return db
    .selectFrom('volumes')
    .leftJoin(servers(db).as('holder'), 'holder.server_id', 'volumes.server_id')
    .select(({ fn }) => [
      'volume_id as item_id',
      'volumes.account_id',
      'volumes.name',
      fn.coalesce('holder.project_id', 'volumes.project_id').as('project_id'),
      sql<number>`CASE WHEN volumes.deleted_at IS NULL THEN 0 ELSE 1 END`.as('is_gone'),
    ])
}

/** Queries the volumes that a server has, or is about to get. */
export function volumesOn(db: Queries, serverId: string) {
  return db
    .selectFrom('volumes')
    .select(['volume_id as id', 'name'])
    .where('server_id', '=', serverId)
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute()
}

/** Queries the zones that have volumes, which the catalogue must keep. */
export function zonesWithVolumes(db: Queries) {
  return db.selectFrom('volumes').select('zone_slug').distinct().where('deleted_at', 'is', null)
}

/** The volumes that a host should have. */
export function keptVolumes(db: Queries, pool: string) {
  return db
    .selectFrom('volumes')
    .select(['volume_id', 'name', 'server_id'])
    .where('pool', '=', pool)
    .where('deleted_at', 'is', null)
    .execute()
}

/** Returns the columns that say where each of these volumes of a pool should be, including deleted ones. */
export function volumesAmong(db: Queries, pool: string, ids: readonly string[]) {
  return inParts(ids, (some) =>
    db
      .selectFrom('volumes')
      .select(['volume_id', 'status', 'server_id', 'updated_at', 'deleted_at'])
      .where('volume_id', 'in', some)
      .where('pool', '=', pool)
      .execute(),
  )
}

/** Queries the servers of an account's volumes, in the same columns as the links of firewalls. */
export function volumeLinks(db: Queries, accountId: string) {
  return db
    .selectFrom('volumes')
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('server_id', 'is not', null)
    .select([sql<'firewall' | 'volume'>`'volume'`.as('kind'), 'volume_id as id', 'server_id'])
    .select(sql<string | null>`CAST(NULL AS text)`.as('selector'))
}
