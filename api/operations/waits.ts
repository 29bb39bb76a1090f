import type { Clock } from '../clock.ts'
import { Counts } from '../concurrency.ts'
import type { Database } from '../database/database.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { Alarm } from '../loop.ts'
import { readOperation } from './store.ts'
import type { OperationTable } from './tables.ts'

const MAX_OF_ACCOUNT = 50
/** The interval of reads for processes that can't notify each other. */
const LOOK_EVERY_MS = 5_000

interface WaitsOptions {
  db: Database
  clock: Clock
  /** Ends all waits when the service stops. */
  stopping: AbortSignal
}

/** Long polls for the end of operations. Each holds a connection, and an account has a limited number of them. */
export class Waits {
  readonly #options: WaitsOptions
  readonly #ofAccount = new Counts()
  /** The functions that wake long polls, by operation. */
  readonly #waiters = new Map<string, Set<() => void>>()

  constructor(options: WaitsOptions) {
    this.#options = options
  }

  /**
   * Resolves soon after the operation ended, in whichever process, or after `ms`, or when the signal aborts.
   * @returns the operation as it stands then
   * @throws ApiError rate_limited if the account has too many long polls already
   */
  async waitFor(operation: OperationTable, ms: number, signal: AbortSignal): Promise<OperationTable> {
    if (operation.finished_at !== null || ms <= 0) return operation
    const { account_id } = operation
    if (this.#ofAccount.get(account_id) >= MAX_OF_ACCOUNT)
      throw new ApiError(
        httpProblems.rate_limited,
        `An account can wait for ${MAX_OF_ACCOUNT} operations at once. Wait until one has finished.`,
        {},
        { 'retry-after': '5' },
      )
    this.#ofAccount.add(account_id, 1)
    try {
      return await this.#poll(operation, ms, signal)
    } finally {
      this.#ofAccount.add(account_id, -1)
    }
  }

  /** @param ids the operations that have ended; with none, all long polls read theirs, as some news may be lost */
  announce(ids: readonly string[]): void {
    for (const id of ids.length > 0 ? ids : [...this.#waiters.keys()])
      for (const wake of [...(this.#waiters.get(id) ?? [])]) wake()
  }

  async #poll(operation: OperationTable, ms: number, signal: AbortSignal): Promise<OperationTable> {
    const { db, clock, stopping } = this.#options
    const { operation_id: operationId } = operation
    const until = clock.now() + ms
    const isOver = () => clock.now() >= until || signal.aborted || stopping.aborted
    let seen = operation
    while (seen.finished_at === null && !isOver()) {
      const alarm = new Alarm(clock)
      const wake = () => alarm.ring()
      const waiters = this.#waiters.get(operationId) ?? new Set()
      this.#waiters.set(operationId, waiters.add(wake))
      signal.addEventListener('abort', wake)
      stopping.addEventListener('abort', wake)
      // This reads after the waiter is set, so that an end in between is not missed.
      seen = (await readOperation(db, operationId)) ?? seen
      if (seen.finished_at === null) await alarm.sleep(Math.min(until - clock.now(), LOOK_EVERY_MS))
      signal.removeEventListener('abort', wake)
      stopping.removeEventListener('abort', wake)
      waiters.delete(wake)
      if (waiters.size === 0) this.#waiters.delete(operationId)
    }
    if (seen.finished_at !== null) return seen
    // The operation may have changed during the last sleep.
    return (await readOperation(db, operationId)) ?? seen
  }
}
