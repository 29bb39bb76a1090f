import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { OperationTable } from '../database/schema.ts'
import { DriverError } from '../drivers/driver.ts'
import { type Data, isStillActive, type Operation, type OperationType, type Outcome } from './operations.ts'
import { claimDue, nextDueAt, renewLeases, saveStep, settle, takeOverLeases } from './store.ts'

/**
 * What a step says at its end. A step is short and safe to run twice: whatever dies, at whatever moment, it may
 * run again from its beginning, also after a later step of the same operation had begun.
 */
export type StepResult =
  | { kind: 'next'; step: string; progress: number; data: Data }
  | { kind: 'again'; afterMs: number; progress?: number }
  | { kind: 'done'; data: Data }
  | { kind: 'fail'; code: string; message: string }

/** Go on with another step; `data` is kept for the later ones. */
export const next = (step: string, progress: number, data: Data = {}): StepResult => ({
  kind: 'next',
  step,
  progress,
  data,
})
/** Run this step again after a while. */
export const again = (afterMs: number, progress?: number): StepResult =>
  progress === undefined ? { kind: 'again', afterMs } : { kind: 'again', afterMs, progress }
/** The operation succeeded; `data` is for its conclusion. */
export const done = (data: Data = {}): StepResult => ({ kind: 'done', data })
export const fail = (code: string, message: string): StepResult => ({ kind: 'fail', code, message })

export type Step = (operation: Operation, signal: AbortSignal) => Promise<StepResult>

/** How operations of one type are carried out. */
export interface Procedure {
  first: string
  deadlineMs: number
  steps: Readonly<Record<string, Step>>
  /**
   * Called once the outcome is known: looks at the world, then returns what to write. The write shares the
   * transaction that ends the operation, so that both happen or neither.
   */
  conclude(operation: Operation, outcome: Outcome): Promise<(tx: Queries) => Promise<void>>
}

export interface EngineOptions {
  db: Database
  clock: Clock
  log: Logger
  procedures: Readonly<Record<OperationType, Procedure>>
  /** Told of each end, in the transaction that writes it. */
  ended: (tx: Queries, operation: OperationTable) => Promise<void>
  /** See SAVE_EVERY_MS; tests take the ends of the scale. */
  saveEveryMs?: number
  /** How many operations are carried out side by side. */
  concurrency?: number
  /** Told of each operation that has ended. */
  told?: (end: { type: OperationType; outcome: Outcome['status'] | 'canceled'; seconds: number }) => void
  /** Sees each step before it runs and after its result is known; tests end the process here. */
  observe?: (moment: 'before' | 'after' | 'saved', operation: Operation, step: string) => void
}

const LEASE_MS = 30_000
const RENEW_EVERY_MS = 10_000
/** How often to look for work that another process left. In this process, new work wakes the engine at once. */
const LOOK_EVERY_MS = 5_000
const MAX_ATTEMPTS = 6
/**
 * A step that ends sooner than this after the last write is not written down by itself: whoever takes over after a
 * crash begins one step earlier, which every step allows, and a commit is what quick steps cost most.
 */
const SAVE_EVERY_MS = 250
/** Until an operation whose result could not be written is tried again. */
const RETRY_MS = 1_000

/** Carries operations out. The row is the job: it holds the step, the lease, the attempt and the deadline. */
export class Engine {
  readonly #options: EngineOptions
  readonly #owner = randomUUID()
  readonly #inFlight = new Map<string, { abort: AbortController; done: Promise<void> }>()
  #wake: (() => void) | null = null
  #hasNews = false
  #stopping = new AbortController()
  #loops: Promise<unknown> = Promise.resolve()
  readonly #waiters = new Map<string, Set<() => void>>()

  constructor(options: EngineOptions) {
    this.#options = options
  }

