import { FairQueue } from '../../concurrency.ts'

/** Time in which requests may begin within one turn of the event loop. */
const BUDGET_MS = 2
/** The same for a single caller: the more requests begin at once, the fewer commits they need. */
const BUDGET_ALONE_MS = 20
/** The time without other callers after which a caller counts as the only one. */
const ALONE_AFTER_MS = 1_000
/** The number of connections that are accepted before a request. */
const MAX_ACCEPTED = 16

/**
 * Decides when requests begin, so that many requests of one caller do not delay the few of another. They begin in
 * rounds, one of each caller, and only for a moment in each turn of the event loop, so that their work, such as the
 * shared commit, comes before further requests. Connections come before requests: Node accepts one in each turn, so a
 * connection waits for as many turns as there are earlier ones, and turns must be short.
 */
export class Turns {
  readonly #now: () => number
  /** The requests that wait, by caller. */
  readonly #waiting = new FairQueue<() => void>()
  #lastCaller = ''
  #aloneAt = 0
  /** The time when the first request of this turn began; null before that. */
  #since: number | null = null
  /** The number of turns for which requests still wait for more connections. */
  #arriving = 0
  /** Connections since the last request. */
  #accepted = 0
  #isEndAwaited = false
  #isBeginning = false

  /** @param now the milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Resolves when a request of the caller may begin. @param caller an account's id, or an address */
  take(caller: string): Promise<void> {
    if (caller !== this.#lastCaller) this.#aloneAt = this.#now() + ALONE_AFTER_MS
    this.#lastCaller = caller
    return new Promise((begin) => {
      this.#waiting.push(caller, begin)
      this.#goOn()
    })
  }

  /** Call it for each connection that was accepted. */
  accepted(): void {
    this.#accepted += 1
    // If there are more, the next one comes in the next turn.
    this.#arriving = 2
    this.#awaitEnd()
  }

  #goOn(): void {
    if (this.#isBeginning || this.#waiting.isEmpty) return
    this.#awaitEnd()
    if (this.#arriving > 0 && this.#accepted < MAX_ACCEPTED) return
    const now = this.#now()
    this.#since ??= now
    if (now - this.#since >= (now < this.#aloneAt ? BUDGET_MS : BUDGET_ALONE_MS)) return
    this.#isBeginning = true
    this.#beginNext()
    // A tick after promises: by then, the started requests have run until they wait for something.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isBeginning = false
        this.#goOn()
      }),
    )
  }

  #beginNext(): void {
    this.#accepted = 0
    this.#waiting.shift()?.item()
  }

  #awaitEnd(): void {
    if (this.#isEndAwaited) return
    this.#isEndAwaited = true
    setImmediate(() => {
      this.#isEndAwaited = false
      this.#since = null
      this.#arriving = Math.max(0, this.#arriving - 1)
      if (this.#arriving > 0) this.#awaitEnd()
      this.#goOn()
    })
  }
}
