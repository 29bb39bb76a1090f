import { v7 as uuid } from 'uuid'
import { findAccount, lockAccount, takeRoom } from '../accounts/accounts.ts'
import { pricedFor } from '../accounts/prices.ts'
import { requireRoom } from '../accounts/quotas.ts'
import { type BilledItem, beginRate, changeRate } from '../billing/rates.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { type Catalog, findZone, onSale, unknownZone, type Zone } from '../catalog/file.ts'
import { zonePricesAt } from '../catalog/prices.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { labelsColumn } from '../database/labels.ts'
import { countIn } from '../database/page.ts'
import type { Quota } from '../feature.ts'
import type { Actor } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { hourPrice } from '../money.ts'
import type { Engine } from '../operations/engine.ts'
import type { OperationTable } from '../operations/tables.ts'
import { beginOperation, refuseBusy } from './operations.ts'
import { type VolumeCreate, type VolumeUpdate, volumeProblems } from './schema.ts'
import { findVolume, insertVolume, lockVolume, sizesOf, updateVolume, volumesIn } from './store.ts'
import type { VolumeTable } from './tables.ts'

export interface VolumesOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  engine: Engine
  /** Checks that the balance covers the orders of an account and `added` more units an hour. */
  requireCover: (tx: Queries, accountId: string, added: number) => Promise<void>
}

const sizeQuota: Quota = {
  name: 'volumes_gb',
  description: 'Size of all volumes in GB',
  limit: 4096,
  unpaid: 40,
  example: 20,
  count: sizesOf,
}

export const volumeQuotas: readonly Quota[] = [
  {
    name: 'volumes',
    description: 'Volumes',
    limit: 20,
    unpaid: 2,
    example: 1,
    count: (db, accountId) => countIn(volumesIn(db, accountId)),
  },
  sizeQuota,
]

/** Finds the volume that a path names. */
export function volumeLoader({ db }: Pick<VolumesOptions, 'db'>) {
  return async ({ actor, params }: { actor: Actor; params: { volume_id: string } }) =>
    found(await findVolume(db, actor.accountId, params.volume_id), volumeProblems.volume_not_found)
}

/** The price of a volume at a moment. */
export function volumePrice(catalog: Catalog, zone: Zone, sizeGb: number, at: number) {
  const month = (zonePricesAt(catalog.prices, zone, at)?.volumeGb ?? 0) * sizeGb
  return { price_month: month, price_hour: hourPrice(month) }
}

/** A volume as rates and meters know it. */
export function billedVolume({ volume_id, account_id }: VolumeTable): BilledItem {
  return { item_type: 'volume', item_id: volume_id, account_id }
}

/**
 * Creates a volume. Its host learns about it when it is first attached or grown.
 * @throws ApiError validation_failed, not_supported, quota_exceeded, insufficient_balance, capacity_unavailable
 */
export async function createVolume(
  options: VolumesOptions,
  { accountId }: Pick<Actor, 'accountId'>,
  { name, zone_slug, size_gb, labels = {} }: VolumeCreate,
  remember: Remember,
): Promise<VolumeTable> {
  const { clock, catalog, capacity, requireCover } = options
  const zone = findZone(onSale(catalog), zone_slug)
  if (!zone) throw invalid([bodyIssue('zone_slug', 'not_found', unknownZone(catalog, zone_slug))])
  const pool = capacity.poolOf(zone_slug)
  await capacity.require({ pool, zone_slug }, 'volumes')
  return reserving(options, { pool, zone_slug }, async (tx, reserve) => {
    const now = clock.now()
    await takeRoom(tx, accountId, volumeQuotas, { volumes: 1, volumes_gb: size_gb })
    const price = volumePrice(await pricedFor(tx, catalog, accountId), zone, size_gb, now)
    await requireCover(tx, accountId, price.price_hour)
    const { default_project_id: project_id } = await findAccount(tx, accountId)
    const row: VolumeTable = {
      ...{ volume_id: uuid(), account_id: accountId, project_id, name, zone_slug, pool, size_gb },
      ...{ status: 'available', server_id: null, device: null, labels: JSON.stringify(labels) },
      ...{ ...price, priced_at: now },
      ...{ created_at: now, updated_at: now, deleted_at: null },
    }
    await insertVolume(tx, row)
    await beginRate(tx, billedVolume(row), price, now)
    await remember(tx, row.volume_id)
    reserve(size_gb)
    return row
  })
}

