import type { Socket } from 'node:net'
import type { Database } from '../../api/database/database.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import type { Faults } from './faults.ts'
import type { Opened } from './postgres.ts'
import { Actor, type Scheduler } from './scheduler.ts'
import { breathe, dial, wait } from './seams.ts'
import { type Network, Wire } from './wire.ts'

/** The service's own limits, in simulated time. */
const LOCK_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 30_000
/** The time after which PostgreSQL checks for deadlocks. */
const DEADLOCK_MS = 1_000
/** PostgreSQL's lock_not_available and deadlock_detected. */
const [TOO_LONG, DEADLOCK] = ['55P03', '40P01']
/** The real time after which a session that has not answered may be waiting for a lock. */
const LOOK_AFTER_MS = 2

/** The parts of an installation that sessions need. */
interface Surroundings {
  readonly scheduler: Scheduler
  readonly faults: Faults
  databaseAwayUntil: number
  readonly onWrite: (tables: Iterable<string>) => void
}

/**
 * The sessions of a real PostgreSQL in the simulated world. The server works for one session at a time: a session that
 * waits for a lock is stopped, and continues when the scheduler draws it. So the order of its work is deterministic.
 */
export class Sessions implements Network {
  readonly scheduler: Scheduler
  readonly faults: Faults
  readonly #installation: Surroundings
  readonly #opened: Opened
  readonly #self = new Actor('database')
  readonly #actors = new Map<string, Actor>()
  readonly #wires = new Set<Wire>()
  /** The session that the server works for, and the end of that work. */
  #flying: Wire | null = null
  #landed = Promise.withResolvers<void>()
  /** Sessions that wait for a lock; true once they have acquired it. */
  readonly #waiting = new Map<Wire, { isGranted: boolean }>()
  /** Sessions with abandoned connections, and sessions that the server ends. */
  readonly #left = new Set<Wire>()
  readonly #ended = new Set<Wire>()
  /** Sessions whose idle time in a transaction is limited. */
  readonly #watched = new Set<Wire>()
  /** True if the server has worked since the last step ended. */
  #hasMoved = false
  #hasWritten = false
  /** Counts a situation that a history has reached. */
  readonly #count: (point: string) => void

  constructor(installation: Surroundings, opened: Opened, count: (point: string) => void) {
    const { scheduler, faults } = installation
    this.#installation = installation
    this.scheduler = scheduler
    this.faults = faults
    this.#opened = opened
    this.#count = count
    scheduler.socket = () => new Wire(this)
    scheduler.settle = this.settle
  }

