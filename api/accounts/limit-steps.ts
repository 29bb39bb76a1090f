import type { FastifyBaseLogger as Logger } from 'fastify'
import type { LimitSteps } from '../catalog/limit-steps.ts'
import type { Clock } from '../clock.ts'
import type { Queries } from '../database/database.ts'
import { Loop } from '../loop.ts'
import type { Peers } from '../processes/peers.ts'

const LOOK_EVERY_MS = 2_000
/** The time after which steps are written again, in case another process wrote those of another file. */
const AGAIN_MS = 600_000

/** A query of the steps by which limits grow, as JSON; no row if there are none. */
export function stepsIn(db: Queries) {
  return db.selectFrom('limit_steps').select('steps')
}

interface KeeperOptions {
  db: Queries
  clock: Clock
  log: Logger
  peers: Peers
  catalog: { limitSteps: LimitSteps }
}

/** Keeps the steps of the catalogue in force in the database, where limits are checked. */
export class LimitKeeper {
  readonly #options: KeeperOptions
  readonly #loop: Loop
  #written = { steps: '', at: Number.NEGATIVE_INFINITY }

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'the steps of limits could not be kept; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => options.peers.holds('billing'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Writes the steps if they have changed; otherwise nothing is read. */
  async look(): Promise<void> {
    const { db, clock, catalog } = this.#options
    const steps = JSON.stringify(catalog.limitSteps)
    const at = clock.now()
    if (steps === this.#written.steps && Math.abs(at - this.#written.at) < AGAIN_MS) return
    await db
      .insertInto('limit_steps')
      .values({ limit_steps_id: 1, steps })
      .onConflict((conflict) => conflict.column('limit_steps_id').doUpdateSet({ steps }))
      .execute()
    this.#written = { steps, at }
  }
}
