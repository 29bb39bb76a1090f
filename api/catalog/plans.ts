import type { CpuType } from '../drivers/driver.ts'
import { bodyIssue, type Issue } from '../http/contract/problem.ts'
import { divideHalfUp, hourPrice, UNITS_PER_KOPECK } from '../money.ts'
import { type Catalog, type Limits, notOnOffer, type Preset } from './file.ts'
import { type Prices, pricesAt } from './prices.ts'
import type { Size } from './usage.ts'

const MB_PER_GB = 1024

/** A request's plan fields; the schema has checked their types and which of them go together. */
export interface PlanRequest {
  plan_type: 'preset' | 'custom'
  preset_id?: string | undefined
  /** The preset's slug, instead of its id. */
  preset?: string | undefined
  cpu?: number | undefined
  ram_mb?: number | undefined
  disk_gb?: number | undefined
}

/** A line of a plan's price. */
export interface PriceItem {
  code: 'cpu' | 'ram' | 'disk' | 'preset' | 'ipv4' | 'backups'
  quantity: number
  unit: 'core' | 'gb' | 'preset' | 'address' | 'server'
  /** Units a month, for one and for all. */
  priceUnitMonth: number
  priceMonth: number
}

export interface Plan {
  planType: 'preset' | 'custom'
  presetId: string | null
  size: Size
  items: PriceItem[]
  /** Units a month and an hour. */
  priceMonth: number
  priceHour: number
  traffic: Traffic
}

/** A plan's network: traffic and bandwidth. */
export interface Traffic {
  /** GB a calendar month within the price, and the price in units of a TB beyond that. */
  includedGb: number
  priceTb: number
  /** The limit in each direction; null: none. */
  bandwidthMbit: number | null
}

/**
 * Returns the price of a size, part by part. Each part is rounded half up to whole kopecks, so that the printed lines
 * add up.
 */
function partsOf(size: Size, prices: Prices): PriceItem[] {
  return [
    priceItem('cpu', 'core', size.cpu, 1, prices.cpu),
    priceItem('ram', 'gb', size.ram_mb, MB_PER_GB, prices.ramGb),
    priceItem('disk', 'gb', size.disk_gb, 1, prices.diskGb),
  ]
}

/** A public IPv4 address, which is billed beside the plan. */
export function addressItem(price: number): PriceItem {
  return priceItem('ipv4', 'address', 1, 1, price)
}

/** Backups of a server, which are billed beside the plan. */
export function backupsItem(price: number): PriceItem {
  return priceItem('backups', 'server', 1, 1, price)
}

/** @param per the amount for which the price applies */
function priceItem(
  code: PriceItem['code'],
  unit: PriceItem['unit'],
  amount: number,
  per: number,
  price: number,
): PriceItem {
  const quantity = amount / per // not money: 512 MB are 0.5 GB
  const priceMonth = divideHalfUp(amount * price, per * UNITS_PER_KOPECK) * UNITS_PER_KOPECK
  return { code, quantity, unit, priceUnitMonth: price, priceMonth }
}

export function sizeOf({ cpu, ramMb, diskGb }: Preset): Size {
  return { cpu, ram_mb: ramMb, disk_gb: diskGb }
}

/** The price of a preset a month, in units. */
export function presetMonth(preset: Preset, prices: Prices): number {
  return itemsOf(preset, prices).reduce((sum, { priceMonth }) => sum + priceMonth, 0)
}

function itemsOf(preset: Preset, prices: Prices): PriceItem[] {
  const own = prices.presets.get(preset.slug)
  if (own !== undefined) return [priceItem('preset', 'preset', 1, 1, own)]
  return partsOf(sizeOf(preset), prices)
}

/** Units a month. */
export function presetPrice(preset: Preset, prices: Prices): number {
  return sum(itemsOf(preset, prices))
}

function sum(items: readonly PriceItem[]): number {
  return items.reduce((total, item) => total + item.priceMonth, 0)
}

/** The reason why there is no plan with this CPU type in this zone. */
export function notOffered(zoneSlug: string, cpuType: CpuType): string {
  return `Zone ${zoneSlug} does not offer ${cpuType}.`
}

/**
 * Turns a request into a plan with its price, for create, resize and quote alike.
 * @returns the plan, or all mistakes of the request
 */
export function resolvePlan(
  catalog: Catalog,
  request: PlanRequest,
  place: { zoneSlug: string; cpuType: CpuType; at: number },
): Plan | Issue[] {
  const prices = pricesAt(catalog.prices, place.zoneSlug, place.cpuType, place.at)
  if (!prices) return [bodyIssue('cpu_type', 'not_in_enum', notOffered(place.zoneSlug, place.cpuType))]
  if (request.plan_type === 'preset') {
    const preset = catalog.presets.find(({ presetId, slug }) =>
      request.preset === undefined ? presetId === request.preset_id : slug === request.preset,
    )
    if (!preset) return [unknownPreset(catalog, request)]
    const size = sizeOf(preset)
    return priced('preset', preset.presetId, size, itemsOf(preset, prices), presetTraffic(preset, prices))
  }
  const size = { cpu: request.cpu ?? 0, ram_mb: request.ram_mb ?? 0, disk_gb: request.disk_gb ?? 0 }
  const issues = (['cpu', 'ram_mb', 'disk_gb'] as const).flatMap((part) =>
    outsideLimits(catalog, part, size[part]),
  )
  if (issues.length > 0) return issues
  return priced('custom', null, size, partsOf(size, prices), customTraffic(catalog.limits, prices))
}

/** The field that names the size of a request. */
export function sizeField({ plan_type, preset }: PlanRequest): 'preset' | 'preset_id' | 'disk_gb' {
  if (plan_type === 'custom') return 'disk_gb'
  return preset === undefined ? 'preset_id' : 'preset'
}

function unknownPreset({ presets }: Catalog, request: PlanRequest): Issue {
  const { preset, preset_id = '' } = request
  const slugs = presets.map(({ slug }) => slug)
  return bodyIssue(sizeField(request), 'not_found', notOnOffer('preset', preset ?? preset_id, slugs))
}

export function presetTraffic({ trafficGb, bandwidthMbit }: Preset, { trafficTb }: Prices): Traffic {
  return { includedGb: trafficGb, priceTb: trafficTb, bandwidthMbit }
}

export function customTraffic({ traffic_gb = 0, bandwidth_mbit }: Limits, { trafficTb }: Prices): Traffic {
  return { includedGb: traffic_gb, priceTb: trafficTb, bandwidthMbit: bandwidth_mbit ?? null }
}

function priced(
  planType: Plan['planType'],
  presetId: string | null,
  size: Size,
  items: PriceItem[],
  traffic: Traffic,
): Plan {
  const priceMonth = sum(items)
  return { planType, presetId, size, items, priceMonth, priceHour: hourPrice(priceMonth), traffic }
}

function outsideLimits(catalog: Catalog, part: keyof Size, value: number): Issue[] {
  const { min, max, step } = catalog.limits[part]
  if (value < min) return [bodyIssue(part, 'below_minimum', `${part} must be at least ${min}.`)]
  if (value > max) return [bodyIssue(part, 'above_maximum', `${part} must be at most ${max}.`)]
  // Steps count from zero, so that presets and custom plans share one grid; the minimum itself is always fine.
  if (value !== min && value % step !== 0)
    return [bodyIssue(part, 'not_a_step', `${part} must be a multiple of ${step}.`)]
  return []
}