  /** Opens the database for one process. @returns it, and `cut`, which closes it as the end of the process does */
  open(actor: Actor, onCommit: () => void): { db: Database; cut: () => void; isWriting: () => boolean } {
    this.#actors.set(actor.name, actor)
    const url = new URL(this.#opened.url)
    url.hostname = actor.name
    const db = openPostgres(url.href, { onCommit })
    const cut = () => {
      for (const wire of this.#wires) if (wire.name === actor.name) wire.cut()
    }
    // A process that pauses for too long within a transaction loses it.
    return { db, cut, isWriting: () => false }
  }

  fail(): void {
    this.#count('the database fails over')
    this.#installation.databaseAwayUntil = this.scheduler.elapsed() + this.faults.delayMs(5, 20_000)
    for (const wire of this.#wires) this.#end(wire)
  }

  /** Ends all sessions that still wait. */
  async close(): Promise<void> {
    for (const wire of this.#wires) {
      wire.cut()
      signal(wire, 'SIGTERM')
      signal(wire, 'SIGCONT')
    }
    await this.#opened.close()
  }

  // ---- events of connections ----

  actorOf(host: string): Actor {
    const actor = this.#actors.get(host)
    if (!actor) throw new Error(`there is no process ${host}`)
    return actor
  }

  dial(): Socket {
    return dial(Number(this.#opened.url.port), this.#opened.url.hostname)
  }

  departs(wire: Wire): void {
    if (this.#flying) throw new Error('the server works for one session at a time')
    this.#wires.add(wire)
    this.#flying = wire
    this.#hasMoved = true
    this.#landed = Promise.withResolvers()
    this.#opened.setClock(this.scheduler.now())
  }

  lands(wire: Wire): void {
    if (this.#flying !== wire) return
    this.#flying = null
    this.#landed.resolve()
    this.#hasWritten ||= wire.hasWritten
    if (wire.isWithin) this.#limit(wire)
  }

  leaves(wire: Wire): void {
    if (!this.#waiting.has(wire)) this.#left.add(wire)
    // The server notices only after the session has acquired the lock and executed the statement.
    else this.#count('a dead process leaves a statement that waits')
  }

  isAway(): boolean {
    return this.scheduler.elapsed() < this.#installation.databaseAwayUntil
  }

  /** Ends a session that idles within a transaction for too long; the check repeats only after the full time. */
  #limit(wire: Wire): void {
    if (this.#watched.has(wire)) return
    this.#watched.add(wire)
    const { turn } = wire
    void this.scheduler.cross(this.#self, 'idle in transaction', IDLE_IN_TRANSACTION_MS).then(() => {
      this.#watched.delete(wire)
      if (!wire.isWithin || wire.isLeft || this.#waiting.has(wire)) return
      if (wire.turn !== turn) return this.#limit(wire)
      this.#count('a session is ended within its transaction')
      this.#end(wire)
    })
  }

  #end(wire: Wire): void {
    if (wire.isLeft || wire.pid === 0 || wire.isEnding) return
    wire.isEnding = true
    this.#ended.add(wire)
    this.#waiting.delete(wire)
    signal(wire, 'SIGTERM')
    signal(wire, 'SIGCONT')
  }

  // ---- the end of a step ----

  /** Resolves when the server can do nothing until the next step. */
  readonly settle = async (): Promise<void> => {
    await breathe()
    if (!this.#hasMoved && this.#left.size === 0 && this.#ended.size === 0) return
    this.#hasMoved = false
    await this.#land()
    for (const wire of this.#ended) {
      await wire.farewell
      this.#gone(wire)
      wire.notice()
    }
    this.#ended.clear()
    for (const wire of this.#left) {
      while (await this.#isThere(wire)) await wait(1)
      this.#gone(wire)
    }
    this.#left.clear()
    await this.#grant()
    if (this.#hasWritten) this.#installation.onWrite(await this.#opened.mirror.follow())
    this.#hasWritten = false
    await breathe()
  }

  async #land(): Promise<void> {
    for (let wire = this.#flying; wire; wire = this.#flying) {
      await Promise.race([this.#landed.promise, wait(LOOK_AFTER_MS)])
      // A canceled session may not have noticed yet.
      const mayWait = this.#flying !== null && wire.pid !== 0 && wire.cause === ''
      if (mayWait && (await this.#waits(wire)).length > 0) await this.#hold(wire)
      if (!wire.isLeft || (await this.#isThere(wire))) continue
      this.lands(wire)
      this.#gone(wire)
    }
  }

  /** Stops a session that waits for a lock. */
  async #hold(wire: Wire): Promise<void> {
    signal(wire, 'SIGSTOP')
    const hold = { isGranted: false }
    this.#waiting.set(wire, hold)
    this.#flying = null
    this.#count('a statement waits for a lock')
    const isCaught = await this.#isCaught(wire)
    const ms = isCaught ? DEADLOCK_MS : LOCK_MS
    void this.scheduler.cross(this.#self, isCaught ? 'deadlock' : 'lock timeout', ms).then(() => {
      if (this.#waiting.get(wire) !== hold || hold.isGranted) return
      this.#count(isCaught ? 'transactions wait for each other' : 'a lock is waited for too long')
      wire.cause = isCaught ? DEADLOCK : TOO_LONG
      signal(wire, 'SIGINT')
      this.#continue(wire)
    })
  }

  #continue(wire: Wire): void {
    this.#waiting.delete(wire)
    this.departs(wire)
    signal(wire, 'SIGCONT')
  }

  /** Lets sessions that have acquired their locks continue, in any order. */
  async #grant(): Promise<void> {
    if (this.#waiting.size === 0) return
    const still = new Set(await this.#waits(...this.#waiting.keys()))
    for (const [wire, hold] of this.#waiting) {
      if (hold.isGranted || still.has(wire.pid)) continue
      hold.isGranted = true
      void this.scheduler.cross(this.#self, `lock of ${wire.name}`).then(() => {
        if (this.#waiting.get(wire) === hold) this.#continue(wire)
      })
    }
  }

  #gone(wire: Wire): void {
    this.#wires.delete(wire)
    this.#hasWritten = true
  }

  // ---- queries about the server ----

  /** Returns the ids of those of these sessions that wait for a lock. */
  async #waits(...wires: Wire[]): Promise<number[]> {
    const { rows } = await this.#opened.monitor.query<{ pid: number }>(
      'SELECT pid FROM pg_locks WHERE NOT granted AND pid = ANY($1)',
      [wires.map(({ pid }) => pid)],
    )
    return rows.map(({ pid }) => pid)
  }

  async #isThere({ pid }: Wire): Promise<boolean> {
    const { rowCount } = await this.#opened.monitor.query('SELECT FROM pg_stat_activity WHERE pid = $1', [
      pid,
    ])
    return rowCount !== 0
  }

  /** True if a session is part of a deadlock. */
  async #isCaught({ pid }: Wire): Promise<boolean> {
    const { rows } = await this.#opened.monitor.query<{ isCaught: boolean }>(
      `WITH RECURSIVE ahead AS (SELECT unnest(pg_blocking_pids($1)) AS pid
        UNION SELECT unnest(pg_blocking_pids(ahead.pid)) FROM ahead)
      SELECT $1 IN (SELECT pid FROM ahead) AS "isCaught"`,
      [pid],
    )
    return rows[0]?.isCaught ?? false
  }
}

function signal({ pid }: Wire, name: NodeJS.Signals): void {
  try {
    if (pid !== 0) process.kill(pid, name)
  } catch (error) {
    // The session has ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
