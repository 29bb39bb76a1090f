import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from './clock.ts'

/** A pause that can be ended early, even before it begins: what happens between `reset` and `sleep` is not missed. */
export class Alarm {
  readonly #clock: Clock
  #cut = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Forgets earlier rings: whoever calls it looks at what has happened next. */
  reset(): void {
    this.#cut = new AbortController()
  }

  /** Ends the pause; before it begins, there will be none. */
  ring(): void {
    // A reason of our own: the default one is an exception with a stack, made anew each time.
    this.#cut.abort('news')
  }

  /** Resolves after `ms`, or once it rings. */
  sleep(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#cut.signal)
  }
}

/** Until a loop looks again whether its turns are its own by now. */
const NOT_OURS_MS = 1_000

export interface LoopOptions {
  clock: Clock
  log: Logger
  turn: () => Promise<unknown>
  /** What a turn that throws is logged as; the next one tries again. */
  failure: string
  /** How long to pause after a turn. */
  pauseMs: () => number
  /** Whether the turns are this process's to take; otherwise it looks again and again whether they are by now. */
  isOurs?: () => boolean
}

/** Takes one turn after the other in the background, with pauses in between, until it is stopped. */
export class Loop {
  readonly #options: LoopOptions
  readonly #alarm: Alarm
  #isStopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: LoopOptions) {
    this.#options = options
    this.#alarm = new Alarm(options.clock)
  }

  /** @param isPauseFirst the first turn waits for its time too, instead of being taken at once */
  start({ isPauseFirst = false } = {}): void {
    this.#running = this.#run(isPauseFirst)
  }

  /** Resolves when the turn that is being taken has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.wake()
    await this.#running
  }

  /** Ends the pause; during a turn, lets the next one follow at once. */
  wake(): void {
    this.#alarm.ring()
  }

  async #run(isPauseFirst: boolean): Promise<void> {
    const { log, turn, failure, pauseMs, isOurs = () => true } = this.#options
    if (isPauseFirst) await this.#alarm.sleep(pauseMs())
    while (!this.#isStopped) {
      this.#alarm.reset()
      if (!isOurs()) {
        await this.#alarm.sleep(Math.min(pauseMs(), NOT_OURS_MS))
        continue
      }
      try {
        await turn()
      } catch (error) {
        log.error({ err: error }, failure)
      }
      await this.#alarm.sleep(pauseMs())
    }
  }
}

/** Holds a flow to a rate: a burst passes at once, the rest is spread evenly. */
export class Pace {
  readonly #clock: Clock
  readonly #perMs: number
  readonly #burstMs: number
  #paidUntil = 0

  /** @param rate in whatever unit is counted */
  constructor(clock: Clock, rate: { perSecond: number; burst: number }) {
    this.#clock = clock
    this.#perMs = rate.perSecond / 1000
    this.#burstMs = rate.burst / this.#perMs
  }

  /** Counts so much of the flow, no more than a burst. @returns for how many milliseconds to hold what follows */
  take(amount: number): number {
    const now = this.#clock.now()
    // A clock that was set back must not hold it for longer than it ever would.
    const paidUntil = Math.min(Math.max(now, this.#paidUntil), now + 2 * this.#burstMs)
    this.#paidUntil = paidUntil + amount / this.#perMs
    return Math.max(0, this.#paidUntil - now - this.#burstMs)
  }
}
