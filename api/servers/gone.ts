import { chargedItems } from '../billing/metering.ts'
import type { Database } from '../database/database.ts'
import { meteredServers } from '../monitoring/metrics.ts'
import { forgetOperations } from '../operations/operations.ts'
import { deleteRows } from './store.ts'

/**
 * Deletes the rows of servers that were deleted before a time and never cost anything. The usage of accounts needs
 * all other rows forever. Each call checks the next `limit` servers, so that no call takes long.
 * @returns a function that deletes rows and returns their number
 */
export function goneServers() {
  const beginning = { deletedAt: 0, serverId: '' }
  /** The last server that was checked. */
  let place = beginning
  return async (db: Database, before: number, limit: number): Promise<number> => {
    const rows = await deletedAfter(db, place, before).limit(limit).execute()
    const ids = rows
      .filter((row) => row.charged_id === null && row.metered_id === null)
      .map((row) => row.server_id)
    if (ids.length > 0)
      await db.transaction().execute(async (tx) => {
        await forgetOperations(tx, ids)
        await deleteRows(tx, ids)
      })
    const last = rows.at(-1)
    place =
      rows.length < limit || !last ? beginning : { deletedAt: last.deleted_at ?? 0, serverId: last.server_id }
    return ids.length
  }
}

function deletedAfter(db: Database, place: { deletedAt: number; serverId: string }, before: number) {
  return (
    db
      .selectFrom('servers')
      .leftJoin(chargedItems(db).as('charged'), 'charged.item_id', 'servers.server_id')
      // A row stays until the sampler has deleted its samples and its meter.
      .leftJoin(meteredServers(db).as('metered'), 'metered.server_id', 'servers.server_id')
      .select(['servers.server_id', 'deleted_at'])
      .select(['charged.item_id as charged_id', 'metered.server_id as metered_id'])
      .where('deleted_at', 'is not', null)
      .where('deleted_at', '<', before)
      .where(({ eb, refTuple, tuple }) =>
        eb(refTuple('deleted_at', 'servers.server_id'), '>', tuple(place.deletedAt, place.serverId)),
      )
      .orderBy('deleted_at')
      .orderBy('servers.server_id')
  )
}
