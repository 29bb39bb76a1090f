import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { Loop } from '../loop.ts'
import { examineBeside } from './doctor.ts'

const EVERY_MS = 600_000

/**
 * Examines the installation in the background as `berthd doctor` does, and remembers the checks that failed.
 */
export class CheckUp {
  readonly #loop: Loop
  #faults: ReadonlyMap<string, boolean> = new Map()

  constructor({ config, db, ...parts }: { config: Config; db: Database; clock: Clock; log: Logger }) {
    this.#loop = new Loop({
      ...parts,
      turn: async () => {
        const found = await examineBeside(config, db)
        const faulty = new Set(found.filter(({ state }) => state === 'fault').map(({ name }) => name))
        this.#faults = new Map(found.map(({ name }) => [name, faulty.has(name)]))
      },
      failure: 'the installation could not be examined; trying again in ten minutes',
      pauseMs: () => EVERY_MS,
    })
  }

  /** Each check by name, and whether it found a fault; empty until the first has ended. */
  get faults(): ReadonlyMap<string, boolean> {
    return this.#faults
  }

  start(): void {
    this.#loop.start()
  }

  /** Prevents further examinations. A running one is not awaited, since it changes nothing. */
  stop(): void {
    void this.#loop.stop()
  }
}
