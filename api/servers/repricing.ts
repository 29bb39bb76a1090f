import { repriceAddresses } from '../addresses/taking.ts'
import { type Catalog, findZone } from '../catalog/file.ts'
import { type Plan, resolvePlan } from '../catalog/plans.ts'
import type { PriceEntry } from '../catalog/prices.ts'
import { changeEach, type Database, type Queries } from '../database/database.ts'
import { repriceSnapshots } from '../snapshots/billing.ts'
import { repriceVolumes } from '../volumes/repricing.ts'
import { backupPriceIf, billServer } from './backup-pricing.ts'
import { planColumns } from './plan-columns.ts'
import { isFree } from './states.ts'
import { lockServer, pricedBefore, updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'

/**
 * Moves existing servers, public addresses, snapshots and volumes to prices with an `existing_from`, from that time on.
 * This also works if the service was down at that time, but never changes hours that were charged already.
 */
export async function reprice(db: Database, catalog: Catalog, now: number): Promise<void> {
  const due = catalog.prices.flatMap((entry) =>
    entry.existingFrom === null || entry.existingFrom > now ? [] : [{ entry, at: entry.existingFrom }],
  )
  for (const { entry, at } of due.sort((a, b) => a.at - b.at || a.entry.from - b.entry.from)) {
    const servers = pricedBefore(db, entry.zoneSlug, entry.cpuType, entry.from)
    await changeEach(db, servers, (tx, { server_id }) => moveToPrice(tx, catalog, server_id, entry, at))
    const zone = findZone(catalog, entry.zoneSlug)
    // Their price is that of the zone's first CPU type.
    if (zone?.cpu_types[0] !== entry.cpuType) continue
    await repriceAddresses(db, catalog, zone, { from: entry.from, at, now })
    await repriceSnapshots(db, catalog, zone, { from: entry.from, at, now })
    await repriceVolumes(db, catalog, zone, { from: entry.from, at, now })
  }
}

const sizes = ['cpu', 'ram_mb', 'disk_gb'] as const

async function moveToPrice(
  tx: Queries,
  catalog: Catalog,
  serverId: string,
  { zoneSlug, cpuType, from }: PriceEntry,
  at: number,
): Promise<void> {
  const server = await lockServer(tx, serverId)
  if (!server || server.priced_at >= from) return
  const { plan_type, preset_id, cpu, ram_mb, disk_gb } = server
  const request = { plan_type, preset_id: preset_id ?? undefined, cpu, ram_mb, disk_gb }
  const plan = resolvePlan(catalog, request, { zoneSlug, cpuType, at: from })
  // A size that is no longer on offer keeps its price.
  const isSame = !Array.isArray(plan) && sizes.every((part) => plan.size[part] === server[part])
  const price = Array.isArray(plan) || !isSame ? null : priceColumns(catalog, server, plan, from)
  await updateServer(tx, server, { ...price, priced_at: from })
  const isBilled = server.billed_since !== null && !isFree(server.status)
  if (isBilled && price) await billServer(tx, { ...server, ...price }, true, at)
}

function priceColumns(catalog: Catalog, server: ServerTable, plan: Plan, from: number) {
  const backups = backupPriceIf(catalog, server, plan.priceMonth, from)
  return { ...planColumns(plan), ...noSlower(server, plan), ...backups }
}

/** A change of prices never reduces the bandwidth of an existing server; null: unlimited. */
function noSlower({ bandwidth_mbit: own }: ServerTable, { traffic: { bandwidthMbit: sold } }: Plan) {
  return { bandwidth_mbit: own === null || sold === null ? null : Math.max(own, sold) }
}
