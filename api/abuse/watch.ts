import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { Loop } from '../loop.ts'
import type { Peers } from '../processes/peers.ts'
import { findGroups } from './group-signs.ts'
import { ServerSigns } from './server-signs.ts'
import { noteSigns } from './signs.ts'

const LOOK_EVERY_MS = 10 * 60_000
/** Accounts are compared less often, because each comparison reads all young ones. */
const GROUPS_EVERY_MS = 60 * 60_000

interface WatchOptions {
  db: Database
  clock: Clock
  log: Logger
  peers: Peers
}

/** Looks for signs of abuse, in one process for all. */
export class AbuseWatch {
  readonly #options: WatchOptions
  readonly #loop: Loop
  readonly #servers = new ServerSigns()
  #groupedAt = Number.NEGATIVE_INFINITY

  constructor(options: WatchOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'the look for signs of abuse failed; trying again in ten minutes',
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => options.peers.holds('sampler'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Compares all servers with their earlier readings, and once an hour compares young accounts and cards. */
  async look(): Promise<void> {
    const { db, clock } = this.#options
    const now = clock.now()
    await noteSigns(db, await this.#servers.find(db))
    // The clock may have been set back.
    if (Math.abs(now - this.#groupedAt) < GROUPS_EVERY_MS) return
    await noteSigns(db, await findGroups(db, now))
    this.#groupedAt = now
  }
}
