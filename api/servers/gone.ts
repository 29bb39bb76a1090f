import { chargedItems } from '../billing/metering.ts'
import type { Database } from '../database/database.ts'
import { meteredServers } from '../monitoring/metrics.ts'
import { forgetOperations } from '../operations/operations.ts'
import { deleteRows } from './store.ts'

/** A place in the order in which servers were deleted. */
export interface Gone {
  deletedAt: number
  serverId: string
}

/**
 * Deletes the rows of servers that were deleted before a moment and never cost anything: the names of others stand
 * in the usage of their account for good. Looks at some, so that a walk through all of them holds up nobody.
 * @returns where to go on; the beginning where it has come to the end
 */
export async function forgetServers(db: Database, after: Gone, before: number, limit: number): Promise<Gone> {
  const rows = await db
    .selectFrom('servers')
    .leftJoin(chargedItems(db).as('charged'), 'charged.item_id', 'servers.server_id')
    // The sampler deletes samples first, and then the meter.
    .leftJoin(meteredServers(db).as('metered'), 'metered.server_id', 'servers.server_id')
    .select(['servers.server_id', 'deleted_at'])
    .select(['charged.item_id as charged_id', 'metered.server_id as metered_id'])
    .where('deleted_at', 'is not', null)
    .where('deleted_at', '<', before)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('deleted_at', 'servers.server_id'), '>', tuple(after.deletedAt, after.serverId)),
    )
    .orderBy('deleted_at')
    .orderBy('servers.server_id')
    .limit(limit)
    .execute()
  const ids = rows
    .filter((row) => row.charged_id === null && row.metered_id === null)
    .map((row) => row.server_id)
  if (ids.length > 0)
    await db.transaction().execute(async (tx) => {
      await forgetOperations(tx, ids)
      await deleteRows(tx, ids)
    })
  const last = rows.at(-1)
  return rows.length < limit || !last
    ? { deletedAt: 0, serverId: '' }
    : { deletedAt: last.deleted_at ?? 0, serverId: last.server_id }
}
