import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import { changeLast, type Database, type Queries, Unchanged } from '../database/database.ts'
import type { CpuType, Feature, HostFacts } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { moduleOf } from '../drivers/modules/modules.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { type Catalog, findZone, onSale, type Zone } from './file.ts'
import { catalogProblems } from './schema.ts'

/** What a server takes of its pool. */
export interface Size {
  cpu: number
  ram_mb: number
  disk_gb: number
}

/** Asking the driver costs a few system calls; figures this old are still the truth for a price list. */
const FACTS_ARE_FRESH_MS = 2_000
const WARN_EVERY_MS = 60_000
/** Below this share of free capacity the level is called low. */
const LOW = 0.2

export interface ZoneCapacity {
  zone_slug: string
  cpu_type: CpuType
  is_available: boolean
  level: 'high' | 'low' | 'none'
  /** The largest server that fits now. */
  max_server: Size
  updated_at: number
}

/** What each pool's host has; null where its driver cannot say. */
interface Facts {
  hosts: ReadonlyMap<string, HostFacts | null>
  at: number
}

/** Where a server is, or is to be. */
interface Place {
  zone_slug: string
  cpu_type: CpuType
  pool: string
}

/** How much can still be sold: the host's real cores, memory and disk, times the overcommit, less what servers hold. */
export class Capacity {
  readonly #drivers: Drivers
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #log: Logger
  readonly #warnedAt = new Map<string, number>()
  #facts: Facts | null = null
  /** What each pool's engine could do when it was last asked with success. */
  readonly #able = new Map<string, readonly Feature[]>()

  constructor(drivers: Drivers, catalog: Catalog, clock: Clock, log: Logger) {
    this.#drivers = drivers
    this.#catalog = catalog
    this.#clock = clock
    this.#log = log
  }

  /** One row for each zone and CPU type that is sold, in the order of the catalogue. */
  async list(db: Queries): Promise<ZoneCapacity[]> {
    const facts = await this.#look()
    return this.#rows(facts, await usageByPool(db))
  }

  /** Asks the hosts what they have, where that is not known or old. */
  async refresh(): Promise<void> {
    await this.#look()
  }

