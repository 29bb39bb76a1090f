import type { CpuType } from '../drivers/driver.ts'
import { bodyIssue, type Issue } from '../http/problem.ts'
import { divideHalfUp, hourPrice } from '../money.ts'
import type { Size } from './capacity.ts'
import type { Catalog, Preset, UnitPrices } from './file.ts'

const MB_PER_GB = 1024

/** What a request says of its plan; the schema has checked types and which fields go together. */
export interface PlanRequest {
  plan_type: 'preset' | 'custom'
  preset_id?: string | undefined
  cpu?: number | undefined
  ram_mb?: number | undefined
  disk_gb?: number | undefined
}

export interface Plan {
  planType: 'preset' | 'custom'
  presetId: string | null
  size: Size
  /** Units a month and an hour. */
  priceMonth: number
  priceHour: number
}

/** Units a month for a size; halves of a unit are rounded up. */
export function priceOf(size: Size, prices: UnitPrices): number {
  return (
    size.cpu * prices.cpu + divideHalfUp(size.ram_mb * prices.ramGb, MB_PER_GB) + size.disk_gb * prices.diskGb
  )
}

export function presetPrice(preset: Preset, prices: UnitPrices): number {
  return preset.ownPrice ?? priceOf({ cpu: preset.cpu, ram_mb: preset.ramMb, disk_gb: preset.diskGb }, prices)
}

/**
 * Turns what was asked for into a plan with its price: the one path of create, resize and quote.
 * @returns the plan, or all that is wrong with the request
 */
export function resolvePlan(
  catalog: Catalog,
  request: PlanRequest,
  place: { zoneSlug: string; cpuType: CpuType; at: number },
): Plan | Issue[] {
  const prices = catalog.unitPrices(place.zoneSlug, place.cpuType, place.at)
  if (!prices)
    return [bodyIssue('cpu_type', 'not_in_enum', `Zone ${place.zoneSlug} does not offer ${place.cpuType}.`)]
  if (request.plan_type === 'preset') {
    const preset = catalog.presets.find((candidate) => candidate.presetId === request.preset_id)
    if (!preset)
      return [
        bodyIssue('preset_id', 'not_found', 'There is no such preset: GET /v1/pricing/presets lists them.'),
      ]
    const size = { cpu: preset.cpu, ram_mb: preset.ramMb, disk_gb: preset.diskGb }
    return priced('preset', preset.presetId, size, presetPrice(preset, prices))
  }
  const size = { cpu: request.cpu ?? 0, ram_mb: request.ram_mb ?? 0, disk_gb: request.disk_gb ?? 0 }
  const issues = (['cpu', 'ram_mb', 'disk_gb'] as const).flatMap((part) =>
    outsideLimits(catalog, part, size[part]),
  )
  return issues.length > 0 ? issues : priced('custom', null, size, priceOf(size, prices))
}

function priced(planType: Plan['planType'], presetId: string | null, size: Size, priceMonth: number): Plan {
  return { planType, presetId, size, priceMonth, priceHour: hourPrice(priceMonth) }
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
