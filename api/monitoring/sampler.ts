import { setImmediate as breathe } from 'node:timers/promises'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import { type Database, isSqlite } from '../database/database.ts'
import type { Measurement } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
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
  servers: { powered: store.PoweredServers; present: store.ServerIds }
  /** The pause between two rounds in seconds. */
  everySeconds: number
}

/** The number of servers that are looked at without a pause, for which requests wait. */
const BATCH = 500
/** The number of servers written in one transaction. On SQLite nobody else writes meanwhile. */
const WRITTEN = { sqlite: BATCH, postgres: 10_000 }
/** The number of servers that a round checks for old samples, and the most samples that it deletes. */
const CLEANED_SERVERS = 50
const CLEANED_SAMPLES = 20_000
const DELETE_AT_ONCE = 2_000
/** A rate over a pause of more rounds than this says nothing about its slot. */
const LONGEST_ROUNDS = 3
/** Readers wait for a table that is dropped, and it for them. */
const DROP_EVERY_MS = 600_000
/** The previous process may have died before it aggregated its samples; existing aggregates stay unchanged. */
const AGAIN_MS = 3_600_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MIB = 2 ** 20

type Metered = Awaited<ReturnType<typeof store.listMetered>>[number]

/**
 * Measures all machines in rounds and stores their usage. Rounds follow each other on the multiples of the interval, so
 * that each stands for the slot that ends with it; one that takes too long costs slots, which stay empty.
 */
export class Sampler {
  readonly #options: SamplerOptions
  readonly #loop: Loop
  /** The time in ms up to which samples are aggregated; null: not known yet. */
  #rolledUpTo: number | null = null
  /** The last series that was checked for old samples. */
  #cleaned = 0
  #droppedAt = Number.NEGATIVE_INFINITY
  /** The days for which there are partitions. */
  #prepared = ''

  constructor(options: SamplerOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.round(),
      failure: 'the servers could not be measured; the next round tries again',
      pauseMs: () => this.#everyMs - (options.clock.now() % this.#everyMs),
      isOurs: () => options.peers.holds('sampler'),
    })
  }

  start(): void {
    this.#loop.start({ isPauseFirst: true })
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Runs one measurement of all machines, and the aggregations that are due since the last one. */
  async round(): Promise<void> {
    const { db, clock, servers: from } = this.#options
    const now = clock.now()
    // Samples that would be too old for each tier are not made.
    const since = Math.max(
      this.#rolledUpTo ?? ((await store.lastReadAt(db)) ?? now) - AGAIN_MS,
      now - LONGEST_SPAN * 1000,
    )
    await this.#prepare(Math.min(since, now), now)
    const servers = await store.listMetered(db, from.powered)
    const measurements = await this.#measure(servers)
    let unused = await store.highestSeries(db)
    const written = isSqlite(db) ? WRITTEN.sqlite : WRITTEN.postgres
    for (let at = 0; at < servers.length; at += written) {
      const batch = servers
        .slice(at, at + written)
        .map((server) => ({ ...server, series: server.series ?? ++unused }))
      await this.#keep(batch, measurements, this.#slotOf(now))
    }
    await this.#rollUp(since, now)
    this.#rolledUpTo = now
    await this.#cleanUp(now)
  }

  /** Makes room for the samples of this round, and of those that are derived from samples since a time. */
  async #prepare(since: number, now: number): Promise<void> {
    // Slots begin before the round that they stand for, by an hour at most.
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
    servers: readonly (Metered & { series: number })[],
    measurements: Map<string, Measurement>,
    at: number,
  ): Promise<void> {
    const rows: Rows = { meters: [], samples: [], traffic: [] }
    for (let first = 0; first < servers.length; first += BATCH) {
      for (const server of servers.slice(first, first + BATCH))
        this.#note(rows, server, measurements.get(server.server_id), at)
      await breathe()
    }
    const { meters, samples, traffic } = rows
    if (meters.length === 0) return
    await this.#options.db.transaction().execute(async (tx) => {
      await store.saveMeters(tx, meters)
      await store.insertSamples(tx, samples)
      if (traffic.length > 0) await addTraffic(tx, traffic)
    })
  }

  /** Adds the rows that come of a server's measurement. */
  #note(
    { meters, samples, traffic }: Rows,
    { server_id, account_id, series, reading }: Metered & { series: number },
    measured: Measurement | undefined,
    at: number,
  ): void {
    const previous: Reading | null = JSON.parse(reading ?? 'null')
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
  async #rollUp(since: number, now: number): Promise<void> {
    const { db } = this.#options
    for (const [at, { resolution: to, madeEvery }] of tiers.entries()) {
      const finer = tiers[at - 1]
      const from = Math.floor(since / 1000 / madeEvery) * madeEvery
      const until = Math.floor(now / 1000 / madeEvery) * madeEvery
      if (!finer || until <= from) continue
      const series = await store.seriesReadSince(db, from * 1000)
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

  /** @returns false if there are more than a round deletes: the next one continues with the same servers */
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
