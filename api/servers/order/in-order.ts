import type { Clock } from '../../clock.ts'
import { KeyedMutex } from '../../concurrency.ts'
import { Unreachable } from '../../database/database.ts'

/** The longest time that clients wait for a reply: after it, nobody would get the result. */
const PATIENCE_MS = 10_000

/** Runs the tasks of one key one after the other, so that they wait here and not for a lock of the database. */
export class InOrder {
  readonly #clock: Clock
  readonly #mutexes = new KeyedMutex()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws Unreachable if earlier tasks took too long, as they do while the database does not answer */
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const askedAt = this.#clock.now()
    return this.#mutexes.run(key, () => {
      if (this.#clock.now() - askedAt <= PATIENCE_MS) return task()
      throw new Unreachable('its turn did not come in time')
    })
  }
}
