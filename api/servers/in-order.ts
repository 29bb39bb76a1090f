import type { Clock } from '../clock.ts'
import { Unreachable } from '../database/database.ts'

/** As long as whoever asks may wait for her reply: later nobody is there for what would be done. */
const PATIENCE_MS = 10_000

/** Does what is asked for one key one after the other, so that it waits here and not for a lock of the database. */
export class InOrder {
  readonly #clock: Clock
  /** What was asked for last, by key. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws Unreachable where those before took too long, as they do while the database does not answer */
  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const askedAt = this.#clock.now()
    const inTime = () => {
      if (this.#clock.now() - askedAt <= PATIENCE_MS) return task()
      throw new Unreachable('its turn did not come in time')
    }
    // Whether the one before succeeded is not its business.
    const mine = this.#last.get(key)?.then(inTime, inTime) ?? task()
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}
