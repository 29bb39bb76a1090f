import { AsyncLocalStorage } from 'node:async_hooks'

const caller = new AsyncLocalStorage<string>()

/** Runs something for a caller, such as an account: the connections that it needs are counted as the caller's. */
export function asCaller<Result>(name: string, run: () => Result): Result {
  return caller.run(name, run)
}

/** The caller that something runs for; what the service does by itself is one as well. */
export function currentCaller(): string {
  return caller.getStore() ?? ''
}

interface Waiter {
  begin: () => void
  timer: NodeJS.Timeout
}

/**
 * The line for the connections of a pool. Callers take turns, and no one holds more than half: the slow queries of one
 * leave room for the others.
 */
export class Line {
  readonly #share: number
  readonly #patienceMs: number
  #free: number
  readonly #held = new Map<string, number>()
  /** Those who wait, by caller; the first caller is next. */
  readonly #waiting = new Map<string, Waiter[]>()

  /** @param most connections in all; @param patienceMs how long one may wait */
  constructor(most: number, patienceMs: number) {
    this.#free = most
    this.#share = Math.ceil(most / 2)
    this.#patienceMs = patienceMs
  }

  /**
   * Resolves when the caller may take a connection.
   * @throws the error that `late` makes, where none becomes free in time
   */
  take(name: string, late: () => Error): Promise<void> {
    if (this.#isOpenTo(name) && !this.#waiting.has(name)) {
      this.#count(name)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        begin: resolve,
        timer: setTimeout(() => {
          this.#leave(name, waiter)
          reject(late())
        }, this.#patienceMs),
      }
      const others = this.#waiting.get(name)
      if (others) others.push(waiter)
      else this.#waiting.set(name, [waiter])
    })
  }

  /** The caller has given a connection back. */
  give(name: string): void {
    this.#free += 1
    const left = (this.#held.get(name) ?? 1) - 1
    if (left > 0) this.#held.set(name, left)
    else this.#held.delete(name)
    this.#next()
  }

  #next(): void {
    // Two at the most have their share already, so this looks at three.
    for (const [name, [waiter]] of this.#waiting) {
      if (!waiter || !this.#isOpenTo(name)) continue
      clearTimeout(waiter.timer)
      this.#leave(name, waiter)
      this.#count(name)
      waiter.begin()
      return
    }
  }

  #isOpenTo(name: string): boolean {
    return this.#free > 0 && (this.#held.get(name) ?? 0) < this.#share
  }

  #count(name: string): void {
    this.#free -= 1
    this.#held.set(name, (this.#held.get(name) ?? 0) + 1)
  }

  /** Out of the line; the caller's next one comes last of all. */
  #leave(name: string, waiter: Waiter): void {
    const line = this.#waiting.get(name) ?? []
    line.splice(line.indexOf(waiter), 1)
    this.#waiting.delete(name)
    if (line.length > 0) this.#waiting.set(name, line)
  }
}
