import { ApiError, httpProblems } from '../../http/contract/problem.ts'
import { networkOf, siteOf } from '../../http/limits/rate-limit.ts'
import { Recent } from '../../http/limits/recent.ts'

/** Node's four worker threads also read files for other requests, so only two compute hashes. */
const AT_ONCE = 2
const MOST_WAITING = 400
const MOST_SOURCES = 100_000
/** Each comparison delays the turn of the source's next one by this much. */
const STEP_MS = 10 * 60_000
const MOST_BACK_MS = 24 * STEP_MS

/** The source of a comparison: a person in a place where they are known, or the network of a stranger. */
export interface Source {
  key: string
  isKnown: boolean
}

export function strangerAt(address: string): Source {
  // Strangers are told apart by /48, because its owner has 65,536 networks, each of which would come first once.
  return { key: siteOf(address) ?? networkOf(address), isKnown: false }
}

/** Returns the source of a password that a signed-in person has typed. */
export function signedInSource({ email }: { email: string }): Source {
  return { key: email, isKnown: true }
}

interface Waiter {
  turn: number
  begin: PromiseWithResolvers<void>
}

/** A queue in which the sources with the fewest recent comparisons come first. */
class Line {
  /** Waiting comparisons in the order of their turns. */
  readonly #waiting: Waiter[] = []
  /** The turn of each source's next comparison, if that is in the future. */
  readonly #turns = new Recent<number>(MOST_SOURCES)

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  hasRoom(key: string, now: number): boolean {
    const last = this.#waiting.at(-1)
    return this.#waiting.length < MOST_WAITING || (last !== undefined && last.turn > this.#turnOf(key, now))
  }

  /** Counts a comparison. @returns its turn */
  count(key: string, now: number): number {
    const turn = this.#turnOf(key, now)
    this.#turns.set(key, turn + STEP_MS)
    return turn
  }

  /** Waits for a turn. If the queue is full, the last one in it is refused. */
  wait(turn: number): Promise<void> {
    const waiter = { turn, begin: Promise.withResolvers<void>() }
    const before = this.#waiting.findLastIndex((other) => other.turn <= turn)
    this.#waiting.splice(before + 1, 0, waiter)
    if (this.#waiting.length > MOST_WAITING) this.#waiting.pop()?.begin.reject(busy())
    return waiter.begin.promise
  }

  shift(): Waiter | undefined {
    return this.#waiting.shift()
  }

  #turnOf(key: string, now: number): number {
    return Math.min(Math.max(now, this.#turns.get(key) ?? now), now + MOST_BACK_MS)
  }
}

/**
 * Decides the order in which passwords are hashed and compared. Strangers from hundreds of networks must not keep
 * others from signing in. So people in known places get every second turn, and otherwise networks with fewer recent
 * comparisons come first.
 */
export class PasswordQueue {
  readonly #now: () => number
  readonly #known = new Line()
  readonly #strangers = new Line()
  #free = AT_ONCE
  #wasKnown = false

  /** @param now the milliseconds of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now
  }

  /** @throws ApiError rate_limited if the queue is full, or becomes full with comparisons whose turn is earlier */
  async run<Result>(source: Source, work: () => Promise<Result>): Promise<Result> {
    await this.#enter(source)
    try {
      return await work()
    } finally {
      const next = this.#next()
      // The place is handed over. If it were free until the waiter runs, a newcomer could take it as well.
      if (next) next.begin.resolve()
      else this.#free += 1
    }
  }

  /** @throws ApiError rate_limited */
  requireRoom(source: Source): void {
    if (this.#free === 0 && !this.#lineOf(source).hasRoom(source.key, this.#now())) throw busy()
  }

  #enter(source: Source): Promise<void> {
    this.requireRoom(source)
    const line = this.#lineOf(source)
    const turn = line.count(source.key, this.#now())
    if (this.#free === 0) return line.wait(turn)
    this.#free -= 1
    return Promise.resolve()
  }

  #next(): Waiter | undefined {
    const [first, second] = this.#wasKnown ? [this.#strangers, this.#known] : [this.#known, this.#strangers]
    const line = first.isEmpty ? second : first
    this.#wasKnown = line === this.#known
    return line.shift()
  }

  #lineOf({ isKnown }: Source): Line {
    return isKnown ? this.#known : this.#strangers
  }
}

function busy(): ApiError {
  return new ApiError(
    httpProblems.rate_limited,
    'Too many passwords are being checked right now. Try again in a few seconds. Passkeys and providers do not wait for this.',
    {},
    { 'retry-after': '5' },
  )
}
