import { setImmediate as breathe } from 'node:timers/promises'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import { type Database, isSqlite } from '../database/database.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Measurement } from '../drivers/measurement.ts'
import { Loop } from '../loop.ts'
import type { Peers } from '../processes/peers.ts'
import { addPartitions, dropPartitions, tableBefore } from './partitions.ts'
import { nextReading, type Reading, type Usage, usageSince } from './reading.ts'
import * as store from './store.ts'
import type { MeterTable, SampleTable, TrafficTable } from './tables.ts'
import { LONGEST_SPAN, tiers } from './tiers.ts'
import { addTraffic, trafficSince } from './traffic.ts'

interface SamplerOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  log: Logger
  peers: Peers
  /** The servers whose machines may be on, and all existing servers. */
  servers: { powered: store.PoweredServers; present: store.PresentServers }
  /** The pause between two rounds in seconds. */
  everySeconds: number
}

/** The number of servers handled without a pause, during which requests wait. */
const BATCH = 500
/** The number of servers written in one transaction. On SQLite nobody else writes meanwhile. */
const WRITTEN = { sqlite: BATCH, postgres: 10_000 }
/** The number of servers that a round checks for old samples, and the most samples that a round deletes. */
const CLEANED_SERVERS = 50
const CLEANED_SAMPLES = 20_000
const DELETE_AT_ONCE = 2_000
/** A rate over a pause of more rounds than this says nothing about its slot. */
const LONGEST_ROUNDS = 3
/** Dropping a table waits for its readers, and later readers wait for the drop. */
const DROP_EVERY_MS = 600_000
/** The previous process may have died before it aggregated its samples; existing aggregates stay unchanged. */
const AGAIN_MS = 3_600_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MIB = 2 ** 20

type Metered = Awaited<ReturnType<typeof store.listMetered>>[number]

/**
 * Measures all machines in rounds and stores their usage. Rounds begin at multiples of the interval, and each
 * measures the slot that ends with it. A round that takes too long leaves slots empty.
 */
export class Sampler {
  readonly #options: SamplerOptions
  readonly #loop: Loop
  /** The time in ms up to which samples of each of this process's pools are aggregated. */
  #rolledUpTo: ReadonlyMap<string, number> = new Map()
  /** The last series that was checked for old samples. */
  #cleaned = 0
  #droppedAt = Number.NEGATIVE_INFINITY
  /** The days that have partitions. */
  #prepared = ''

