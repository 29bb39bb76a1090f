import { AsyncLocalStorage } from 'node:async_hooks'
import { Counts, FairQueue } from '../concurrency.ts'

const caller = new AsyncLocalStorage<string>()

/** Runs a function for a caller, such as an account: its database connections count as the caller's. */
export function asCaller<Result>(name: string, run: () => Result): Result {
  return caller.run(name, run)
}

/** The caller on whose behalf code runs; the service itself counts as a caller, too. */
export function currentCaller(): string {
  return caller.getStore() ?? ''
}

interface Waiter {
  begin: () => void
  timer: NodeJS.Timeout
}

/**
 * A queue for the connections of a pool. Callers take turns, and none holds more than half of the
 * connections, so that slow queries of one caller leave room for others.
 */
export class Line {
  readonly #share: number
  readonly #patienceMs: number
  #free: number
  readonly #held = new Counts()
  readonly #waiting = new FairQueue<Waiter>()

  /** @param most connections in all; @param patienceMs how long a caller may wait */
  constructor(most: number, patienceMs: number) {
    this.#free = most
    this.#share = Math.ceil(most / 2)
    this.#patienceMs = patienceMs
  }

  /**
   * Resolves when the caller may take a connection.
   * @throws the error of `late` if none becomes free in time
   */
  take(name: string, late: () => Error): Promise<void> {
    if (this.#isOpenTo(name) && !this.#waiting.has(name)) {
      this.#count(name)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(name, waiter)
        reject(late())
      }, this.#patienceMs)
      const waiter = { begin: resolve, timer }
      this.#waiting.push(name, waiter)
    })
  }

  /** Releases a connection of the caller. */
  give(name: string): void {
    this.#free += 1
    this.#held.add(name, -1)
    // At most two callers hold their full share, so this checks three at most.
    const next = this.#waiting.shift((key) => this.#isOpenTo(key))
    if (!next) return
    clearTimeout(next.item.timer)
    this.#count(next.key)
    next.item.begin()
  }

  #isOpenTo(name: string): boolean {
    return this.#free > 0 && this.#held.get(name) < this.#share
  }

  #count(name: string): void {
    this.#free -= 1
    this.#held.add(name, 1)
  }
}
