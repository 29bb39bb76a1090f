import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from './clock.ts'

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
  readonly #stopping = new AbortController()
  /** Ends the pause after the present turn. */
  #cut = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(options: LoopOptions) {
    this.#options = options
  }

  /** @param isPauseFirst the first turn waits for its time too, instead of being taken at once */
  start({ isPauseFirst = false } = {}): void {
    this.#running = this.#run(isPauseFirst)
  }

  /** Resolves when the turn that is being taken has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#running
  }

  /** Ends the pause; during a turn, lets the next one follow at once. */
  wake(): void {
    // A reason of our own: the default one is an exception with a stack, made anew each time.
    this.#cut.abort('news')
  }

  async #run(isPauseFirst: boolean): Promise<void> {
    const { clock, log, turn, failure, pauseMs } = this.#options
    if (isPauseFirst) await clock.sleep(pauseMs(), this.#stopping.signal)
    while (!this.#stopping.signal.aborted) {
      this.#cut = new AbortController()
      try {
        await turn()
      } catch (error) {
        log.error({ err: error }, failure)
      }
      await clock.sleep(pauseMs(), this.#cut.signal)
    }
  }
}
