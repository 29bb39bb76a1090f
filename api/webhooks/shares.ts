import type { Clock } from '../clock.ts'
import { Recent } from '../http/limits/recent.ts'

/** The limit on messages to one destination from all accounts together. */
export interface Limit {
  destination: string
  perMinute: number
  /** The number of messages at once after a pause. */
  burst: number
  /** The number of messages in flight. */
  inFlight: number
}

/** One account's part of a destination's limit. */
interface Share {
  /** The time of its next message, if all earlier ones go out on time. */
  nextAt: number
  inFlight: number
  seenAt: number
  /** The time at which the next message that finds no free place may retry. */
  lookAt: number
}

/** The time at which a waiting message may go. */
interface Turn {
  at: number
  /** The messages that hold a place. */
  destinations: readonly string[]
}

/** The time after which an idle account no longer reduces the shares of others. */
const ACTIVE_MS = 60_000
/** The interval at which an account without a free place retries, one message after the other. */
const LOOK_EVERY_MS = 500
const MAX_DESTINATIONS = 20_000
const MAX_TURNS = 20_000

/**
 * Divides the limits of a destination between the accounts that send there: each has the same share of its rate, burst
 * and places. A message that has to wait keeps its turn. The shares are in memory, so a restart resets them, and each
 * process counts separately.
 */
export class Shares {
  readonly #clock: Clock
  readonly #destinations = new Recent<Map<string, Share>>(MAX_DESTINATIONS)
  readonly #turns = new Map<string, Turn>()
  #latest = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The number of messages that wait for their turn. */
  get waiting(): number {
    const now = this.#now()
    for (const [message, { at }] of this.#turns) if (at < now - ACTIVE_MS) this.#turns.delete(message)
    return this.#turns.size
  }

  hasTurn(message: string): boolean {
    return this.#turns.has(message)
  }

  /** Returns how long a message still has to wait for its turn, if it has one. */
  waitOf(message: string): number {
    return Math.max(0, (this.#turns.get(message)?.at ?? 0) - this.#now())
  }

  /**
   * Takes a turn within all of these limits. If it is now, `done` is to be called when the message has arrived.
   * @returns how long to wait and then ask again with the same message; 0 if it may go
   */
  take(limits: readonly Limit[], accountId: string, message: string): number {
    const now = this.#now()
    const shares = limits.map((limit) => ({ limit, ...this.#shareOf(limit.destination, accountId, now) }))
    const { at: earliest, destinations } = this.#turns.get(message) ?? { at: now, destinations: [] }
    const turns = shares
      .filter(({ limit }) => !destinations.includes(limit.destination))
      .map(({ limit, share, accounts }) => turnOf(limit, share, accounts, now))
    const due = Math.max(earliest, ...turns)
    const busy = shares.filter(
      ({ limit, share, accounts }) => share.inFlight >= part(limit.inFlight, accounts),
    )
    this.#turns.delete(message)
    if (due <= now && busy.length === 0) {
      for (const { share } of shares) share.inFlight += 1
      return 0
    }
    const at = Math.max(due, ...busy.map(({ share }) => nextLook(share, now)))
    const names = limits.map(({ destination }) => destination)
    this.#turns.set(message, { at, destinations: [...new Set([...destinations, ...names])] })
    if (this.#turns.size > MAX_TURNS) this.#turns.clear()
    return Math.ceil(at - now)
  }

  /** Frees the places of a message that has arrived or failed. */
  done(limits: readonly Limit[], accountId: string): void {
    for (const { destination } of limits) {
      const share = this.#destinations.get(destination)?.get(accountId)
      if (share) share.inFlight = Math.max(0, share.inFlight - 1)
    }
  }

  #shareOf(destination: string, accountId: string, now: number): { share: Share; accounts: number } {
    const shares = this.#destinations.get(destination) ?? new Map<string, Share>()
    this.#destinations.set(destination, shares)
    const share = shares.get(accountId) ?? { nextAt: 0, inFlight: 0, seenAt: now, lookAt: 0 }
    share.seenAt = now
    shares.set(accountId, share)
    for (const [id, other] of shares) if (!isActive(other, now)) shares.delete(id)
    return { share, accounts: shares.size }
  }

  /** A clock that was set back must not delay messages whose turn had come. */
  #now(): number {
    const now = this.#clock.now()
    if (now < this.#latest) {
      this.#destinations.clear()
      this.#turns.clear()
    }
    this.#latest = now
    return now
  }
}

function isActive({ seenAt, nextAt, inFlight }: Share, now: number): boolean {
  return inFlight > 0 || nextAt > now || now - seenAt < ACTIVE_MS
}

/** Each account has at least one. */
function part(of: number, accounts: number): number {
  return Math.max(1, Math.floor(of / accounts))
}

function nextLook(share: Share, now: number): number {
  share.lookAt = Math.max(share.lookAt, now) + LOOK_EVERY_MS
  return share.lookAt
}

/** Returns when an account's next message may go; the one after that is due an interval later. */
function turnOf({ perMinute, burst }: Limit, share: Share, accounts: number, now: number): number {
  const intervalMs = (60_000 / perMinute) * accounts
  const turn = Math.max(share.nextAt, now - (part(burst, accounts) - 1) * intervalMs)
  share.nextAt = turn + intervalMs
  return turn
}
