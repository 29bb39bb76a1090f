import type { Queries } from '../database/database.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import type { Quota } from '../feature.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import { cancelActive, subjectIsGone } from '../operations/operations.ts'
import { type ImagesOptions, importSubject } from './images.ts'
import { isoProblems } from './iso-schema.ts'
import { dropSnapshot, lockSnapshot, ofAccount } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'

/** Newest first. */
export function listIsos(db: Queries, accountId: string, page: Page) {
  return pageOf(ofAccount(db, accountId, 'iso').selectAll().orderBy('snapshot_id', 'desc'), page)
}

export const isoQuota: Quota = {
  name: 'isos',
  description: 'ISO images of your own',
  limit: 10,
  unpaid: 1,
  example: 0,
  count: (db, accountId) => countIn(ofAccount(db, accountId, 'iso')),
}

/**
 * Keeps an ISO until this transaction ends, after which the row of the server with it in its drive keeps it.
 * @throws ApiError validation_failed
 */
export async function holdIso(
  tx: Queries,
  { account_id, pool }: { account_id: string; pool: string },
  isoId: string,
): Promise<void> {
  const row = await lockSnapshot(tx, isoId)
  const fault = (message: string) => invalid([bodyIssue('iso_id', 'not_found', message)])
  if (row?.account_id !== account_id || row.item_type !== 'iso' || row.status !== 'available')
    throw fault(`No available ISO: ${isoId}.`)
  if (row.pool !== pool)
    throw fault(`The ISO is of zone ${row.zone_slug}; servers of other zones can't have it.`)
}

/**
 * Deletes an ISO. If it is still being fetched or checked, that operation is canceled.
 * @throws ApiError iso_not_found, iso_in_use
 */
export async function deleteIso(
  { db, clock, engine, serverRows }: ImagesOptions,
  { snapshot_id }: SnapshotTable,
): Promise<void> {
  const canceled = await db.transaction().execute(async (tx) => {
    const now = clock.now()
    found(await lockSnapshot(tx, snapshot_id), isoProblems.iso_not_found)
    const names = await serverRows.withIso(tx, snapshot_id)
    if (names.length > 0)
      throw new ApiError(
        isoProblems.iso_in_use,
        `It is in the drive of ${names.join(', ')}. Take it out first: PATCH the server with "iso_id": null.`,
      )
    await dropSnapshot(tx, snapshot_id, now)
    const subject = importSubject('iso', snapshot_id)
    const ended = await cancelActive(tx, subject, now)
    await subjectIsGone(tx, subject, now)
    return ended
  })
  if (canceled) engine.canceled(canceled)
}
