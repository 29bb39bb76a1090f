import { addLoad, takeQuota } from '../accounts/accounts.ts'
import { releaseCapacity, type Size } from '../catalog/usage.ts'
import type { Queries } from '../database/database.ts'
import type { ServerTable } from './tables.ts'

type Place = Pick<ServerTable, 'account_id' | 'pool'>

/** Reserves the growth of a server in the account's quotas. @throws ApiError quota_exceeded */
export function reserveGrowth(tx: Queries, { account_id }: Place, size: Size): Promise<void> {
  return takeQuota(tx, account_id, { servers: 0, ...parts(size) })
}

/** Releases the reservations of reserveGrowth and of the order's transaction. */
export async function release(
  tx: Queries,
  { account_id, pool }: Place,
  size: Size,
  servers: 0 | 1,
): Promise<void> {
  const { cpu, ram_mb, disk_gb } = size
  await addLoad(tx, account_id, { servers: -servers, cpu: -cpu, ram_mb: -ram_mb, disk_gb: -disk_gb })
  await releaseCapacity(tx, pool, parts(size))
}

/** Returns only the size of a row or plan, which has more fields. */
export function parts({ cpu, ram_mb, disk_gb }: Size): Size {
  return { cpu, ram_mb, disk_gb }
}
