import { pricedFor } from '../accounts/prices.ts'
import { changeRate } from '../billing/rates.ts'
import { type Catalog, findZone, type Zone } from '../catalog/file.ts'
import { changeEach, type Database, type Queries } from '../database/database.ts'
import { accountVolumes, lockVolume, updateVolume } from './store.ts'
import type { VolumeTable } from './tables.ts'
import { billedVolume, volumePrice } from './volumes.ts'

const SOME = 200

/**
 * Moves volumes of a zone whose price is older than `from` to the price at that time.
 * @param at the time from which they are billed at it
 */
export async function repriceVolumes(
  db: Database,
  catalog: Catalog,
  zone: Zone,
  { from, at, now }: { from: number; at: number; now: number },
): Promise<void> {
  const due = db
    .selectFrom('volumes')
    .select('volume_id')
    .where('deleted_at', 'is', null)
    .where('zone_slug', '=', zone.zone_slug)
    .where('priced_at', '<', from)
    .limit(SOME)
  await changeEach(db, due, async (tx, { volume_id }) => {
    const row = await lockVolume(tx, volume_id)
    if (!row || row.priced_at >= from) return
    await moveToPrice(tx, await pricedFor(tx, catalog, row.account_id), zone, row, { from, at, now })
  })
}

/**
 * Moves volumes of an account to its own prices of the time whose prices they have.
 * @param catalog at the prices of the account
 */
export async function repriceVolumesOf(
  db: Database,
  catalog: Catalog,
  accountId: string,
  { at, now }: { at: number; now: number },
): Promise<void> {
  for (const { volume_id, ...volume } of await accountVolumes(db, accountId)) {
    const zone = findZone(catalog, volume.zone_slug)
    const price = zone && volumePrice(catalog, zone, volume.size_gb, volume.priced_at)
    if (!zone || price?.price_month === volume.price_month) continue
    await db.transaction().execute(async (tx) => {
      const row = await lockVolume(tx, volume_id)
      // Another process may have moved the volume to the new price meanwhile.
      if (!row || row.price_month !== volume.price_month) return
      await moveToPrice(tx, catalog, zone, row, { from: row.priced_at, at, now })
    })
  }
}

async function moveToPrice(
  tx: Queries,
  catalog: Catalog,
  zone: Zone,
  row: VolumeTable,
  { from, at, now }: { from: number; at: number; now: number },
): Promise<void> {
  const price = volumePrice(catalog, zone, row.size_gb, from)
  await updateVolume(tx, row, { ...price, priced_at: from, updated_at: now })
  // A volume that is being deleted costs nothing.
  if (row.status !== 'deleting') await changeRate(tx, billedVolume(row), price, at)
}
