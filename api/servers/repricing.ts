import { changedTerms, pricedFor, settleTerms } from '../accounts/prices.ts'
import { repriceAddresses, repriceAddressesOf } from '../addresses/taking.ts'
import { type Catalog, findZone } from '../catalog/file.ts'
import { type Plan, resolvePlan } from '../catalog/plans.ts'
import { attemptAll, changeEach, type Database, type Queries } from '../database/database.ts'
import { repriceSnapshots, repriceSnapshotsOf } from '../snapshots/billing.ts'
import { repriceVolumes, repriceVolumesOf } from '../volumes/repricing.ts'
import { backupPriceIf, billServer } from './backup-pricing.ts'
import { planColumns } from './plan-columns.ts'
import { isFree } from './states.ts'
import { lockServer, pricedBefore, serversOf, updateServer } from './store.ts'
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
    const works = [
      () =>
        changeEach(db, servers, async (tx, { server_id }) => {
          const server = await lockServer(tx, server_id)
          if (!server || server.priced_at >= entry.from) return
          await moveToPrice(tx, await pricedFor(tx, catalog, server.account_id), server, entry.from, at)
        }),
    ]
    const zone = findZone(catalog, entry.zoneSlug)
    const times = { from: entry.from, at, now }
    // The price of all others is that of the zone's first CPU type.
    if (zone?.cpu_types[0] === entry.cpuType)
      for (const work of [repriceAddresses, repriceSnapshots, repriceVolumes])
        works.push(() => work(db, catalog, zone, times))
    await attemptAll(works)
  }
}

/** Applies accounts' own prices to their existing objects after an operator changed those prices. */
export async function repriceAccounts(db: Database, catalog: Catalog, now: number): Promise<void> {
  for (const { account_id, at } of await changedTerms(db)) {
    await repriceAccount(db, catalog, account_id, { at, now })
    await settleTerms(db, account_id, at, now)
  }
}

/**
 * Applies an account's own prices to all its objects. Each object stays at the catalogue prices of its own
 * day.
 * @param at the time from which these prices are billed
 */
export async function repriceAccount(
  db: Database,
  catalog: Catalog,
  accountId: string,
  times: { at: number; now: number },
): Promise<void> {
  const priced = await pricedFor(db, catalog, accountId)
  for (const row of await serversOf(db, accountId)) {
    const plan = planAt(priced, row, row.priced_at)
    if (!plan || (plan.priceMonth === row.price_month && plan.traffic.priceTb === row.traffic_price)) continue
    await db.transaction().execute(async (tx) => {
      const server = await lockServer(tx, row.server_id)
      if (server) await moveToPrice(tx, priced, server, server.priced_at, times.at)
    })
  }
  await repriceAddressesOf(db, priced, accountId, times)
  await repriceSnapshotsOf(db, priced, accountId, times)
  await repriceVolumesOf(db, priced, accountId, times)
}

const sizes = ['cpu', 'ram_mb', 'disk_gb'] as const

/** The columns of a server's price for an account, as of the day whose prices it has. @param catalog at its prices */
export function pricesFor(catalog: Catalog, server: ServerTable): Partial<ServerTable> {
  const plan = planAt(catalog, server, server.priced_at)
  return plan ? priceColumns(catalog, server, plan, server.priced_at) : {}
}

async function moveToPrice(
  tx: Queries,
  catalog: Catalog,
  server: ServerTable,
  from: number,
  at: number,
): Promise<void> {
  const plan = planAt(catalog, server, from)
  const price = plan && priceColumns(catalog, server, plan, from)
  await updateServer(tx, server, { ...price, priced_at: from })
  const isBilled = server.billed_since !== null && !isFree(server.status)
  if (isBilled && price) await billServer(tx, { ...server, ...price }, true, at)
}

/**
 * Returns the plan of a server at the prices of a time; null if its size is not on offer, so that its price
 * stays.
 */
function planAt(catalog: Catalog, server: ServerTable, at: number): Plan | null {
  const { zone_slug: zoneSlug, cpu_type: cpuType, plan_type, preset_id, cpu, ram_mb, disk_gb } = server
  const request = { plan_type, preset_id: preset_id ?? undefined, cpu, ram_mb, disk_gb }
  const plan = resolvePlan(catalog, request, { zoneSlug, cpuType, at })
  if (Array.isArray(plan)) return null
  return sizes.every((part) => plan.size[part] === server[part]) ? plan : null
}

function priceColumns(catalog: Catalog, server: ServerTable, plan: Plan, from: number) {
  const backups = backupPriceIf(catalog, server, plan.priceMonth, from)
  return { ...planColumns(plan), ...noSlower(server, plan), ...backups }
}

/** A change of prices never reduces the bandwidth of an existing server; null: unlimited. */
function noSlower({ bandwidth_mbit: own }: ServerTable, { traffic: { bandwidthMbit: sold } }: Plan) {
  return { bandwidth_mbit: own === null || sold === null ? null : Math.max(own, sold) }
}