  #rows({ hosts, at }: Facts, usage: ReadonlyMap<string, Size>): ZoneCapacity[] {
    return onSale(this.#catalog).zones.flatMap((zone) =>
      zone.cpu_types.map((cpu_type) => {
        const pool = this.#drivers.poolOf(zone)
        const used = usage.get(pool) ?? NOTHING
        const total = sellable(hosts.get(pool), zone, cpu_type)
        const free = this.#largest(total, used)
        const { limits } = this.#catalog
        const is_available =
          free.cpu >= limits.cpu.min && free.ram_mb >= limits.ram_mb.min && free.disk_gb >= limits.disk_gb.min
        const share = Math.min(
          ...PARTS.map((part) => (total[part] > 0 ? (total[part] - used[part]) / total[part] : 0)),
        )
        return {
          zone_slug: zone.zone_slug,
          cpu_type,
          is_available,
          level: !is_available ? 'none' : share < LOW ? 'low' : 'high',
          max_server: is_available ? free : NOTHING,
          updated_at: at,
        }
      }),
    )
  }

  /** The CPU types of a zone that its host has; all that the catalogue names, where the host cannot be asked. */
  async cpuTypes(zone: Zone): Promise<CpuType[]> {
    return (await this.abilities(zone)).cpuTypes
  }

  /** What a zone's servers can be made of and have. */
  async abilities(zone: Zone): Promise<{ cpuTypes: CpuType[]; features: readonly Feature[] }> {
    const pool = this.#drivers.poolOf(zone)
    const host = (await this.#look()).hosts.get(pool)
    return {
      cpuTypes: zone.cpu_types.filter((cpuType) => !host || host.cpuTypes.includes(cpuType)),
      features: featuresOf(this.#able.get(pool), zone),
    }
  }

  /** @throws ApiError not_supported */
  async require({ pool, zone_slug }: Omit<Place, 'cpu_type'>, feature: Feature): Promise<void> {
    await this.#look()
    if (featuresOf(this.#able.get(pool), findZone(this.#catalog, zone_slug)).includes(feature)) return
    const detail = `The zone does not support ${feature}. See what zones support in their features, at GET /zones.`
    throw new ApiError(catalogProblems.not_supported, detail, { feature })
  }

  /** The pool that a new server of a zone goes to. */
  poolOf(zoneSlug: string): string {
    return this.#drivers.poolOf(this.#catalog.zones.find((zone) => zone.zone_slug === zoneSlug) ?? {})
  }

  /**
   * Runs a transaction that reserves room for a server, or for the growth of one, by what is known of its host: refresh
   * comes first, outside of the transaction, as on SQLite all other writers would wait with it for a host that is slow.
   * All orders of a pool change its one row, so this comes last, whenever it is asked for.
   * @throws ApiError capacity_unavailable, with the largest server that fits here, and where this one would fit;
   * backend_unavailable where the host does not answer
   */
  async reserving<Result>(
    db: Database,
    run: (tx: Queries, reserve: (place: Place, size: Size) => void) => Promise<Result>,
  ): Promise<Result> {
    let wanted: { place: Place; size: Size; total: Size } | undefined
    const attempt = () =>
      db.transaction().execute(async (tx) => {
        const result = await run(tx, (place, size) => {
          if (this.#isSilent(place.pool) && PARTS.some((part) => size[part] > 0)) throw silent()
          wanted = { place, size, total: this.#totalFor(place) }
        })
        if (wanted) await take(tx, wanted.place.pool, wanted.size, wanted.total)
        return result
      })
    for (let tries = 1; ; tries++)
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof Unchanged) || !wanted) throw error
        const usage = await usageByPool(db)
        const { place, size, total } = wanted
        const isFull = missing(size, total, usage.get(place.pool)).length > 0
        // Else room has become free since.
        if (isFull || tries === 2) throw this.#full(usage, wanted)
      }
  }

  /** Why there is no room for a server at this moment, as `reserving` throws it; null where there is. */
  async lack(db: Queries, place: Place, size: Size): Promise<ApiError | null> {
    if (this.#isSilent(place.pool)) return silent()
    const total = this.#totalFor(place)
    const usage = await usageByPool(db)
    const isThere = missing(size, total, usage.get(place.pool)).length === 0
    return isThere ? null : this.#full(usage, { place, size, total })
  }

  /** What the pool can sell of a zone and CPU type. */
  #totalFor({ zone_slug, cpu_type, pool }: Place): Size {
    const zone = findZone(this.#catalog, zone_slug)
    return zone ? sellable(this.#known.hosts.get(pool), zone, cpu_type) : NOTHING
  }

  #isSilent(pool: string): boolean {
    return this.#known.hosts.get(pool) === null
  }

  get #known(): Facts {
    if (!this.#facts) throw new Error('what the host has must be known before room on it is taken')
    return this.#facts
  }

  #full(
    usage: ReadonlyMap<string, Size>,
    { place: { zone_slug, cpu_type, pool }, size, total }: { place: Place; size: Size; total: Size },
  ): ApiError {
    const used = usage.get(pool) ?? NOTHING
    const short = missing(size, total, used)
    this.#warn(pool, { short, wanted: size, total, used })
    const others = this.#rows(this.#known, usage)
    const alternatives = others
      .filter((row) => fits(row, size))
      .map((row) => ({ zone_slug: row.zone_slug, cpu_type: row.cpu_type }))
    const max_server = roomIn(others, zone_slug, cpu_type)?.max_server ?? NOTHING
    const detail = [
      `Not enough ${namesOf(short)} for this plan${alternatives.length > 0 ? ' here' : ''}.`,
      largest(max_server),
      whatToChoose({ hasSmaller: max_server.cpu > 0, hasOthers: alternatives.length > 0 }),
    ].join(' ')
    return new ApiError(catalogProblems.capacity_unavailable, detail, { max_server, alternatives })
  }

  /** What each pool can sell and what of it is taken: of several zones with one driver, by the most generous. */
  async pools(db: Queries): Promise<{ pool: string; total: Size; used: Size }[]> {
    const { hosts } = await this.#look()
    const usage = await usageByPool(db)
    return this.#drivers.pools.map((pool) => {
      const zones = this.#catalog.zones.filter((zone) => this.#drivers.poolOf(zone) === pool)
      const total = mostOf(zones.map((zone) => sellableIn(zone, hosts.get(pool))))
      return { pool, total, used: usage.get(pool) ?? NOTHING }
    })
  }

  /** Customers who try again must not fill the operator's log. */
  #warn(pool: string, figures: object): void {
    const now = this.#clock.now()
    if (now - (this.#warnedAt.get(pool) ?? Number.NEGATIVE_INFINITY) < WARN_EVERY_MS) return
    this.#warnedAt.set(pool, now)
    this.#log.warn({ pool, ...figures }, 'a pool has no capacity for an order')
  }

  async #look(): Promise<Facts> {
    const now = this.#clock.now()
    if (this.#facts && now - this.#facts.at < FACTS_ARE_FRESH_MS) return this.#facts
    const hosts = await Promise.all(
      this.#drivers.pools.map(async (pool) => {
        // A driver that is down is no reason to sell nothing elsewhere; /readyz reports it.
        const host = await this.#drivers
          .at(pool)
          .host()
          .catch(() => null)
        if (host) this.#able.set(pool, host.features)
        return [pool, host] as const
      }),
    )
    this.#facts = { hosts: new Map(hosts), at: now }
    return this.#facts
  }

  /** What is free, cut to what the catalogue's limits allow and to whole steps of them. */
  #largest(total: Size, used: Size): Size {
    const free = (part: keyof Size) => {
      const { max, step } = this.#catalog.limits[part]
      const left = Math.min(max, total[part] - used[part])
      return Math.max(0, left - (left % step))
    }
    return { cpu: free('cpu'), ram_mb: free('ram_mb'), disk_gb: free('disk_gb') }
  }
}

