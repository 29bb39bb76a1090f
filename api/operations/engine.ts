import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { isUnavailable, type Queries } from '../database/database.ts'
import { Loop } from '../loop.ts'
import type { Peers } from '../processes/peers.ts'
import { Ends, type EndsOptions } from './ends.ts'
import { failureOf } from './failure.ts'
import type { Outcome, Procedures, Runner, StepResult } from './procedure.ts'
import { again, fail, stepNames } from './procedure.ts'
import {
  claimDue,
  nextDueAt,
  readOperation,
  releaseLeasesOf,
  renewLeases,
  saveStep,
  takeOverLeases,
} from './store.ts'
import type { OperationTable } from './tables.ts'
import { Waits } from './waits.ts'

export interface EngineOptions extends Omit<EndsOptions, 'owner'> {
  log: Logger
  procedures: Procedures
  peers: Peers
  /** The default is SAVE_EVERY_MS; tests choose extremes. */
  saveEveryMs?: number | undefined
  /** Identifies this engine in its leases (default: a random id). */
  owner?: string | undefined
  /** The number of operations that run at the same time. */
  concurrency?: number
  /** Resolves once a step of this account may begin, so that no account delays others. */
  takeTurn?: ((accountId: string) => Promise<void>) | undefined
  /** Called for each operation that has ended. `code` is set if it failed. */
  onEnd?: ((end: OperationEnd) => void) | undefined
  /** Called before and after each step and once its result is saved, for tests. */
  observe?:
    | ((
        moment: 'before' | 'after' | 'saved',
        operation: OperationTable,
        step: string,
      ) => void | Promise<void>)
    | undefined
}

export interface OperationEnd {
  type: string
  outcome: Outcome['status'] | 'canceled'
  code: string | null
  seconds: number
}

const LEASE_MS = 30_000
const RENEW_EVERY_MS = 10_000
/** How often the engine looks for work that another process left behind. New work in this process wakes it at once. */
const LOOK_EVERY_MS = 5_000
/** With a backlog, one look fills the slots that become free in this time. */
const GATHER_MS = 50
/** The pause after a failed look for work. */
const LOOK_AGAIN_MS = 1_000
const MAX_ATTEMPTS = 6
/** The longest pause between two attempts of a step. */
const LONGEST_PAUSE_MS = 60_000
/**
 * A step that ends within this time of the last write is saved with a later one, as its commit costs most. After a
 * crash it runs again, which every step allows.
 */
const SAVE_EVERY_MS = 250
/** The pause before an operation continues whose result could not be written. */
const RETRY_MS = 1_000

/** Carries operations out. The row is the job: it holds the step, the lease, the attempt and the deadline. */
export class Engine {
  readonly #options: EngineOptions
  readonly #owner: string
  readonly #ends: Ends
  readonly #steps: readonly string[]
  readonly #inFlight = new Map<string, { account: string; abort: AbortController; done: Promise<void> }>()
  readonly #stopping = new AbortController()
  readonly #work: Loop
  readonly #renewal: Loop
  #isWorking = false
  /** Times at which operations that this process knows of become due. */
  readonly #dueTimes = new Set<number>([Number.NEGATIVE_INFINITY])
  #lookedAt = Number.NEGATIVE_INFINITY
  #leastPauseMs = LOOK_AGAIN_MS
  /** True if more operations may be due than could be taken: they wait until others end. */
  #hasMore = false
  /** Long polls of this process. */
  readonly waits: Waits

