import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { sql } from 'kysely'
import { type Clock, systemClock } from '../clock.ts'
import type { Database, Lent, Queries } from '../database/database.ts'
import { asCaller } from '../database/line.ts'
import { prepared, type RowOf } from '../database/prepared.ts'
import { Loop } from '../loop.ts'
import { type Duty, duties, type Listener, type Living, type Peers, type Role, type Topic } from './peers.ts'
import { changedShares, type Group, readGroup, saveShares, sharesInForce } from './shares.ts'
import type { ProcessTable } from './tables.ts'

const BEAT_EVERY_MS = 2_000
/** The time without heartbeats after which a process counts as dead, and others take over its work. */
const SILENT_MS = 8_000
/** A machine whose clock is further from the database's has logs with wrong times. */
const SKEW_MS = 3_000

interface MembersOptions {
  db: Database
  clock: Clock
  log: Logger
  role: Role
  /** The path of the catalogue's file (default: not shared with the other processes). */
  catalogFile?: string
  /** Delivers messages between processes. */
  bells: Pick<Peers, 'ring' | 'on'>
}

/** Releases everything that a dead process had taken, in the transaction that declares it dead. */
type Heir = (tx: Queries, owner: string) => Promise<void>

/**
 * One of the processes that serve the same database. Each reports every two seconds that it is alive. Work that one
 * process does for all belongs to the owner in the table of duties, and is free once the owner is silent.
 */
export class Members implements Peers {
  /** The id under which this process takes work. */
  readonly processId = randomUUID()
  readonly #options: MembersOptions
  readonly #loop: Loop
  readonly #heirs: Heir[] = []
  #held = new Set<string>()
  #pools: readonly string[] = []
  #shares: ReadonlyMap<string, string> = new Map()
  /** The start of the last heartbeat that reached the database, by a monotonic clock. */
  #beatAt = Number.NEGATIVE_INFINITY
  #answering = 1
  readonly #shifted: (() => void)[] = []
  #isOff = false

  constructor(options: MembersOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.beat(),
      failure: 'this process could not be registered with the others; trying again',
      pauseMs: () => BEAT_EVERY_MS,
    })
  }

  /** @param heir is called for each process that is found dead */
  inherit(heir: Heir): void {
    this.#heirs.push(heir)
  }

  /** @param pools the pools whose machines this process, like any other, can look after */
  share(pools: readonly string[]): void {
    this.#pools = pools
  }

  /** Resolves when the other processes know this one, and this one knows its duties. */
  async start(): Promise<void> {
    await this.beat()
    this.#loop.start({ isPauseFirst: true })
  }

  /** Leaves its duties to other processes. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    this.#held.clear()
    this.#shares = new Map()
    const { db } = this.#options
    await db
      .deleteFrom('processes')
      .where('process_id', '=', this.processId)
      .execute()
      .catch(() => {})
  }

  get answering(): number {
    return this.#answering
  }

  readonly living: Lent<Living> = (db) =>
    db.selectFrom('processes').select(['process_id', 'host', 'catalog_file'])

  holds(duty: Duty): boolean {
    // After this time without heartbeats, the others may have declared this process dead.
    return this.#held.has(duty) && performance.now() - this.#beatAt < SILENT_MS
  }

  holdsPool(pool: string): boolean {
    const owner = this.#shares.get(pool)
    if (owner === undefined) return this.holds('reconciler')
    return owner === this.processId && performance.now() - this.#beatAt < SILENT_MS
  }

  onShift(listener: () => void): void {
    this.#shifted.push(listener)
  }

  ring(topic: Topic, ids?: readonly string[]): void {
    this.#options.bells.ring(topic, ids)
  }

  on(topic: Topic, listener: Listener): void {
    this.#options.bells.on(topic, listener)
  }

  /** Sends a heartbeat, and takes over from processes that are silent. */
  beat(): Promise<void> {
    // The heartbeat counts as a separate caller, so that no other work keeps it from a connection.
    return asCaller('beat', () => this.#beat())
  }

  async #beat(): Promise<void> {
    const { db, role } = this.#options
    const beganAt = performance.now()
    const now = await this.#sign(db)
    let group = await readGroup(db)
    if (role !== 'api') {
      if (isLacking(group, now)) {
        await this.#takeOver()
        group = await readGroup(db)
      }
      const changed = changedShares(group, this.processId, this.#pools)
      if (changed.length > 0) {
        await saveShares(db, changed)
        group = await readGroup(db)
      }
    }
    this.#answering = Math.max(1, group.processes.filter((process) => process.role !== 'worker').length)
    const before = this.#work()
    const own = group.duties.filter(({ owner }) => owner === this.processId)
    this.#held = new Set(own.map(({ name }) => name))
    this.#shares = sharesInForce(group)
    this.#beatAt = beganAt
    if (this.#work() !== before) for (const tell of this.#shifted) tell()
  }

  /** All that this process does for the others at this moment, as one text. */
  #work(): string {
    const held = duties.filter((duty) => this.holds(duty))
    return [...held, ...this.#pools.filter((pool) => this.holdsPool(pool))].join(' ')
  }

  /** @returns the time of the database's clock */
  async #sign(db: Queries): Promise<number> {
    const { role, catalogFile: catalog_file = null, clock } = this.#options
    const takes_pools = this.#pools.length > 0 ? 1 : 0
    const self = { process_id: this.processId, role, host: hostname(), pid: process.pid }
    const now = (await sign.first(db, { ...self, takes_pools, catalog_file }))?.now ?? clock.now()
    this.#compareClocks(now)
    return now
  }

  /** The service uses the database's clock, but its logs use this machine's. */
  #compareClocks(now: number): void {
    const skew_ms = now - systemClock.now()
    const isOff = Math.abs(skew_ms) > SKEW_MS
    if (isOff && !this.#isOff)
      this.#options.log.error(
        { skew_ms },
        'the clocks of this machine and of the database differ: synchronize both with NTP',
      )
    this.#isOff = isOff
  }

  /** This uses only the database's clock, since that of a machine may be wrong. */
  async #takeOver(): Promise<void> {
    const { db, log } = this.#options
    const dead = await db.transaction().execute(async (tx) => {
      // Nobody may take over from this process meanwhile.
      await this.#sign(tx)
      const silent = await deleteSilent.all(tx, {})
      for (const { process_id, ...known } of silent) {
        log.error(known, 'a process does not respond; others take over its work')
        for (const heir of this.#heirs) await heir(tx, process_id)
      }
      await takeDuties.change(tx, { owner: this.processId })
      return silent
    })
    if (dead.length > 0) this.ring('operations')
  }
}

