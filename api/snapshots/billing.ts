import { pricedFor } from '../accounts/prices.ts'
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
    .select(['snapshot_id', 'account_id', 'bytes'])
    .where('deleted_at', 'is', null)
    .where('status', '=', 'available')
    .where('item_type', '<>', 'backup')
    .where('zone_slug', '=', zone_slug)
    .where('priced_at', '<', from)
    .limit(SOME)
  await changeEach(db, due, async (tx, { snapshot_id, account_id, bytes }) => {
    const priced = await pricedFor(tx, catalog, account_id)
    const price = snapshotPrice(priced, zone_slug, billedGb(bytes ?? 0), from)
    const row = await writePrice(tx, snapshot_id, { ...price, priced_at: from, updated_at: now })
      .where('priced_at', '<', from)
      .returningAll()
      .executeTakeFirst()
    if (row) await billPrice(tx, row, at, now)
  })
}

/**
 * Moves available snapshots and images of an account to its own prices of the time whose prices they have.
 * @param catalog at the prices of the account
 */
export async function repriceSnapshotsOf(
  db: Database,
  catalog: Catalog,
  accountId: string,
  { at, now }: { at: number; now: number },
): Promise<void> {
  const rows = await db
    .selectFrom('snapshots')
    .select(['snapshot_id', 'zone_slug', 'bytes', 'priced_at', 'price_month'])
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('status', '=', 'available')
    .where('item_type', '<>', 'backup')
    .execute()
  for (const { snapshot_id, zone_slug, bytes, priced_at, price_month } of rows) {
    const price = snapshotPrice(catalog, zone_slug, billedGb(bytes ?? 0), priced_at)
    if (price.price_month === price_month || !findZone(catalog, zone_slug)) continue
    await db.transaction().execute(async (tx) => {
      const row = await writePrice(tx, snapshot_id, { ...price, updated_at: now })
        .where('priced_at', '=', priced_at)
        // Another process may have moved the copy to the new price meanwhile.
        .where('price_month', '=', price_month)
        .returningAll()
        .executeTakeFirst()
      if (row) await billPrice(tx, row, at, now)
    })
  }
}

function writePrice(tx: Queries, snapshotId: string, change: Partial<SnapshotTable>) {
  return tx
    .updateTable('snapshots')
    .set(change)
    .where('snapshot_id', '=', snapshotId)
    .where('deleted_at', 'is', null)
}

async function billPrice(tx: Queries, row: SnapshotTable, at: number, now: number): Promise<void> {
  await changeRate(tx, billedSnapshot(row), row.price_hour > 0 ? row : null, at)
  await tell(tx, 'updated', row, now)
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
