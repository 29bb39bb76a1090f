import type { Clock } from '../clock.ts'
import { FairQueue } from '../concurrency.ts'

/** A turn without a finished copy counts against its owner if it took longer than this, which any copy may take. */
export const LOST_MS = 600_000
const HELD_AGAINST_MS = 24 * 3600_000

/**
 * Serializes the copying of a host's disks, with owners in turn. An owner who has wasted a long turn comes after all
 * others, until a copy of theirs succeeds or a day has passed.
 */
export class CopyTurns {
  readonly #clock: Clock
  readonly #waiting = new FairQueue<PromiseWithResolvers<void>>()
  /** Owners who have wasted a turn, and the time until which that counts against them. */
  readonly #losers = new Map<string, number>()
  #holder: { owner: string; since: number } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits for a turn, which `release` ends. @throws the signal's reason, if it is aborted before */
  async acquire(owner: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#holder) {
      this.#give(owner)
      return
    }
    const waiter = Promise.withResolvers<void>()
    this.#waiting.push(owner, waiter)
    const onAbort = () => {
      this.#waiting.delete(owner, waiter)
      waiter.reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await waiter.promise
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Ends the current turn. @param isMade false if it ended without a copy, for whatever reason */
  release(isMade: boolean): void {
    const now = this.#clock.now()
    const { owner: last = '', since = now } = this.#holder ?? {}
    this.#holder = null
    if (isMade) this.#losers.delete(last)
    else if (now - since >= LOST_MS) this.#losers.set(last, now + HELD_AGAINST_MS)
    for (const [owner, until] of this.#losers) if (until <= now) this.#losers.delete(owner)
    const isLoser = (owner: string) => this.#losers.has(owner)
    const next =
      this.#waiting.shift((owner) => !isLoser(owner) && owner !== last) ??
      this.#waiting.shift((owner) => !isLoser(owner)) ??
      this.#waiting.shift((owner) => owner !== last) ??
      this.#waiting.shift()
    if (!next) return
    this.#give(next.key)
    next.item.resolve()
  }

  /**
   * Calls back if the current turn takes too long, whatever it does: a guest can make each part of a copy slow.
   * @returns a function to call at the end of the turn
   */
  limit(timeoutMs: number, expire: () => void): () => void {
    const timer = new AbortController()
    void this.#clock.sleep(timeoutMs, timer.signal).then(() => {
      if (!timer.signal.aborted) expire()
    })
    return () => timer.abort()
  }

  #give(owner: string): void {
    this.#holder = { owner, since: this.#clock.now() }
  }
}