/**
 * Changes the name and labels of a volume, or begins to grow it. The request takes the disk space, quota and
 * money for the new size.
 * @returns the operation that grows it; null: there is none
 * @throws ApiError validation_failed, volume_not_found, operation_in_progress, quota_exceeded,
 * insufficient_balance, capacity_unavailable
 */
export async function changeVolume(
  options: VolumesOptions,
  loaded: VolumeTable,
  { name = loaded.name, size_gb: wanted, labels: given }: VolumeUpdate,
): Promise<{ volume: VolumeTable; operation: OperationTable | null }> {
  const { clock, engine } = options
  const changed = await reserving(options, loaded, async (tx, reserve) => {
    const account = await lockAccount(tx, loaded.account_id)
    const row = found(await lockVolume(tx, loaded.volume_id), volumeProblems.volume_not_found)
    const now = clock.now()
    const size_gb = wanted ?? row.size_gb
    if (size_gb < row.size_gb) {
      const message = `The volume has ${row.size_gb} GB and can only grow.`
      throw invalid([bodyIssue('size_gb', 'below_minimum', message)])
    }
    const { labels = row.labels } = labelsColumn(given)
    const isSame = name === row.name && labels === row.labels
    const volume = isSame ? row : await updateVolume(tx, row, { name, labels, updated_at: now })
    if (size_gb === row.size_gb) return { volume, operation: null }
    await refuseBusy(tx, row)
    await requireRoom(tx, account, sizeQuota, size_gb - row.size_gb)
    const operation = await grow(options, tx, volume, size_gb, now)
    reserve(size_gb - row.size_gb)
    return { volume, operation }
  })
  if (changed.operation) engine.wake()
  return changed
}

async function grow(
  { catalog, requireCover }: VolumesOptions,
  tx: Queries,
  row: VolumeTable,
  sizeGb: number,
  now: number,
): Promise<OperationTable> {
  const { size_gb, price_month, price_hour, priced_at } = row
  const zone = findZone(catalog, row.zone_slug)
  const priced = await pricedFor(tx, catalog, row.account_id)
  const price = zone ? volumePrice(priced, zone, sizeGb, now) : { price_month, price_hour }
  await requireCover(tx, row.account_id, price.price_hour - price_hour)
  const before = { size_gb, price_month, price_hour, priced_at }
  const operation = await beginOperation(tx, 'resize_volume', row, { before }, now)
  await changeRate(tx, billedVolume(row), price, now)
  await updateVolume(tx, row, { size_gb: sizeGb, ...price, priced_at: now, updated_at: now })
  return operation
}

/**
 * Begins to delete a volume with its data. Its billing ends at once.
 * @throws ApiError volume_not_found, volume_in_use, operation_in_progress
 */
export async function deleteVolume(
  { db, clock, engine }: VolumesOptions,
  { volume_id }: VolumeTable,
): Promise<OperationTable> {
  const operation = await db.transaction().execute(async (tx) => {
    const row = found(await lockVolume(tx, volume_id), volumeProblems.volume_not_found)
    await refuseBusy(tx, row)
    if (row.server_id !== null)
      throw new ApiError(volumeProblems.volume_in_use, 'A server has the volume. Detach it first.')
    const now = clock.now()
    const begun = await beginOperation(tx, 'delete_volume', row, {}, now)
    await changeRate(tx, billedVolume(row), null, now)
    await updateVolume(tx, row, { status: 'deleting', updated_at: now })
    return begun
  })
  engine.wake()
  return operation
}

/** Runs a transaction that takes disk space of a pool. @throws ApiError capacity_unavailable */
async function reserving<Result>(
  { db, catalog, capacity }: VolumesOptions,
  { pool, zone_slug }: Pick<VolumeTable, 'pool' | 'zone_slug'>,
  run: (tx: Queries, reserve: (sizeGb: number) => void) => Promise<Result>,
): Promise<Result> {
  const place = { pool, zone_slug, cpu_type: findZone(catalog, zone_slug)?.cpu_types[0] ?? 'amd' }
  await capacity.refresh()
  try {
    return await capacity.reserving(db, (tx, reserve) =>
      run(tx, (sizeGb) => reserve(place, { cpu: 0, ram_mb: 0, disk_gb: sizeGb })),
    )
  } catch (error) {
    if (!(error instanceof ApiError && error.type === catalogProblems.capacity_unavailable)) throw error
    const detail = `Zone ${zone_slug} does not have this much disk space for volumes left. Choose a smaller size or another zone, or try again later.`
    throw new ApiError(error.type, detail, error.extra)
  }
}