  /**
   * Starts working in the background.
   * @param isAlone no other process works on this database: what a dead one held is taken over at once
   */
  async start({ isAlone }: { isAlone: boolean }): Promise<void> {
    if (isAlone) await takeOverLeases(this.#options.db)
    this.#loops = Promise.all([this.#work(), this.#renew()])
  }

  /** Lets running steps end, starts no more. Unfinished operations go on at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake?.()
    for (const { abort } of this.#inFlight.values()) abort.abort()
    await this.#loops
    await this.settled()
  }

  /** To be called after the commit of a new operation. */
  wake(): void {
    this.#hasNews = true
    this.#wake?.()
  }

  /** To be called after the commit that canceled an operation: its running step is told to give up. */
  canceled({
    operation_id,
    type,
    created_at,
  }: Pick<OperationTable, 'operation_id' | 'type' | 'created_at'>): void {
    this.#inFlight.get(operation_id)?.abort.abort()
    this.#announce(operation_id)
    this.wake()
    const seconds = (this.#options.clock.now() - created_at) / 1000
    this.#options.told?.({ type, outcome: 'canceled', seconds })
  }

  /**
   * Resolves soon after the operation ended, or after `ms`, or when the signal aborts. An end in this process wakes
   * at once; that of another process is seen by a look at the database now and then.
   */
  async waitFor(operationId: string, ms: number, signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#options
    const until = clock.now() + ms
    while (!signal.aborted && !this.#stopping.signal.aborted) {
      const left = until - clock.now()
      const cut = new AbortController()
      const wake = () => cut.abort('news')
      const waiters = this.#waiters.get(operationId) ?? new Set()
      this.#waiters.set(operationId, waiters.add(wake))
      signal.addEventListener('abort', wake)
      this.#stopping.signal.addEventListener('abort', wake)
      // The look comes after the waiter is set: an end in between is not missed.
      const isOver = left <= 0 || !(await isStillActive(db, operationId))
      if (!isOver) await clock.sleep(Math.min(left, LOOK_EVERY_MS), cut.signal)
      signal.removeEventListener('abort', wake)
      this.#stopping.signal.removeEventListener('abort', wake)
      waiters.delete(wake)
      if (waiters.size === 0) this.#waiters.delete(operationId)
      if (isOver) return
    }
  }

  /**
   * Takes what is due and starts it.
   * @returns how many operations were taken
   */
  async tick(): Promise<number> {
    const room = (this.#options.concurrency ?? 64) - this.#inFlight.size
    if (room <= 0) return 0
    const { db, clock } = this.#options
    const rows = await claimDue(db, { owner: this.#owner, now: clock.now(), leaseMs: LEASE_MS, limit: room })
    for (const row of rows) this.#begin(row)
    return rows.length
  }

  /** Resolves when nothing is being carried out at this moment. */
  async settled(): Promise<void> {
    while (this.#inFlight.size > 0)
      await Promise.all([...this.#inFlight.values()].map((running) => running.done))
  }

  /** When the next operation is due, or null. */
  nextDueAt(): Promise<number | null> {
    return nextDueAt(this.#options.db)
  }

  async #work(): Promise<void> {
    const { clock, log } = this.#options
    while (!this.#stopping.signal.aborted) {
      this.#hasNews = false
      try {
        if ((await this.tick()) > 0) continue
        const due = (await nextDueAt(this.#options.db)) ?? Number.POSITIVE_INFINITY
        await this.#pause(Math.min(LOOK_EVERY_MS, Math.max(20, due - clock.now())))
      } catch (error) {
        log.error({ err: error }, 'the worker could not look for operations; trying again')
        await this.#pause(1_000)
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    if (this.#hasNews || this.#stopping.signal.aborted) return
    const cut = new AbortController()
    // A reason of our own: the default one is an exception with a stack, made anew each time.
    this.#wake = () => cut.abort('news')
    await this.#options.clock.sleep(ms, cut.signal)
    this.#wake = null
  }

  async #renew(): Promise<void> {
    const { db, clock, log } = this.#options
    while (!this.#stopping.signal.aborted) {
      await clock.sleep(RENEW_EVERY_MS, this.#stopping.signal)
      if (this.#inFlight.size === 0) continue
      try {
        const kept = await renewLeases(db, { owner: this.#owner, until: clock.now() + LEASE_MS })
        // An operation that another process canceled is no longer ours.
        for (const [id, { abort }] of this.#inFlight) if (!kept.has(id)) abort.abort()
      } catch (error) {
        log.error({ err: error }, 'the leases of running operations could not be renewed')
      }
    }
  }

  #begin(row: OperationTable): void {
    const abort = new AbortController()
    const data: Operation['data'] = JSON.parse(row.data)
    const operation: Operation = { ...row, data }
    // Taken again before its last run has quite returned: one after the other.
    const earlier = this.#inFlight.get(row.operation_id)?.done ?? Promise.resolve()
    const running = earlier
      .then(() => this.#carryOut(operation, abort.signal))
      .finally(() => {
        if (this.#inFlight.get(row.operation_id)?.done === running) this.#inFlight.delete(row.operation_id)
        this.wake()
      })
    this.#inFlight.set(row.operation_id, { abort, done: running })
  }

  /** Runs steps, one after the other, until the operation ends, pauses, or is no longer ours. */
  async #carryOut(operation: Operation, signal: AbortSignal): Promise<void> {
    const { clock, log, observe, saveEveryMs = SAVE_EVERY_MS } = this.#options
    // Claiming it was a write too.
    let savedAt = clock.now()
    try {
      for (;;) {
        const { step } = operation
        observe?.('before', operation, step)
        const result = await this.#runStep(operation, signal)
        observe?.('after', operation, step)
        const isQuick = result.kind === 'next' && clock.now() - savedAt < saveEveryMs && !signal.aborted
        const isOurs = isQuick ? this.#advance(operation, result) : await this.#record(operation, result)
        if (!isQuick) savedAt = clock.now()
        observe?.('saved', operation, step)
        // The lease went with its end or pause: a later run may hold it by now.
        if (isOurs && result.kind !== 'next') return
        if (!isOurs || this.#stopping.signal.aborted) return await this.#giveBack(operation)
      }
    } catch (error) {
      log.error(
        { err: error, operation_id: operation.operation_id },
        'an operation could not be recorded; trying again',
      )
      await this.#giveBack(operation, { next_run_at: clock.now() + RETRY_MS })
    }
  }

  /**
   * Gives the lease back where it is still held. A canceled operation keeps the one of its server until its step
   * has ended; then the next one may begin. Where even this fails, the lease runs out by itself.
   */
  async #giveBack(operation: Operation, change: { next_run_at?: number } = {}): Promise<void> {
    const back = { ...change, lease_owner: null, lease_until: 0 }
    await saveStep(this.#options.db, operation, back, { owner: this.#owner }).catch(() => false)
  }

  async #runStep(operation: Operation, signal: AbortSignal): Promise<StepResult> {
    const { clock, log } = this.#options
    if (clock.now() >= operation.deadline_at)
      return fail(
        'operation_timeout',
        `The operation did not end in time; it was at the step "${operation.step}".`,
      )
    const step = this.#procedure(operation).steps[operation.step]
    if (!step) return fail('internal_error', `There is no step "${operation.step}".`)
    try {
      const result = await step(operation, signal)
      if (result.kind !== 'again') operation.attempt = 0
      return result
    } catch (error) {
      if (signal.aborted) return again(0)
      operation.attempt += 1
      log.warn(
        {
          err: error,
          operation_id: operation.operation_id,
          step: operation.step,
          attempt: operation.attempt,
        },
        'a step failed',
      )
      if (operation.attempt >= MAX_ATTEMPTS) return failureOf(error)
      return again(1_000 * 2 ** (operation.attempt - 1))
    }
  }

  /** @returns whether the operation is still ours to go on with */
  async #record(operation: Operation, result: StepResult): Promise<boolean> {
    const { db, clock } = this.#options
    const now = clock.now()
    const by = { owner: this.#owner, now }
    if (result.kind === 'done') operation.data = { ...operation.data, ...result.data }
    if (result.kind === 'done' || result.kind === 'fail') {
      const outcome: Outcome =
        result.kind === 'done'
          ? { status: 'succeeded' }
          : { status: 'failed', code: result.code, message: result.message }
      const write = await this.#procedure(operation).conclude(operation, outcome)
      const { ended, told } = this.#options
      const isOurs = await settle(db, operation, outcome, write, { ...by, ended })
      if (!isOurs) return false
      this.#announce(operation.operation_id)
      const seconds = (now - operation.created_at) / 1000
      told?.({ type: operation.type, outcome: outcome.status, seconds })
      return true
    }
    if (result.kind === 'again') {
      operation.progress = result.progress ?? operation.progress
      return saveStep(
        db,
        operation,
        { next_run_at: now + result.afterMs, lease_owner: null, lease_until: 0 },
        by,
      )
    }
    this.#advance(operation, result)
    return saveStep(db, operation, { lease_until: now + LEASE_MS }, by)
  }

  #advance(operation: Operation, next: Extract<StepResult, { kind: 'next' }>): true {
    operation.step = next.step
    operation.progress = next.progress
    operation.data = { ...operation.data, ...next.data }
    return true
  }

  #procedure(operation: Operation): Procedure {
    return this.#options.procedures[operation.type]
  }

  #announce(operationId: string): void {
    for (const finish of [...(this.#waiters.get(operationId) ?? [])]) finish()
  }
}

/** Only our own errors carry sentences that are meant for customers. */
function failureOf(error: unknown): StepResult {
  if (error instanceof DriverError) return fail(error.code, error.message)
  return fail('internal_error', 'The machine could not be brought there; the operator has been told.')
}
