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

export interface LoopOptions {
  clock: Clock
  log: Logger
  turn: () => Promise<unknown>
  /** What a turn that throws is logged as; the next one tries again. */
  failure: string
  /** How long to pause after a turn. */
  pauseMs: () => number
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
    const { log, turn, failure, pauseMs } = this.#options
    if (isPauseFirst) await this.#alarm.sleep(pauseMs())
    while (!this.#isStopped) {
      this.#alarm.reset()
      try {
        await turn()
      } catch (error) {
        log.error({ err: error }, failure)
      }
      await this.#alarm.sleep(pauseMs())
    }
  }
}
