import { takeQuota } from '../accounts/accounts.ts'
import { type Capacity, releaseCapacity, type Size } from '../catalog/capacity.ts'
import type { Queries } from '../database/database.ts'
import type { ServerTable } from '../database/schema.ts'

type Place = Pick<ServerTable, 'account_id' | 'zone_slug' | 'cpu_type'>

/**
 * Takes room for a server, or for the growth of one, from the account's quotas and from its zone.
 * @param servers how many servers more the account has with it: 1 for a new one, 0 for growth
 * @param check looks at what stands between quota and capacity in the order of errors: the balance
 * @throws ApiError quota_exceeded, what check throws, capacity_unavailable
 */
export async function reserve(
  tx: Queries,
  capacity: Capacity,
  place: Place,
  size: Size,
  servers: 0 | 1,
  check: () => Promise<void> = async () => {},
): Promise<void> {
  await takeQuota(tx, place.account_id, { servers, ...parts(size) })
  await check()
  await capacity.take(tx, place.zone_slug, place.cpu_type, parts(size))
}

/** Gives back what reserve took. */
export async function release(tx: Queries, accountId: string, size: Size, servers: 0 | 1): Promise<void> {
  const { cpu, ram_mb, disk_gb } = size
  await takeQuota(tx, accountId, { servers: -servers, cpu: -cpu, ram_mb: -ram_mb, disk_gb: -disk_gb })
  await releaseCapacity(tx, parts(size))
}

function parts({ cpu, ram_mb, disk_gb }: Size): Size {
  return { cpu, ram_mb, disk_gb }
}
