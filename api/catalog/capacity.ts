import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import { type Database, type Queries, Unchanged } from '../database/database.ts'
import type { CpuType, Feature, HostFacts } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { moduleOf } from '../drivers/modules/modules.ts'
import { ApiError } from '../http/contract/problem.ts'
import { messageOf } from '../message-of.ts'
import { type Catalog, findZone, onSale, type Zone } from './file.ts'
import {
  fits,
  full,
  missing,
  mostOf,
  roomIn,
  sellable,
  sellableIn,
  silent,
  type ZoneCapacity,
} from './room.ts'
import { catalogProblems } from './schema.ts'
import { NOTHING, PARTS, type Size, take, usageByPool } from './usage.ts'

/** Asking a driver takes a few system calls, and figures of this age are good enough for a price list. */
const FACTS_ARE_FRESH_MS = 2_000
const WARN_EVERY_MS = 60_000
/** Below this share of free capacity the level is called low. */
const LOW = 0.2

/** The facts of each pool's host; null if its driver does not answer. */
interface Facts {
  hosts: ReadonlyMap<string, HostFacts | null>
  at: number
}

/** The place of an existing or ordered server. */
interface Place {
  zone_slug: string
  cpu_type: CpuType
  pool: string
}

/**
 * The capacity that can still be sold: the host's cores, memory and disk times the overcommit, minus the
 * servers' reservations.
 */
export class Capacity {
  readonly #drivers: Drivers
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #log: Logger
  readonly #warnedAt = new Map<string, number>()
  #facts: Facts | null = null
  /** The features of each pool, as its driver last reported them. */
  readonly #able = new Map<string, readonly Feature[]>()

  constructor(drivers: Drivers, catalog: Catalog, clock: Clock, log: Logger) {
    this.#drivers = drivers
    this.#catalog = catalog
    this.#clock = clock
    this.#log = log
  }

  /** Lists the capacity of each zone and CPU type on sale, in the order of the catalogue. */
  async list(db: Queries): Promise<ZoneCapacity[]> {
    const facts = await this.#look()
    return this.#rows(facts, await usageByPool(db))
  }

  /** Asks the hosts for their facts, unless these are fresh. */
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

  /**
   * Returns the CPU types of a zone that its host supports; if the host does not answer, all in the
   * catalogue.
   */
  async cpuTypes(zone: Zone): Promise<CpuType[]> {
    return (await this.abilities(zone)).cpuTypes
  }