  constructor(options: EngineOptions) {
    const { clock, log, owner = randomUUID() } = options
    this.#options = options
    this.#owner = owner
    this.#ends = new Ends({ ...options, owner })
    this.#steps = stepNames(options.procedures)
    this.waits = new Waits({ db: options.db, clock, stopping: this.#stopping.signal })
    this.#work = new Loop({
      clock,
      log,
      turn: () => this.#look(),
      failure: 'the worker could not fetch operations; trying again',
      pauseMs: () => this.#pauseMs(),
      restMs: () => (this.#hasMore ? GATHER_MS : 0),
    })
    this.#renewal = new Loop({
      clock,
      log,
      turn: () => this.#renew(),
      failure: 'the leases of running operations could not be renewed',
      pauseMs: () => RENEW_EVERY_MS,
    })
    const { peers } = options
    peers.on('operations', () => this.#expect())
    peers.on('ended', (ids) => this.waits.announce(ids))
    peers.on('canceled', (ids) => {
      for (const id of ids) this.#inFlight.get(id)?.abort.abort()
      this.waits.announce(ids)
    })
  }

  /**
   * Starts working in the background.
   * @param isAlone no other process works on this database: what a dead one held is taken over at once
   */
  async start({ isAlone }: { isAlone: boolean }): Promise<void> {
    if (isAlone) await takeOverLeases(this.#options.db)
    this.#isWorking = true
    this.#work.start()
    this.#renewal.start({ isPauseFirst: true })
  }

  /** Releases the operations of a process that died. */
  readonly inherit = (tx: Queries, owner: string): Promise<void> => releaseLeasesOf(tx, owner)

  /** Aborts the running steps, waits for them, and starts no more. Unfinished operations continue at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#isWorking = false
    const stopped = Promise.all([this.#work.stop(), this.#renewal.stop()])
    for (const { abort } of this.#inFlight.values()) abort.abort()
    await stopped
    await this.settled()
  }

  /**
   * Call this after the commit of a new operation. The other processes are notified only if this one is full: most
   * would find the operation already taken.
   * @param at the time at which the operation is due (default: now)
   */
  wake(at?: number): void {
    if (this.#isWorking && this.#room > 0) this.#expect(at)
    else this.#options.peers.ring('operations')
  }

  /** Call this after the commit that canceled an operation: it aborts the running step. */
  canceled(operation: Pick<OperationTable, 'operation_id' | 'type' | 'created_at'>): void {
    const { operation_id, type, created_at } = operation
    this.#options.peers.ring('canceled', [operation_id])
    this.wake()
    const seconds = (this.#options.clock.now() - created_at) / 1000
    this.#options.onEnd?.({ type, outcome: 'canceled', code: null, seconds })
  }

  /**
   * Takes due operations and starts them.
   * @returns how many operations were taken
   */
  async tick(): Promise<number> {
    const { db, clock, peers, concurrency = 64 } = this.#options
    const limit = this.#room
    if (limit <= 0) return 0
    // No account gets more than half, so that there is always room for another.
    const share = Math.ceil(concurrency / 2)
    const now = clock.now()
    const by = { owner: this.#owner, leaseMs: LEASE_MS, now, steps: this.#steps }
    const rows = await claimDue(db, { ...by, limit, share })
    for (const row of rows) this.#begin(row)
    const isFull = rows.length === limit
    // Other processes may take the rest; a process that is full ignores the message.
    if (isFull && !this.#hasMore) peers.ring('operations')
    const held = [...Map.groupBy(this.#inFlight.values(), ({ account }) => account).values()]
    this.#hasMore = isFull || held.some((own) => own.length >= share)
    return rows.length
  }

  /** The number of operations that can be taken. */
  get #room(): number {
    return (this.#options.concurrency ?? 64) - this.#inFlight.size
  }

  /** Resolves when nothing is being carried out at this moment. */
  async settled(): Promise<void> {
    while (this.#inFlight.size > 0)
      await Promise.all([...this.#inFlight.values()].map((running) => running.done))
  }

  /** Returns the time at which the next operation is due, or null. */
  nextDueAt(): Promise<number | null> {
    const { db, clock } = this.#options
    return nextDueAt(db, { now: clock.now(), steps: this.#steps })
  }

  /** Takes due operations. It queries nothing if none can be due, such as after the mere end of one. */
  async #look(): Promise<void> {
    const now = this.#options.clock.now()
    if (this.#room <= 0 || this.#nextLookAt() > now) return
    this.#leastPauseMs = LOOK_AGAIN_MS
    const passed = [...this.#dueTimes].filter((at) => at <= now)
    const isTaken = (await this.tick()) > 0
    for (const at of passed) this.#dueTimes.delete(at)
    this.#lookedAt = now
    if (!isTaken && !this.#hasMore) this.#dueTimes.add((await this.nextDueAt()) ?? Number.POSITIVE_INFINITY)
    this.#leastPauseMs = 20
  }

  #nextLookAt(): number {
    return Math.min(this.#lookedAt + LOOK_EVERY_MS, ...this.#dueTimes)
  }

  #pauseMs(): number {
    if (this.#room <= 0) return LOOK_EVERY_MS
    return Math.max(this.#leastPauseMs, this.#nextLookAt() - this.#options.clock.now())
  }

  /** Schedules a look for operations (default: at once). */
  #expect(at = Number.NEGATIVE_INFINITY): void {
    this.#dueTimes.add(at)
    this.#work.wake()
  }

  async #renew(): Promise<void> {
    if (this.#inFlight.size === 0) return
    const { db, clock } = this.#options
    const ids = [...this.#inFlight.keys()]
    const kept = await renewLeases(db, { owner: this.#owner, ids, until: clock.now() + LEASE_MS })
    // An operation that another process canceled is no longer ours.
    for (const [id, { abort }] of this.#inFlight) if (!kept.has(id)) abort.abort()
  }

  #begin(operation: OperationTable): void {
    const { operation_id, account_id } = operation
    const abort = new AbortController()
    const earlier = this.#inFlight.get(operation_id)?.done
    const running = this.#after(earlier, operation)
      .then((ours) => ours && this.#carryOut(ours, abort.signal))
      .finally(() => {
        if (this.#inFlight.get(operation_id)?.done === running) this.#inFlight.delete(operation_id)
        if (this.#hasMore) this.#expect()
      })
    this.#inFlight.set(operation_id, { account: account_id, abort, done: running })
  }

  /**
   * Waits for an earlier run of the operation in this process, which lost its lease because it was renewed too late.
   * That run may have taken further steps, or ended the operation.
   * @returns the operation as it is then; undefined if it is no longer ours
   */
  async #after(
    earlier: Promise<void> | undefined,
    operation: OperationTable,
  ): Promise<OperationTable | undefined> {
    if (!earlier) return operation
    const { db, log } = this.#options
    const { operation_id } = operation
    await earlier
    try {
      const row = await readOperation(db, operation_id)
      return row?.status === 'running' && row.lease_owner === this.#owner ? row : undefined
    } catch (error) {
      log.error({ err: error, operation_id }, 'an operation could not be read; trying again')
      return undefined
    }
  }

  /** Runs steps, one after the other, until the operation ends, pauses, or is no longer ours. */
  async #carryOut(operation: OperationTable, signal: AbortSignal): Promise<void> {
    const { clock, log, observe, takeTurn, saveEveryMs = SAVE_EVERY_MS } = this.#options
    // The claim has just saved it.
    let savedAt = clock.now()
    try {
      for (;;) {
        const { step } = operation
        await takeTurn?.(operation.account_id)
        await observe?.('before', operation, step)
        const result = await this.#runStep(operation, signal)
        await observe?.('after', operation, step)
        const isQuick = result.kind === 'next' && clock.now() - savedAt < saveEveryMs && !signal.aborted
        const isOurs = isQuick ? advance(operation, result) : await this.#record(operation, result)
        if (!isQuick) savedAt = clock.now()
        await observe?.('saved', operation, step)
        // The write of its end or pause gave up the lease, which a later run may hold by now.
        if (isOurs && result.kind !== 'next') return
        if (!isOurs || this.#stopping.signal.aborted) return await this.#giveBack(operation)
      }
    } catch (error) {
      log.error(
        { err: error, operation_id: operation.operation_id },
        'the state of an operation could not be saved; trying again',
      )
      await this.#giveBack(operation, { next_run_at: clock.now() + RETRY_MS })
    }
  }

  /**
   * Releases the lease if this process still holds it; that of a canceled operation delays the subject's next one
   * until here. It retries while the database is unavailable, as the operation would otherwise wait until the lease
   * runs out.
   */
  async #giveBack(operation: OperationTable, change: { next_run_at?: number } = {}): Promise<void> {
    const { db, clock } = this.#options
    const { signal } = this.#stopping
    const back = { ...change, lease_owner: null, lease_until: 0 }
    for (;;)
      try {
        await saveStep(db, operation, back, { owner: this.#owner })
        return this.#expect(change.next_run_at)
      } catch (error) {
        if (!isUnavailable(error) || signal.aborted) return
        await clock.sleep(RETRY_MS, signal)
      }
  }

  async #runStep(operation: OperationTable, signal: AbortSignal): Promise<StepResult<string>> {
    const { clock, log } = this.#options
    const runner = runnerOf(this.#options.procedures, operation)
    const mayFail = runner?.endsDone !== true
    if (mayFail && clock.now() >= operation.deadline_at)
      return fail(
        'operation_timeout',
        `The operation did not finish in time; it was at the step "${operation.step}".`,
      )
    try {
      if (!runner) throw new Error(`there is no procedure for ${operation.subject_type}.${operation.type}`)
      const result = await runner.run(operation, signal)
      if (result.kind === 'fail' && !mayFail) throw new Error(`${result.code}: ${result.message}`)
      if (result.kind !== 'again') operation.attempt = 0
      return result
    } catch (error) {
      if (signal.aborted) return again(0)
      operation.attempt += 1
      const { operation_id, step, attempt } = operation
      const what = { err: error, operation_id, step, attempt }
      if (attempt >= MAX_ATTEMPTS && mayFail) {
        log.error(what, 'a step failed for the last time: its operation fails')
        return failureOf(error)
      }
      log.warn(what, 'a step failed')
      return again(Math.min(1_000 * 2 ** (attempt - 1), LONGEST_PAUSE_MS))
    }
  }

  /** @returns true if this process still holds the operation */
  async #record(operation: OperationTable, result: StepResult<string>): Promise<boolean> {
    const { db, clock } = this.#options
    const now = clock.now()
    const by = { owner: this.#owner, now }
    if (result.kind === 'done') operation.data = result.data
    if (result.kind === 'done' || result.kind === 'fail') {
      const outcome: Outcome =
        result.kind === 'done'
          ? { status: 'succeeded' }
          : { status: 'failed', code: result.code, message: result.message }
      // Without its procedure, which only another version has, the operation fails without consequences.
      const runner = runnerOf(this.#options.procedures, operation)
      const write = await runner?.conclude(operation, outcome)
      const { onEnd } = this.#options
      const isShared = outcome.status === 'succeeded' && runner?.sharesEnds === true
      if (!(await this.#ends.settle({ operation, outcome, write }, { isShared }))) return false
      this.#options.peers.ring('ended', [operation.operation_id])
      const seconds = (now - operation.created_at) / 1000
      const code = result.kind === 'fail' ? result.code : null
      onEnd?.({ type: operation.type, outcome: outcome.status, code, seconds })
      return true
    }
    if (result.kind === 'again') {
      operation.progress = result.progress ?? operation.progress
      const pause = { next_run_at: now + result.afterMs, lease_owner: null, lease_until: 0 }
      const isOurs = await saveStep(db, operation, pause, by)
      this.#expect(pause.next_run_at)
      return isOurs
    }
    advance(operation, result)
    return saveStep(db, operation, { lease_until: now + LEASE_MS }, by)
  }
}

/** @returns true: the operation is still this process's */
function advance(operation: OperationTable, next: Extract<StepResult<string>, { kind: 'next' }>): true {
  operation.step = next.step
  operation.progress = next.progress
  operation.data = next.data
  return true
}

function runnerOf(procedures: Procedures, { subject_type, type }: OperationTable): Runner | undefined {
  return procedures[subject_type]?.[type]
}