/** True if a process is silent, or a duty has no living owner. */
function isLacking({ processes, duties: all }: Group, now: number): boolean {
  const living = new Set(processes.map(({ process_id }) => process_id))
  return (
    processes.some(({ seen_at }) => seen_at < now - SILENT_MS) ||
    all.some(({ name, owner }) => known.has(name) && (owner === null || !living.has(owner)))
  )
}

/** The duties that this version knows. */
const known: ReadonlySet<string> = new Set(duties)

/** The database's clock, in milliseconds. */
const NOW = sql<number>`CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)`

/** Adds the process, or reports that it is alive. @returns the database's time */
const sign = prepared((db, self: Omit<RowOf<ProcessTable>, 'started_at' | 'seen_at'>) =>
  db
    .insertInto('processes')
    .values({ ...self, started_at: NOW, seen_at: NOW })
    .onConflict((conflict) =>
      conflict.column('process_id').doUpdateSet({ seen_at: NOW, takes_pools: self.takes_pools }),
    )
    .returning('seen_at as now'),
)

/**
 * Skips locked rows: after an outage of the database, all processes look silent and sign in at once. A process whose
 * row is locked is alive, and waiting for it could end in a deadlock.
 */
const deleteSilent = prepared((db) =>
  db
    .deleteFrom('processes')
    .where('process_id', 'in', (eb) =>
      eb
        .selectFrom('processes')
        .select('process_id')
        .where('seen_at', '<', sql<number>`${NOW} - ${SILENT_MS}`)
        .forUpdate()
        .skipLocked(),
    )
    .returning(['process_id', 'role', 'host', 'pid']),
)

/** Takes the duties of the dead. Those that only a newer version knows are left to its processes. */
const takeDuties = prepared((db, { owner }: { owner: string }) =>
  db
    .updateTable('duties')
    .set({ owner })
    .where('name', 'in', duties)
    .where((eb) =>
      eb.or([
        eb('owner', 'is', null),
        eb('owner', 'not in', eb.selectFrom('processes').select('process_id')),
      ]),
    ),
)