const PARTS = ['cpu', 'ram_mb', 'disk_gb'] as const
const NOTHING: Size = { cpu: 0, ram_mb: 0, disk_gb: 0 }

/** The parts that there is too little of. One that shrinks always may, also where the host has lost capacity. */
function missing(size: Size, total: Size, used = NOTHING): (keyof Size)[] {
  return PARTS.filter((part) => size[part] > 0 && size[part] > total[part] - used[part])
}

/** @throws Unchanged where there is no room, at the latest with the commit */
function take(tx: Queries, pool: string, size: Size, total: Size): Promise<void> {
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

/** What it has is not known, so nothing of it is sold. */
function silent(): ApiError {
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

/** The row of a zone and CPU type, where there is one. */
export function roomIn(
  rows: readonly ZoneCapacity[],
  zoneSlug: string,
  cpuType: CpuType,
): ZoneCapacity | undefined {
  return rows.find((row) => row.zone_slug === zoneSlug && row.cpu_type === cpuType)
}

/** Whether a server of this size could be made there now. */
export function fits(row: ZoneCapacity | undefined, size: Size): boolean {
  return row !== undefined && PARTS.every((part) => size[part] <= row.max_server[part])
}

/**
 * What an engine does for a zone: what it said that it can, or what is known of all of its kind if it never answered.
 * Ports are published where servers have no public addresses.
 */
function featuresOf(said: readonly Feature[] | undefined, zone: Zone | undefined): Feature[] {
  const able = said ?? (zone ? moduleOf(zone).features(zone) : [])
  const hasIpv4 = (zone?.public_ipv4 ?? []).length > 0 && able.includes('public_ipv4')
  return able.filter((feature) => {
    if (feature === 'published_ports') return !hasIpv4
    if (feature === 'public_ipv4') return hasIpv4
    return feature !== 'public_ipv6' || zone?.public_ipv6 !== undefined
  })
}

/** What a zone can sell in all, however much of it is taken. */
export function sellableIn(zone: Zone, host: HostFacts | null | undefined): Size {
  return mostOf(zone.cpu_types.map((cpuType) => sellable(host, zone, cpuType)))
}

/** The largest of each part. */
function mostOf(sizes: readonly Size[]): Size {
  const most = (part: keyof Size) => Math.max(0, ...sizes.map((size) => size[part]))
  return { cpu: most('cpu'), ram_mb: most('ram_mb'), disk_gb: most('disk_gb') }
}

function sellable(host: HostFacts | null | undefined, zone: Zone, cpuType: CpuType): Size {
  if (!host?.cpuTypes.includes(cpuType)) return NOTHING
  return {
    cpu: Math.floor(host.cores * zone.overcommit.cpu),
    ram_mb: Math.floor(host.ramMb * zone.overcommit.ram),
    disk_gb: Math.floor(host.diskGb * zone.overcommit.disk),
  }
}

/** What servers hold of each pool. */
export async function usageByPool(db: Queries): Promise<Map<string, Size>> {
  const rows = await db.selectFrom('pool_usage').selectAll().execute()
  return new Map(rows.map(({ pool, ...used }) => [pool, used]))
}

/** Gives back what was reserved, with the commit. */
export function releaseCapacity(tx: Queries, pool: string, { cpu, ram_mb, disk_gb }: Size): Promise<void> {
  const given = { cpu: -cpu, ram_mb: -ram_mb, disk_gb: -disk_gb }
  return changeLast(tx, addUsage(tx, pool, given), { isNeeded: false })
}

/** The pools that servers hold something of. */
export async function usedPools(db: Queries): Promise<string[]> {
  const rows = await db.selectFrom('pool_usage').select('pool').where('cpu', '>', 0).execute()
  return rows.map(({ pool }) => pool)
}

/** Another pool takes over all that is held of one, which is no more. */
export async function moveUsage(tx: Queries, from: string, to: string): Promise<void> {
  const held = (await usageByPool(tx)).get(from)
  if (!held) return
  await openPools(tx, [to])
  await addUsage(tx, to, held).execute()
  await tx.deleteFrom('pool_usage').where('pool', '=', from).execute()
}

/** Makes the rows that take updates. */
export async function openPools(db: Queries, pools: readonly string[]): Promise<void> {
  await db
    .insertInto('pool_usage')
    .values(pools.map((pool) => ({ pool, ...NOTHING })))
    .onConflict((conflict) => conflict.column('pool').doNothing())
    .execute()
}
