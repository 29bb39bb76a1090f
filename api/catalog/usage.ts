import { changeLast, type Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'

/** The part of its pool that a server takes. */
export interface Size {
  cpu: number
  ram_mb: number
  disk_gb: number
}

export const PARTS = ['cpu', 'ram_mb', 'disk_gb'] as const
export const NOTHING: Size = { cpu: 0, ram_mb: 0, disk_gb: 0 }

/**
 * Takes a part of a pool, of which `total` can be sold.
 * @throws Unchanged if there is no room, at the latest with the commit
 */
export function take(tx: Queries, pool: string, size: Size, total: Size): Promise<void> {
  const growing = PARTS.filter((part) => size[part] > 0)
  const taken = addUsage(tx, pool, size).where((eb) =>
    eb.and(growing.map((part) => eb(part, '<=', total[part] - size[part]))),
  )
  return changeLast(tx, taken, { isNeeded: true })
}

function addUsage(db: Queries, pool: string, size: Size) {
  return db
    .updateTable('pool_usage')
    .set((eb) => ({
      cpu: eb('cpu', '+', size.cpu),
      ram_mb: eb('ram_mb', '+', size.ram_mb),
      disk_gb: eb('disk_gb', '+', size.disk_gb),
    }))
    .where('pool', '=', pool)
}

/** The part of each pool that servers hold. */
export async function usageByPool(db: Queries): Promise<Map<string, Size>> {
  const rows = await usage.all(db, {})
  return new Map(rows.map(({ pool, ...used }) => [pool, used]))
}

const usage = prepared((db) => db.selectFrom('pool_usage').selectAll())

/** Queries the part of a pool that servers hold. */
export function usageOf(db: Queries, pool: string) {
  return db.selectFrom('pool_usage').select(PARTS).where('pool', '=', pool)
}

/** Gives back a reservation with the commit. */
export function releaseCapacity(tx: Queries, pool: string, { cpu, ram_mb, disk_gb }: Size): Promise<void> {
  const given = { cpu: -cpu, ram_mb: -ram_mb, disk_gb: -disk_gb }
  return changeLast(tx, addUsage(tx, pool, given), { isNeeded: false })
}

/** Returns the pools in which servers or volumes hold a part. */
export async function usedPools(db: Queries): Promise<string[]> {
  const rows = await db.selectFrom('pool_usage').select('pool').where('disk_gb', '>', 0).execute()
  return rows.map(({ pool }) => pool)
}

/** Moves all reservations of a pool to another one, and deletes the first pool's row. */
export async function moveUsage(tx: Queries, from: string, to: string): Promise<void> {
  const held = (await usageByPool(tx)).get(from)
  if (!held) return
  await openPools(tx, [to])
  await addUsage(tx, to, held).execute()
  await tx.deleteFrom('pool_usage').where('pool', '=', from).execute()
}

/** Creates the rows of pools, which reservations update. */
export async function openPools(db: Queries, pools: readonly string[]): Promise<void> {
  await db
    .insertInto('pool_usage')
    .values(pools.map((pool) => ({ pool, ...NOTHING })))
    .onConflict((conflict) => conflict.column('pool').doNothing())
    .execute()
}
