import type { FastifyBaseLogger as Logger } from 'fastify'
import { listAccounts } from './accounts/accounts.ts'
import type { Clock } from './clock.ts'
import { attemptAll, type Database } from './database/database.ts'
import type { Cleaning } from './feature.ts'
import { Loop } from './loop.ts'
import type { Peers } from './processes/peers.ts'

const LOOK_EVERY_MS = 60_000
/** The interval for each account. One account takes some milliseconds. */
const ACCOUNTS_EVERY_MS = 10 * 60_000
const DAY_MS = 24 * 3600_000
const AT_ONCE = 500

interface RetentionOptions {
  db: Database
  clock: Clock
  log: Logger
  peers: Peers
  /** The cleaning of all features, in the order in which it runs. */
  cleaning: readonly Cleaning[]
}

/**
 * Deletes rows that are too old, and those of which an account has too many, in steps that block nobody for long. Rows
 * that can't be deleted keep no others.
 */
export class Retention {
  readonly #options: RetentionOptions
  readonly #loop: Loop
  #accountsLookedAt = Number.NEGATIVE_INFINITY

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'old rows could not be deleted; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => options.peers.holds('retention'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async look(): Promise<void> {
    const { db, clock, cleaning } = this.#options
    const now = clock.now()
    const works = cleaning
      .flatMap(({ old = {} }) => Object.values(old))
      .map(({ days, delete: remove }) => () => {
        return inSteps((limit) => remove(db, now - days * DAY_MS, limit))
      })
    // The clock may have been set back: then the next time must not be put off for as long.
    if (Math.abs(now - this.#accountsLookedAt) >= ACCOUNTS_EVERY_MS) {
      this.#accountsLookedAt = now
      works.push(() => this.#boundAccounts(now))
    }
    await attemptAll(works)
  }

  async #boundAccounts(now: number): Promise<void> {
    const { db, cleaning } = this.#options
    const bounds = cleaning.flatMap(({ excess = {} }) => Object.values(excess))
    const works = (await listAccounts(db)).flatMap(({ account_id: accountId }) =>
      bounds.map(({ most, delete: remove }) => () => {
        return inSteps((limit) => remove(db, accountId, most, limit, now))
      }),
    )
    await attemptAll(works)
  }
}

async function inSteps(remove: (limit: number) => Promise<number>): Promise<void> {
  while ((await remove(AT_ONCE)) === AT_ONCE) await new Promise(setImmediate)
}
