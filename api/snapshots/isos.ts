import { type Catalog, findIso, onSale } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import type { Quota } from '../feature.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import { cancelActive, subjectIsGone } from '../operations/operations.ts'
import { type ImagesOptions, importSubject } from './images.ts'
import { type Iso, isoProblems } from './iso-schema.ts'
import { dropSnapshot, lockSnapshot, ofAccount } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { isoView, offeredIsoView } from './view.ts'

/** Lists the account's own ISOs, newest first, then those of the operator as the catalogue has them. */
export async function listIsos(
  { db, catalog }: Pick<ImagesOptions, 'db' | 'catalog'>,
  accountId: string,
  page: Page,
): Promise<{ items: Iso[]; total: number }> {
  const own = await pageOf(ofAccount(db, accountId, 'iso').selectAll().orderBy('snapshot_id', 'desc'), page)
  const { isos } = onSale(catalog)
  const start = Math.max(0, page.offset - own.total)
  const offered = isos.slice(start, start + page.limit - own.items.length)
  return {
    items: [...own.items.map(isoView), ...offered.map(offeredIsoView)],
    total: own.total + isos.length,
  }
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
 * Prevents the deletion of an ISO until this transaction ends; after that, the row of the server that uses it
 * does. An operator's ISO needs no such lock: the catalogue keeps an ISO that is in a drive.
 * @throws ApiError validation_failed
 */
export async function holdIso(
  tx: Queries,
  catalog: Catalog,
  { account_id, pool }: { account_id: string; pool: string },
  isoId: string,
): Promise<void> {
  if (findIso(onSale(catalog), isoId)) return
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
