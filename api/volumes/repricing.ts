import { changeRate } from '../billing/rates.ts'
import type { Catalog, Zone } from '../catalog/file.ts'
import { changeEach, type Database } from '../database/database.ts'
import { lockVolume, updateVolume } from './store.ts'
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
    const price = volumePrice(catalog, zone, row.size_gb, from)
    await updateVolume(tx, row, { ...price, priced_at: from, updated_at: now })
    // One that is being deleted costs nothing any more.
    if (row.status !== 'deleting') await changeRate(tx, billedVolume(row), price, at)
  })
}