  constructor(options: SamplerOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.round(),
      failure: 'the servers could not be measured; the next round tries again',
      pauseMs: () => this.#everyMs - (options.clock.now() % this.#everyMs),
      peers: options.peers,
      isOurs: () => options.peers.holds('sampler') || this.#pools.length > 0,
    })
  }

  start(): void {
    this.#loop.start({ isPauseFirst: true })
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Runs one measurement of the machines of this process's pools, and the aggregations due since the last one. */
  async round(): Promise<void> {
    const { clock, peers } = this.#options
    const now = clock.now()
    const pools = this.#pools
    if (pools.length > 0) await this.#roundOf(pools, now)
    if (peers.holds('sampler')) await this.#cleanUp(now)
  }

  /** The pools whose machines this process measures. */
  get #pools(): string[] {
    const { drivers, peers } = this.#options
    return drivers.pools.filter((pool) => peers.holdsPool(pool))
  }

  async #roundOf(pools: readonly string[], now: number): Promise<void> {
    const { db, servers: from } = this.#options
    const since = await this.#since(pools, now)
    await this.#prepare(Math.min(since, now), now)
    const servers = await store.listMetered(db, from.powered, pools)
    const measurements = await this.#measure(servers)
    const written = isSqlite(db) ? WRITTEN.sqlite : WRITTEN.postgres
    for (let at = 0; at < servers.length; at += written)
      await this.#keep(servers.slice(at, at + written), measurements, this.#slotOf(now))
    await this.#rollUp(pools, since, now)
    this.#rolledUpTo = new Map(pools.map((pool) => [pool, now]))
  }

  /**
   * Returns the time from which samples are aggregated again. For a pool of another process this is where
   * that process stopped.
   */
  async #since(pools: readonly string[], now: number): Promise<number> {
    const { db, servers } = this.#options
    const taken = pools.filter((pool) => !this.#rolledUpTo.has(pool))
    const before =
      taken.length > 0 ? ((await store.lastReadAt(db, servers.present, taken)) ?? now) - AGAIN_MS : now
    const times = pools.map((pool) => this.#rolledUpTo.get(pool) ?? before)
    // Samples that are too old for all tiers are not computed.
    return Math.max(Math.min(...times), now - LONGEST_SPAN * 1000)
  }

  /** Prepares partitions for the samples of this round, and for those derived from samples since a time. */
  async #prepare(since: number, now: number): Promise<void> {
    // A slot begins at most an hour before its round.
    const from = since - 2 * HOUR_MS
    const days = [from, now].map((at) => Math.floor(at / DAY_MS)).join()
    if (days === this.#prepared) return
    await addPartitions(this.#options.db, from / 1000, now / 1000)
    this.#prepared = days
  }

  /** Measures each pool separately, so that a driver that is down does not affect the samples of others. */
  async #measure(servers: readonly Metered[]): Promise<Map<string, Measurement>> {
    const { drivers, log } = this.#options
    const pools = [...Map.groupBy(servers, ({ pool }) => pool)]
    const measured = await Promise.all(
      pools.map(async ([pool, inPool]) => {
        const ids = inPool.map(({ server_id }) => server_id)
        return drivers
          .at(pool)
          .measure(ids)
          .catch((error: unknown) => {
            log.error(
              { err: error, pool },
              'the servers of a pool could not be measured; the next round tries again',
            )
            return new Map<string, Measurement>()
          })
      }),
    )
    return new Map(measured.flatMap((measurements) => [...measurements]))
  }

  get #everyMs(): number {
    return this.#options.everySeconds * 1000
  }

  /** Seconds: the beginning of the slot that ends now. Timers are some milliseconds early or late. */
  #slotOf(now: number): number {
    const { everySeconds } = this.#options
    return (Math.floor(now / this.#everyMs + 0.25) - 1) * everySeconds
  }

  async #keep(
    servers: readonly Metered[],
    measurements: Map<string, Measurement>,
    at: number,
  ): Promise<void> {
    // A machine that is off has no start.
    const isOn = ({ server_id }: Metered) => (measurements.get(server_id)?.startedAt ?? null) !== null
    const measured = servers.filter(isOn)
    if (measured.length === 0) return
    await this.#options.db.transaction().execute(async (tx) => {
      const added = await store.addMeters(
        tx,
        measured.filter(({ series }) => series === null),
      )
      const readAt = await store.lockMeters(
        tx,
        measured.filter(({ series }) => series !== null),
      )
      const rows: Rows = { meters: [], samples: [], traffic: [] }
      for (const [index, server] of measured.entries()) {
        if (index % BATCH === BATCH - 1) await breathe()
        const previous: Reading | null = JSON.parse(server.reading ?? 'null')
        const series = server.series ?? added.get(server.server_id)
        const isAsListed = server.series === null || readAt.get(server.server_id) === previous?.at
        // Another process of the pool has measured the server meanwhile: traffic must not count twice.
        if (series === undefined || !isAsListed) continue
        this.#note(rows, { ...server, series, previous }, measurements.get(server.server_id), at)
      }
      const { meters, samples, traffic } = rows
      if (meters.length === 0) return
      await store.saveMeters(tx, meters)
      await store.insertSamples(tx, samples)
      if (traffic.length > 0) await addTraffic(tx, traffic)
    })
  }

  /** Adds the rows for a server's measurement. */
  #note(
    { meters, samples, traffic }: Rows,
    { server_id, account_id, series, previous }: Metered & { series: number; previous: Reading | null },
    measured: Measurement | undefined,
    at: number,
  ): void {
    const next = measured ? nextReading(previous, measured) : null
    if (!measured || !next) return
    const usage = usageSince(previous, measured, LONGEST_ROUNDS * this.#everyMs)
    const { networkRxBytes, networkTxBytes } = next.totals
    const kept: Reading = { ...next, written: { networkRxBytes, networkTxBytes } }
    meters.push({ server_id, series, reading: JSON.stringify(kept), read_at: next.at })
    const flowed = trafficSince(previous, next)
    if (flowed) traffic.push({ server_id, account_id, ...flowed })
    samples.push(sampleOf({ series, at, resolution: tiers[0].resolution }, measured, usage))
  }

  /** Computes the coarser samples that are due. */
  async #rollUp(pools: readonly string[], since: number, now: number): Promise<void> {
    const { db, servers } = this.#options
    for (const [at, { resolution: to, madeEvery }] of tiers.entries()) {
      const finer = tiers[at - 1]
      const from = Math.floor(since / 1000 / madeEvery) * madeEvery
      const until = Math.floor(now / 1000 / madeEvery) * madeEvery
      if (!finer || until <= from) continue
      const series = await store.seriesReadSince(db, from * 1000, servers.present, pools)
      for (let first = 0; first < series.length; first += BATCH) {
        const batch = series.slice(first, first + BATCH)
        await store.rollUp(db, batch, { from: finer.resolution, to }, { from, until })
        await breathe()
      }
    }
  }

  /**
   * Drops partitions that are too old, and runs one step of an endless walk through all servers: deletes their expired
   * samples on SQLite, and all samples of deleted servers.
   */
  async #cleanUp(now: number): Promise<void> {
    const { db, servers } = this.#options
    if (Math.abs(now - this.#droppedAt) >= DROP_EVERY_MS) {
      await dropPartitions(db, Math.floor(now / 1000))
      this.#droppedAt = now
    }
    const meters = await store.nextMeters(db, servers.present, this.#cleaned, CLEANED_SERVERS)
    const here = meters.filter(({ isGone }) => !isGone).map(({ series }) => series)
    const gone = meters.filter(({ isGone }) => isGone).map(({ series }) => series)
    const due = tiers.flatMap(({ resolution, keptFor }) => [
      { series: isSqlite(db) ? here : [], resolution, before: Math.floor(now / 1000) - keptFor },
      { series: gone, resolution, before: Number.MAX_SAFE_INTEGER },
    ])
    if (!(await this.#deleteSamples(due.filter(({ series }) => series.length > 0)))) return
    if (gone.length > 0) await store.deleteMeters(db, gone)
    this.#cleaned = meters.length < CLEANED_SERVERS ? 0 : (meters.at(-1)?.series ?? 0)
  }

  /**
   * @returns false if more samples remain than a round deletes: the next round continues with the same
   * servers
   */
  async #deleteSamples(
    due: readonly { series: number[]; resolution: number; before: number }[],
  ): Promise<boolean> {
    const { db } = this.#options
    const before = due.length > 0 ? await tableBefore(db) : undefined
    let left = CLEANED_SAMPLES
    for (const table of ['samples', ...(before === undefined ? [] : [before])])
      for (const samples of due)
        for (let deleted = DELETE_AT_ONCE; deleted === DELETE_AT_ONCE; left -= deleted) {
          if (left <= 0) return false
          deleted = await store.deleteSamples(db, table, { ...samples, limit: DELETE_AT_ONCE })
          await breathe()
        }
    return true
  }
}

/** The rows that a round writes. */
interface Rows {
  meters: MeterTable[]
  samples: SampleTable[]
  traffic: TrafficTable[]
}

function sampleOf(
  slot: Pick<SampleTable, 'series' | 'at' | 'resolution'>,
  { memoryUsedBytes, diskUsedBytes }: Measurement,
  { cpu, diskRead, diskWrite, networkRx, networkTx }: Usage,
): SampleTable {
  return {
    ...slot,
    cpu: rounded(cpu, 100),
    memory_mb: rounded(memoryUsedBytes, 1 / MIB),
    disk_mb: rounded(diskUsedBytes, 1 / MIB),
    disk_read: rounded(diskRead),
    disk_write: rounded(diskWrite),
    network_rx: rounded(networkRx),
    network_tx: rounded(networkTx),
  }
}

function rounded(value: number | null, scale = 1): number | null {
  return value === null ? null : Math.round(value * scale)
}
