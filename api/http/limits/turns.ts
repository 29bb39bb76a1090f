import { FairQueue } from '../../concurrency.ts'

/** Time in which requests may begin within one turn of the event loop. */
const BUDGET_MS = 2
/** The same while there is but one caller: the more begins at once, the fewer commits it takes. */
const BUDGET_ALONE_MS = 20
/** After this long without another one, a caller is alone. */
const ALONE_AFTER_MS = 1_000
/** So many connections go before a request. */
const MAX_ACCEPTED = 16

/**
 * Says when a request begins, so that one caller's many do not hold up another's few. They begin in rounds, one of each
 * caller, and only for a moment in each turn of the event loop: what they have caused, such as the commit that they
 * share, comes before more of them. Connections go before requests: Node accepts one in a turn, so a neighbour's would
 * wait for as many turns as others came before it, and these must be short.
 */
export class Turns {
  readonly #now: () => number
  /** The requests that wait, by caller. */
  readonly #waiting = new FairQueue<() => void>()
  #lastCaller = ''
  #aloneAt = 0
  /** The time when the first request of this turn began; null before that. */
  #since: number | null = null
  /** The number of turns that requests still wait for more connections. */
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

  /** To be called for each connection that was accepted. */
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
    // A tick that follows promises: by then, what was begun has gone as far as it can without waiting.
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
