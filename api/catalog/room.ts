import type { CpuType, HostFacts } from '../drivers/driver.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import type { Zone } from './file.ts'
import { catalogProblems } from './schema.ts'
import { NOTHING, PARTS, type Size } from './usage.ts'

/** The capacity of a zone and CPU type, as customers see it. */
export interface ZoneCapacity {
  zone_slug: string
  cpu_type: CpuType
  is_available: boolean
  level: 'high' | 'low' | 'none'
  /** The largest server that fits now. */
  max_server: Size
  updated_at: number
}

/** Finds the row of a zone and CPU type. */
export function roomIn(
  rows: readonly ZoneCapacity[],
  zoneSlug: string,
  cpuType: CpuType,
): ZoneCapacity | undefined {
  return rows.find((row) => row.zone_slug === zoneSlug && row.cpu_type === cpuType)
}

/** True if a server of this size fits there now. */
export function fits(row: ZoneCapacity | undefined, size: Size): boolean {
  return row !== undefined && PARTS.every((part) => size[part] <= row.max_server[part])
}

/** Lists the parts of which there is not enough. A server may always shrink, even if its host has lost capacity. */
export function missing(size: Size, total: Size, used = NOTHING): (keyof Size)[] {
  return PARTS.filter((part) => size[part] > 0 && size[part] > total[part] - used[part])
}

/** Returns the total capacity of a zone, whether or not it is taken. */
export function sellableIn(zone: Zone, host: HostFacts | null | undefined): Size {
  return mostOf(zone.cpu_types.map((cpuType) => sellable(host, zone, cpuType)))
}

/** Returns the maximum of each part. */
export function mostOf(sizes: readonly Size[]): Size {
  const most = (part: keyof Size) => Math.max(0, ...sizes.map((size) => size[part]))
  return { cpu: most('cpu'), ram_mb: most('ram_mb'), disk_gb: most('disk_gb') }
}

export function sellable(host: HostFacts | null | undefined, zone: Zone, cpuType: CpuType): Size {
  if (!host?.cpuTypes.includes(cpuType)) return NOTHING
  return {
    cpu: Math.floor(host.cores * zone.overcommit.cpu),
    ram_mb: Math.floor(host.ramMb * zone.overcommit.ram),
    disk_gb: Math.floor(host.diskGb * zone.overcommit.disk),
  }
}

/**
 * The error for an order that does not fit.
 * @param max the largest server that fits in the same place
 */
export function full(
  short: readonly (keyof Size)[],
  max: Size,
  alternatives: readonly Pick<ZoneCapacity, 'zone_slug' | 'cpu_type'>[],
): ApiError {
  const detail = [
    `Not enough ${namesOf(short)} for this plan${alternatives.length > 0 ? ' here' : ''}.`,
    largest(max),
    whatToChoose({ hasSmaller: max.cpu > 0, hasOthers: alternatives.length > 0 }),
  ].join(' ')
  return new ApiError(catalogProblems.capacity_unavailable, detail, { max_server: max, alternatives })
}

/** The error for an order on a host whose capacity is unknown. */
export function silent(): ApiError {
  return new ApiError(
    httpProblems.backend_unavailable,
    'The hosts of this zone do not answer right now. Try again in a moment, or choose another zone.',
    {},
    { 'retry-after': '10' },
  )
}

const NAMES = { cpu: 'cores', ram_mb: 'memory', disk_gb: 'disk' }

function namesOf(parts: readonly (keyof Size)[]): string {
  return new Intl.ListFormat('en').format(parts.map((part) => NAMES[part])) || 'capacity'
}

function largest({ cpu, ram_mb, disk_gb }: Size): string {
  if (cpu === 0) return 'No server fits.'
  const cores = cpu === 1 ? '1 core' : `${cpu} cores`
  return `The largest server that fits has ${cores}, ${ram_mb} MB of memory and ${disk_gb} GB of disk.`
}

function whatToChoose({ hasSmaller, hasOthers }: { hasSmaller: boolean; hasOthers: boolean }): string {
  if (!hasSmaller) return hasOthers ? 'Choose one of the alternatives.' : 'Try again later.'
  return hasOthers ? 'Choose a smaller plan, or one of the alternatives.' : 'Choose a smaller plan.'
}
