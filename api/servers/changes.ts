import { lockAccount } from '../accounts/accounts.ts'
import { countInProject } from '../accounts/projects.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { type Catalog, onSale } from '../catalog/file.ts'
import { type Plan, resolvePlan, sizeField } from '../catalog/plans.ts'
import type { Size } from '../catalog/usage.ts'
import type { Clock } from '../clock.ts'
import type { Queries } from '../database/database.ts'
import { labelsColumn } from '../database/labels.ts'
import { requireProtectable } from '../firewalls/protection.ts'
import { bodyIssue, invalid } from '../http/contract/problem.ts'
import { changeBackups } from './backups.ts'
import { requireCover } from './cover.ts'
import type { ServerUpdate } from './order-schema.ts'
import { updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'

/** Returns the plan to which a request changes a server. @throws ApiError validation_failed */
export function resizePlan(catalog: Catalog, server: ServerTable, request: ServerUpdate, at: number): Plan {
  const isPreset = request.preset_id !== undefined || request.preset !== undefined
  const plan_type = request.plan_type ?? (isPreset ? 'preset' : 'custom')
  const size =
    plan_type === 'custom' ? { cpu: server.cpu, ram_mb: server.ram_mb, disk_gb: server.disk_gb } : {}
  const place = { zoneSlug: server.zone_slug, cpuType: server.cpu_type, at }
  const plan = resolvePlan(onSale(catalog), { ...size, ...request, plan_type }, place)
  if (Array.isArray(plan)) throw invalid(plan)
  if (plan.size.disk_gb >= server.disk_gb) return plan
  const field = sizeField({ ...request, plan_type })
  const message = `The disk has ${server.disk_gb} GB and can only grow; this plan has ${plan.size.disk_gb} GB.`
  throw invalid([bodyIssue(field, 'below_minimum', message)])
}

/**
 * Changes everything of a server but its plan.
 * @throws ApiError validation_failed, firewall_limit_reached, not_supported
 */
export async function updateMetadata(
  { clock, capacity, catalog }: { clock: Clock; capacity: Capacity; catalog: Catalog },
  tx: Queries,
  server: ServerTable,
  { labels, delete_protection, project_id, name, description, ...backups }: ServerUpdate,
): Promise<ServerTable> {
  if (project_id !== undefined && project_id !== server.project_id) {
    // The account is locked first, because two moves in opposite directions would otherwise deadlock on the projects.
    await lockAccount(tx, server.account_id)
    await countInProject(tx, server.account_id, project_id, 1)
    await countInProject(tx, server.account_id, server.project_id, -1)
  }
  const change: Partial<ServerTable> = {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(project_id === undefined ? {} : { project_id }),
    ...labelsColumn(labels),
    ...(delete_protection === undefined ? {} : { delete_protection: delete_protection ? 1 : 0 }),
    ...(await changeBackups(tx, catalog, server, backups, clock.now())),
    updated_at: clock.now(),
  }
  await updateServer(tx, server, change)
  const changed = { ...server, ...change }
  if (labels !== undefined) {
    await lockAccount(tx, server.account_id)
    await requireProtectable(tx, capacity, [changed])
  }
  return changed
}

/**
 * Checks that a server, whose account is locked from here on, may be turned on at a price.
 * @throws ApiError insufficient_balance, not_supported
 */
export async function requireTurnOn(
  { capacity }: { capacity: Capacity },
  tx: Queries,
  server: ServerTable,
  priceHour: number,
): Promise<void> {
  await lockAccount(tx, server.account_id)
  await requireCover(tx, server.account_id, addedCost(server, priceHour))
  await requireProtectable(tx, capacity, [server])
}

/** The increase of an account's hourly cost when one of its servers is billed at a price. */
export function addedCost(
  { billed_since, price_hour, backup_price_hour }: ServerTable,
  priceHour: number,
): number {
  return billed_since === null ? priceHour + backup_price_hour : priceHour - price_hour
}

/** True if the server runs and only its disk grows. */
export function growsDiskOnly(to: Size, { status, ...from }: ServerTable): boolean {
  const { cpu, ram_mb, disk_gb } = difference(to, from)
  return status === 'running' && cpu === 0 && ram_mb === 0 && disk_gb > 0
}

export function difference(to: Size, from: Size): Size {
  return { cpu: to.cpu - from.cpu, ram_mb: to.ram_mb - from.ram_mb, disk_gb: to.disk_gb - from.disk_gb }
}
