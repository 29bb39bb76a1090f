import type { Clock } from '../clock.ts'

/** Requests a minute. */
export interface RateLimits {
  /** Of one token. */
  reads: number
  writes: number
  /** Of one address, without a valid token. */
  anonymous: number
}

export type Policy = keyof RateLimits

export interface Verdict {
  isAllowed: boolean
  /** RateLimit-Policy, RateLimit and, on a refusal, Retry-After (draft-ietf-httpapi-ratelimit-headers). */
  headers: Record<string, string>
  retryAfterSeconds: number
}

const WINDOW_SECONDS = 60
const MAX_BUCKETS = 100_000

/**
 * Token buckets: each caller may spend a minute's worth at once, and gets it back evenly over a minute. They are in
 * memory: a restart forgives, and each process counts for itself.
 */
export class RateLimiter {
  readonly #limits: RateLimits
  readonly #clock: Clock
  readonly #buckets = new Map<string, { left: number; at: number }>()

  constructor(limits: RateLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Counts one request. @param caller a token's id, or an address */
  take(policy: Policy, caller: string): Verdict {
    const quota = this.#limits[policy]
    const perMs = quota / (WINDOW_SECONDS * 1000)
    const now = this.#clock.now()
    const key = `${policy} ${caller}`
    const bucket = this.#buckets.get(key) ?? { left: quota, at: now }
    // A clock that was set back must not take away what a caller had.
    const left = Math.min(quota, bucket.left + Math.max(0, now - bucket.at) * perMs)
    const isAllowed = left >= 1
    if (this.#buckets.size >= MAX_BUCKETS) this.#sweep(now)
    const rest = isAllowed ? left - 1 : left
    this.#buckets.set(key, { left: rest, at: now })
    const resetSeconds = Math.ceil((quota - rest) / perMs / 1000)
    const retryAfterSeconds = isAllowed ? 0 : Math.max(1, Math.ceil((1 - left) / perMs / 1000))
    const headers: Record<string, string> = {
      'ratelimit-policy': `"${policy}";q=${quota};w=${WINDOW_SECONDS}`,
      ratelimit: `"${policy}";r=${Math.floor(rest)};t=${resetSeconds}`,
    }
    if (!isAllowed) headers['retry-after'] = String(retryAfterSeconds)
    return { isAllowed, headers, retryAfterSeconds }
  }

  /** A bucket that nobody used for a whole window is full, and a full one need not be kept. */
  #sweep(now: number): void {
    for (const [key, bucket] of this.#buckets)
      if (now - bucket.at >= WINDOW_SECONDS * 1000) this.#buckets.delete(key)
    // More callers than that within a minute: the eldest are forgiven rather than memory filled.
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size < MAX_BUCKETS) break
      this.#buckets.delete(key)
    }
  }
}