  /** The CPU types and features of a zone's servers. */
  async abilities(zone: Zone): Promise<{ cpuTypes: CpuType[]; features: readonly Feature[] }> {
    const pool = this.#drivers.poolOf(zone)
    const host = (await this.#look()).hosts.get(pool)
    return {
      cpuTypes: zone.cpu_types.filter((cpuType) => !host || host.cpuTypes.includes(cpuType)),
      features: featuresOf(this.#able.get(pool), zone),
    }
  }

  /** True if a place has a feature, according to its host's last report. */
  supports({ pool, zone_slug }: Omit<Place, 'cpu_type'>, feature: Feature): boolean {
    return featuresOf(this.#able.get(pool), findZone(this.#catalog, zone_slug)).includes(feature)
  }

  /** @throws ApiError not_supported */
  async require(place: Omit<Place, 'cpu_type'>, feature: Feature): Promise<void> {
    await this.#look()
    if (this.supports(place, feature)) return
    const { pool, zone_slug } = place
    const features = featuresOf(this.#able.get(pool), findZone(this.#catalog, zone_slug))
    const detail = `The zone ${zone_slug} does not support ${feature}, but only ${features.join(', ') || 'plain servers'}.`
    throw new ApiError(catalogProblems.not_supported, detail, { feature })
  }

  /** Returns the pool for a new server of a zone. */
  poolOf(zoneSlug: string): string {
    return this.#drivers.poolOf(this.#catalog.zones.find((zone) => zone.zone_slug === zoneSlug) ?? {})
  }

  /**
   * Runs a transaction that reserves room for a server, or for its growth. Call `refresh` first, outside of
   * the transaction: on SQLite all other writers would wait too for a slow host. All orders of a pool change
   * the same row, so the reservation itself is made at the end of the transaction.
   * @throws ApiError capacity_unavailable, with the largest server that fits here and the places where this
   * one fits; backend_unavailable if the host does not answer
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
        // If the pool is not full, room has become free in the meantime.
        if (isFull || tries === 2) throw this.#full(usage, wanted)
      }
  }

  /**
   * Returns the error that `reserving` would throw for a server of this size; null if there is room.
   * @param used what servers hold of the pool
   */
  async lack(db: Queries, place: Place, size: Size, used: Size): Promise<ApiError | null> {
    if (this.#isSilent(place.pool)) return silent()
    const total = this.#totalFor(place)
    const isThere = missing(size, total, used).length === 0
    return isThere ? null : this.#full(await usageByPool(db), { place, size, total })
  }

  /** The capacity of the pool for a zone and CPU type. */
  #totalFor({ zone_slug, cpu_type, pool }: Place): Size {
    const zone = findZone(this.#catalog, zone_slug)
    return zone ? sellable(this.#known.hosts.get(pool), zone, cpu_type) : NOTHING
  }

  #isSilent(pool: string): boolean {
    return this.#known.hosts.get(pool) === null
  }

  get #known(): Facts {
    if (!this.#facts) throw new Error('capacity.refresh() must be called before a reservation')
    return this.#facts
  }

  #full(
    usage: ReadonlyMap<string, Size>,
    { place: { zone_slug, cpu_type, pool }, size, total }: { place: Place; size: Size; total: Size },
  ): ApiError {
    const used = usage.get(pool) ?? NOTHING
    const short = missing(size, total, used)
    this.#warn(pool, { short, wanted: size, total, used }, 'a pool has no capacity for an order')
    const others = this.#rows(this.#known, usage)
    const alternatives = others
      .filter((row) => fits(row, size))
      .map((row) => ({ zone_slug: row.zone_slug, cpu_type: row.cpu_type }))
    const max_server = roomIn(others, zone_slug, cpu_type)?.max_server ?? NOTHING
    return full(short, max_server, alternatives)
  }

  /** The capacity of each pool and its usage. If several zones share a pool, the most generous one counts. */
  async pools(db: Queries): Promise<{ pool: string; total: Size; used: Size }[]> {
    const { hosts } = await this.#look()
    const usage = await usageByPool(db)
    return this.#drivers.pools.map((pool) => {
      const zones = this.#catalog.zones.filter((zone) => this.#drivers.poolOf(zone) === pool)
      const total = mostOf(zones.map((zone) => sellableIn(zone, hosts.get(pool))))
      return { pool, total, used: usage.get(pool) ?? NOTHING }
    })
  }

  /** Logs rarely: customers who try again must not fill the operator's log. */
  #warn(pool: string, figures: object, message: string): void {
    const now = this.#clock.now()
    if (now - (this.#warnedAt.get(pool) ?? Number.NEGATIVE_INFINITY) < WARN_EVERY_MS) return
    this.#warnedAt.set(pool, now)
    this.#log.warn({ pool, ...figures }, message)
  }

  async #look(): Promise<Facts> {
    const now = this.#clock.now()
    if (this.#facts && now - this.#facts.at < FACTS_ARE_FRESH_MS) return this.#facts
    const hosts = await Promise.all(
      this.#drivers.pools.map(async (pool) => {
        // If a driver is down, the others still sell; /readyz reports it.
        const host = await this.#drivers
          .at(pool)
          .host()
          .catch((error: unknown) => {
            this.#warn(pool, { reason: messageOf(error) }, 'a host does not answer; its capacity is unknown')
            return null
          })
        if (host) this.#able.set(pool, host.features)
        return [pool, host] as const
      }),
    )
    this.#facts = { hosts: new Map(hosts), at: now }
    return this.#facts
  }

  /** The free capacity, reduced to the limits of the catalogue and to whole steps. */
  #largest(total: Size, used: Size): Size {
    const free = (part: keyof Size) => {
      const { max, step } = this.#catalog.limits[part]
      const left = Math.min(max, total[part] - used[part])
      return Math.max(0, left - (left % step))
    }
    return { cpu: free('cpu'), ram_mb: free('ram_mb'), disk_gb: free('disk_gb') }
  }
}

/**
 * The features of a zone: those that its driver reported, or, before it has ever answered, those that its kind always
 * has. Ports are published only in zones without public IPv4 addresses.
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
