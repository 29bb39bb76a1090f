import type { FastifyBaseLogger as Logger } from 'fastify'
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { Loop } from '../loop.ts'
import { messageOf } from '../message-of.ts'
import { type Database, isUnavailable, type Queries } from './database.ts'

/** Runs queries that only read and may be up to a second old. */
export type RecentReads = <Result>(read: (db: Queries) => Promise<Result>) => Promise<Result>

const LOOK_EVERY_MS = 500

interface ReplicaOptions {
  primary: Database
  replica: Database
  clock: Clock
  log: Logger
}

/**
 * A replica of the database for reads that may be a second old. It is used while each check finds in it all
 * data that the primary had written by the previous check; otherwise the primary is used.
 */
export class Replica {
  readonly #options: ReplicaOptions
  readonly #loop: Loop
  #isRecent = false
  /** The primary's position at the last check. */
  #written: string | null = null

  constructor(options: ReplicaOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.#look(),
      failure: 'the replication lag could not be read; trying again',
      pauseMs: () => LOOK_EVERY_MS,
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    this.#isRecent = false
    await this.#options.replica.destroy()
  }

  readonly read: RecentReads = async (read) => {
    const { primary, replica } = this.#options
    if (!this.#isRecent) return read(primary)
    try {
      return await read(replica)
    } catch (error) {
      // This includes queries that the replica canceled to keep up with the primary.
      if (!isUnavailable(error)) throw error
      return read(primary)
    }
  }

  async #look(): Promise<void> {
    const { primary, replica } = this.#options
    const before = this.#written
    this.#written = null
    const isRecent = before === null ? false : await hasAll(replica, before).catch(messageOf)
    const { rows } = await sql<{ at: string }>`SELECT pg_current_wal_lsn()::text AS at`.execute(primary)
    this.#written = rows[0]?.at ?? null
    if (before !== null) this.#settle(isRecent)
  }

  /** @param found true if it is recent, or the reason why it can't be used */
  #settle(found: boolean | string): void {
    const isRecent = found === true
    if (isRecent === this.#isRecent) return
    this.#isRecent = isRecent
    const { log } = this.#options
    const reason = typeof found === 'string' ? found : 'it lags behind, or is not a replica'
    if (isRecent) log.info('lists are read from the replica of the database')
    else log.warn({ reason }, 'the replica of the database is not used; lists are read from the primary')
  }
}

/** A replica that was promoted to a primary has its own history. */
async function hasAll(replica: Database, position: string): Promise<boolean> {
  const { rows } = await sql<{ has_all: boolean | null }>`
    SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= ${position}::pg_lsn AS has_all`.execute(
    replica,
  )
  return rows[0]?.has_all === true
}
