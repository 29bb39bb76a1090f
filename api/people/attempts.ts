import type { Clock } from '../clock.ts'
import { ApiError, httpProblems } from '../http/problem.ts'
import { networkOf, siteOf } from '../http/rate-limit.ts'
import { Recent } from '../http/recent.ts'

const MOST_KEYS = 100_000

interface Allowance {
  /** How many at once. */
  burst: number
  /** How long until one more is allowed. */
  everyMs: number
}

/**
 * Counts what may be tried only so often: passwords of a person, mails to an address. In memory: a restart forgives,
 * and each process counts for itself.
 */
export class Attempts {
  readonly #clock: Clock
  readonly #allowance: Allowance
  /** When what was tried is forgotten, by who tried. */
  readonly #until = new Recent<number>(MOST_KEYS)

  constructor(clock: Clock, allowance: Allowance) {
    this.#clock = clock
    this.#allowance = allowance
  }

  /** Counts one. @throws ApiError rate_limited */
  take(key: string): void {
    const { burst, everyMs } = this.#allowance
    const now = this.#clock.now()
    // A clock that was set back must not hold anybody for longer than it ever would.
    const until = Math.min(Math.max(now, this.#until.get(key) ?? now), now + burst * everyMs)
    const waitMs = until + everyMs - now - burst * everyMs
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000)
      throw new ApiError(
        httpProblems.rate_limited,
        `Too many attempts. Try again in ${seconds} s.`,
        {},
        { 'retry-after': String(seconds) },
      )
    }
    this.#until.set(key, until + everyMs)
  }

  /** It was no attempt after all. */
  giveBack(key: string): void {
    const until = this.#until.get(key)
    if (until !== undefined) this.#until.set(key, until - this.#allowance.everyMs)
  }
}

/** How much more than a network a /48 may try, which may be an office's or one person's. */
const OF_A_SITE = 8

/** Counts what is tried from networks: an IPv4 address or a /64 of IPv6, and the /48 around that. */
export class NetworkAttempts {
  readonly #byNetwork: Attempts
  readonly #bySite: Attempts

  constructor(clock: Clock, allowance: Allowance) {
    const { burst, everyMs } = allowance
    this.#byNetwork = new Attempts(clock, allowance)
    this.#bySite = new Attempts(clock, { burst: burst * OF_A_SITE, everyMs: everyMs / OF_A_SITE })
  }

  /** Counts one. @throws ApiError rate_limited */
  take(address: string): void {
    // The narrow one first: what it refuses is nobody else's loss.
    this.#byNetwork.take(networkOf(address))
    const site = siteOf(address)
    if (site !== null) this.#bySite.take(site)
  }

  /** It was no attempt after all. */
  giveBack(address: string): void {
    this.#byNetwork.giveBack(networkOf(address))
    const site = siteOf(address)
    if (site !== null) this.#bySite.giveBack(site)
  }
}
