import type { Clock } from '../../clock.ts'
import { Recent } from './recent.ts'

/** Requests a minute. */
export interface RateLimits {
  /** Limits of one person, and of one account for all its tokens together. */
  reads: number
  writes: number
  /** Limit of one address, or one /64 of IPv6, without a valid token. */
  anonymous: number
}

/**
 * The counts of requests: reads and writes of a person or of an account's tokens, and requests of addresses.
 * Requests beyond a token's rights count by token, so that a stolen token can't use up its account's
 * requests. Requests about access count by person or token, so that nobody can keep others from ending it.
 * Both have the limit of writes. Polls of clients that can't wait for an operation are cheap, and have ten
 * times the limit of reads.
 */
export type Policy = keyof RateLimits | 'refused' | 'own' | 'polls'

export interface Verdict {
  isAllowed: boolean
  /** RateLimit-Policy, RateLimit and, on a refusal, Retry-After (draft-ietf-httpapi-ratelimit-headers). */
  headers: Record<string, string>
  retryAfterSeconds: number
}

interface Bucket {
  left: number
  at: number
}

const WINDOW_SECONDS = 60
const MAX_BUCKETS = 100_000

/**
 * Token buckets: each caller may spend a minute's worth at once, and gets it back evenly over a minute. They are in
 * memory, so a restart resets them. If several processes answer requests, each has an equal share of the limits.
 */
export class RateLimiter {
  readonly #limits: Readonly<Record<Policy, number>>
  readonly #clock: Clock
  readonly #answering: () => number
  /** The most callers that are remembered; beyond that, the least recent one is forgotten. */
  readonly #buckets = new Recent<Bucket>(MAX_BUCKETS)

  /** @param answering the number of processes that answer requests */
  constructor(limits: RateLimits, clock: Clock, answering: () => number = () => 1) {
    this.#limits = { ...limits, refused: limits.writes, own: limits.writes, polls: 10 * limits.reads }
    this.#answering = answering
    this.#clock = clock
  }

  /** Returns the last request of a caller to its bucket. */
  giveBack(policy: Policy, caller: string): void {
    const bucket = this.#buckets.get(keyOf(policy, caller))
    if (bucket) bucket.left += 1
  }

  /** Counts one request. @param caller the id of an account, a person or a token, or an address */
  take(policy: Policy, caller: string): Verdict {
    const quota = Math.max(1, Math.floor(this.#limits[policy] / this.#answering()))
    const perMs = quota / (WINDOW_SECONDS * 1000)
    const now = this.#clock.now()
    const key = keyOf(policy, caller)
    const bucket = this.#buckets.get(key) ?? { left: quota, at: now }
    // A clock that was set back must not reduce a caller's allowance.
    const left = Math.min(quota, bucket.left + Math.max(0, now - bucket.at) * perMs)
    const isAllowed = left >= 1
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
}

function keyOf(policy: Policy, caller: string): string {
  return `${policy} ${policy === 'anonymous' ? networkOf(caller) : caller}`
}

/**
 * The network that counts as one caller. A customer of an IPv6 network has at least a /64 and may use any of its
 * addresses. An IPv4 address is the same caller when the system writes it as an IPv6 address.
 */
export function networkOf(address: string): string {
  return firstGroups(address, 4)
}

/** The /48 of an IPv6 address: the owner of a /64 often has all of it. Null for IPv4. */
export function siteOf(address: string): string | null {
  return networkOf(address).includes(':') ? firstGroups(address, 3) : null
}

/**
 * Returns the /24 of an IPv4 address or the /48 of an IPv6 address, since an attacker often has many
 * addresses in one.
 */
export function widestOf(address: string): string {
  return siteOf(address) ?? networkOf(address).split('.').slice(0, 3).join('.')
}

/** @param count the number of 16-bit groups of an IPv6 address that count */
function firstGroups(address: string, count: number): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const hidden = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  return [...groups, ...Array<string>(hidden).fill('0'), ...(tail ?? '').split(':')].slice(0, count).join(':')
}
