import { takeQuota } from '../accounts/accounts.ts'
import { releaseCapacity, type Size } from '../catalog/usage.ts'
import type { Queries } from '../database/database.ts'
import type { ServerTable } from './tables.ts'

type Place = Pick<ServerTable, 'account_id' | 'zone_slug' | 'cpu_type' | 'pool'>

/**
 * Reserves a server, or its growth, in the account's quotas.
 * @param servers the number of additional servers: 1 for a new one, 0 for growth
 * @throws ApiError quota_exceeded
 */
export function reserveQuota(tx: Queries, place: Place, size: Size, servers: 0 | 1): Promise<void> {
  return takeQuota(tx, place.account_id, { servers, ...parts(size) })
}

/** Releases the reservations of reserveQuota and of the order's transaction. */
export async function release(
  tx: Queries,
  { account_id, pool }: Pick<ServerTable, 'account_id' | 'pool'>,
  size: Size,
  servers: 0 | 1,
): Promise<void> {
  const { cpu, ram_mb, disk_gb } = size
  await takeQuota(tx, account_id, { servers: -servers, cpu: -cpu, ram_mb: -ram_mb, disk_gb: -disk_gb })
  await releaseCapacity(tx, pool, parts(size))
}

/** The size alone, of a row or plan that has more fields. */
export function parts({ cpu, ram_mb, disk_gb }: Size): Size {
  return { cpu, ram_mb, disk_gb }
}
