import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from './clock.ts'

/** A pause that can be ended early, even before it begins: a ring between `reset` and `sleep` is not missed. */
export class Alarm {
  readonly #clock: Clock
  #cut = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Forgets earlier rings. The caller then looks for work, so that it misses none. */
  reset(): void {
    this.#cut = new AbortController()
  }

  /** Ends the pause. If called before the pause begins, there is none. */
  ring(): void {
    // The default reason is an exception, whose stack would be collected at each ring.
    this.#cut.abort('news')
  }

  /** Resolves after `ms`, or once it rings. */
  sleep(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#cut.signal)
  }
}

/** A loop whose work this process does only while it has a duty. It sleeps until then. */
interface OnDuty {
  isOurs: () => boolean
  /** Calls a listener when this process has got a duty. */
  peers: { onShift(listener: () => void): void }
}

export type LoopOptions = Everywhere & (OnDuty | { isOurs?: undefined })

interface Everywhere {
  clock: Clock
  log: Logger
  turn: () => Promise<unknown>
  /** The log message for a turn that throws. The next turn tries again. */
  failure: string
  /** The pause after a turn. */
  pauseMs: () => number
  /** The part of the pause that no wake cuts short, so that one turn does the work of many wakes (default: none). */
  restMs?: () => number
}

/** A loop without its duty asks for it again after this time, although a shift wakes it. */
const NOT_OURS_MS = 60_000

/** Runs turns one after the other in the background, with pauses in between, until it is stopped. */
export class Loop {
  readonly #options: LoopOptions
  readonly #alarm: Alarm
  readonly #stopping: Alarm
  #isStopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: LoopOptions) {
    this.#options = options
    this.#alarm = new Alarm(options.clock)
    this.#stopping = new Alarm(options.clock)
    if (options.isOurs) options.peers.onShift(() => this.wake())
  }

  /** @param isPauseFirst whether the first turn waits for a pause, too */
  start({ isPauseFirst = false } = {}): void {
    this.#running = this.#run(isPauseFirst)
  }

  /** Resolves when the current turn has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopping.ring()
    this.wake()
    await this.#running
  }

  /** Ends the pause. During a turn, the next turn follows at once. */
  wake(): void {
    this.#alarm.ring()
  }

  async #run(isPauseFirst: boolean): Promise<void> {
    const { log, turn, failure, pauseMs, restMs = () => 0, isOurs = () => true } = this.#options
    if (isPauseFirst) await this.#alarm.sleep(pauseMs())
    while (!this.#isStopped) {
      this.#alarm.reset()
      if (!isOurs()) {
        await this.#alarm.sleep(NOT_OURS_MS)
        continue
      }
      try {
        await turn()
      } catch (error) {
        log.error({ err: error }, failure)
      }
      const rest = restMs()
      if (rest > 0) await this.#stopping.sleep(rest)
      await this.#alarm.sleep(Math.max(0, pauseMs() - rest))
    }
  }
}

/** Limits a flow to a rate: a burst passes at once, the rest is spread evenly. */
export class Pace {
  readonly #clock: Clock
  readonly #perMs: number
  readonly #burstMs: number
  #paidUntil = 0

  /** @param rate units per second, of any unit */
  constructor(clock: Clock, rate: { perSecond: number; burst: number }) {
    this.#clock = clock
    this.#perMs = rate.perSecond / 1000
    this.#burstMs = rate.burst / this.#perMs
  }

  /** Counts this amount of the flow, at most a burst. @returns the milliseconds for which to hold back the rest */
  take(amount: number): number {
    const now = this.#clock.now()
    // If the clock was set back, the flow must not be held for longer than usual.
    const paidUntil = Math.min(Math.max(now, this.#paidUntil), now + 2 * this.#burstMs)
    this.#paidUntil = paidUntil + amount / this.#perMs
    return Math.max(0, this.#paidUntil - now - this.#burstMs)
  }
}
