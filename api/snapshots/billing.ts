import { chargedItems } from '../billing/metering.ts'
import { type BilledItem, changeRate } from '../billing/rates.ts'
import { type Catalog, findZone, type Zone } from '../catalog/file.ts'
import { zonePricesAt } from '../catalog/prices.ts'
import { changeEach, type Database, type Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { hourPrice } from '../money.ts'
import { tell } from './events.ts'
import type { SnapshotTable } from './tables.ts'
import { billedGb } from './view.ts'

/** The price of a snapshot or an image of a size at a time. */
export function snapshotPrice(
  catalog: Catalog,
  zoneSlug: string,
  sizeGb: number,
  at: number,
): Pick<SnapshotTable, 'price_month' | 'price_hour'> {
  const zone = findZone(catalog, zoneSlug) ?? { zone_slug: zoneSlug, cpu_types: [] }
  const month = sizeGb * (zonePricesAt(catalog.prices, zone, at)?.snapshotGb ?? 0)
  return { price_month: month, price_hour: hourPrice(month) }
}

export function billedSnapshot({
  snapshot_id,
  account_id,
  item_type,
}: Pick<SnapshotTable, 'snapshot_id' | 'account_id' | 'item_type'>): BilledItem {
  return { item_type, item_id: snapshot_id, account_id }
}

const SOME = 200

/**
 * Moves available snapshots and images of a zone whose price is older than `from` to the price at that time.
 * @param at the time from which they are billed at it
 */
export async function repriceSnapshots(
  db: Database,
  catalog: Catalog,
  { zone_slug }: Zone,
  { from, at, now }: { from: number; at: number; now: number },
): Promise<void> {
  const due = db
    .selectFrom('snapshots')
    .select(['snapshot_id', 'bytes'])
    .where('deleted_at', 'is', null)
    .where('status', '=', 'available')
    .where('item_type', '<>', 'backup')
    .where('zone_slug', '=', zone_slug)
    .where('priced_at', '<', from)
    .limit(SOME)
  await changeEach(db, due, async (tx, { snapshot_id, bytes }) => {
    const price = snapshotPrice(catalog, zone_slug, billedGb(bytes ?? 0), from)
    const row = await tx
      .updateTable('snapshots')
      .set({ ...price, priced_at: from, updated_at: now })
      .where('snapshot_id', '=', snapshot_id)
      .where('deleted_at', 'is', null)
      .where('priced_at', '<', from)
      .returningAll()
      .executeTakeFirst()
    if (!row) return
    await changeRate(tx, billedSnapshot(row), price.price_hour > 0 ? price : null, at)
    await tell(tx, 'updated', row, now)
  })
}

/** Deletes some of the rows that were deleted before a moment and never cost anything. @returns the number deleted */
export async function forgetSnapshots(db: Queries, before: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('snapshots')
    .leftJoin(chargedItems(db).as('charged'), 'charged.item_id', 'snapshots.snapshot_id')
    .select('snapshot_id')
    .where('deleted_at', '<', before)
    .where('discarded', '=', 1)
    .where('offsite_place', 'is', null)
    .where('charged.item_id', 'is', null)
    .limit(limit)
  return deleteFound(db, 'snapshots', 'snapshot_id', old)
}
