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
import { handOut, readShares } from './shares.ts'
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

  ring(topic: Topic, ids?: readonly string[]): void {
    this.#options.bells.ring(topic, ids)
  }

  on(topic: Topic, listener: Listener): void {
    this.#options.bells.on(topic, listener)
  }

  /** Sends a heartbeat, and takes over from processes that are silent. */
  async beat(): Promise<void> {
    const { db, role } = this.#options
    const beganAt = performance.now()
    // The heartbeat counts as a separate caller, so that no other work keeps it from a connection.
    const hasInherited = await asCaller('beat', () =>
      db.transaction().execute(async (tx) => {
        await this.#sign(tx)
        if (role === 'api') return false
        const isHeir = await this.#takeOver(tx)
        await handOut(tx, this.processId, this.#pools)
        return isHeir
      }),
    )
    if (hasInherited) this.ring('operations')
    const own = await asCaller('beat', () => dutiesOf.all(db, { owner: this.processId }))
    this.#held = new Set(own.map(({ name }) => name))
    this.#shares = await asCaller('beat', () => readShares(db))
    const answering = await asCaller('beat', () => answeringNow.first(db, {}))
    this.#answering = Math.max(1, answering?.total ?? 0)
    this.#beatAt = beganAt
  }

  async #sign(tx: Queries): Promise<void> {
    const { role, catalogFile: catalog_file = null } = this.#options
    const now = (await databaseNow.first(tx, {}))?.now ?? this.#options.clock.now()
    const takes_pools = this.#pools.length > 0 ? 1 : 0
    this.#compareClocks(now)
    const self = { process_id: this.processId, role, host: hostname(), pid: process.pid }
    await sign.change(tx, { ...self, now, takes_pools, catalog_file })
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
  async #takeOver(tx: Queries): Promise<boolean> {
    const dead = await deleteSilent.all(tx, {})
    for (const { process_id, ...silent } of dead) {
      this.#options.log.error(silent, 'a process does not respond; others take over its work')
      for (const heir of this.#heirs) await heir(tx, process_id)
    }
    await takeDuties.change(tx, { owner: this.processId })
    return dead.length > 0
  }
}

/** Reads the database's clock, in milliseconds. */
const NOW = sql<number>`CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)`

const databaseNow = prepared((db) => db.selectNoFrom(NOW.as('now')))

type Signed = Omit<RowOf<ProcessTable>, 'started_at' | 'seen_at'> & { now: number }

const sign = prepared((db, { now, ...self }: Signed) =>
  db
    .insertInto('processes')
    .values({ ...self, started_at: now, seen_at: now })
    .onConflict((conflict) =>
      conflict.column('process_id').doUpdateSet({ seen_at: now, takes_pools: self.takes_pools }),
    ),
)

const dutiesOf = prepared((db, { owner }: { owner: string }) =>
  db.selectFrom('duties').select('name').where('owner', '=', owner),
)

/** Counts the processes that answer requests. */
const answeringNow = prepared((db) =>
  db
    .selectFrom('processes')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('role', '<>', 'worker'),
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
