import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver } from 'kysely'
import type pg from 'pg'
import { currentCaller, Line } from './line.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { explained, Unreachable } from './postgres-errors.ts'
import { Statements } from './postgres-statement.ts'

/** The longest wait for a free connection. */
const LINE_MS = 5_000
/** The time limit, and the pause between attempts, to find out the outcome of a commit whose reply was lost. */
const FIND_OUT_MS = 20_000
const ASK_EVERY_MS = 250
/** The time that running queries have to finish at a stop. */
const FAREWELL_MS = 5_000

/**
 * Kysely's driver for PostgreSQL. Callers take connections in turns, so that none holds all. If the reply to a commit
 * is lost, the driver finds out the outcome over another connection, so that it neither repeats a committed transaction
 * nor loses one.
 */
export class PostgresDriver implements Driver {
  readonly #pool: pg.Pool
  readonly #line: Line
  readonly #statements = new Statements()
  readonly #onCommit: () => void

  /** @param onCommit called after each transaction that has written something and was committed */
  constructor(pool: pg.Pool, onCommit: () => void) {
    this.#pool = pool
    this.#onCommit = onCommit
    this.#line = new Line(pool.options.max, LINE_MS)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    const caller = currentCaller()
    await this.#line.take(caller, () => new Unreachable('no connection to the database became free in time'))
    try {
      return new PostgresConnection(await this.#pool.connect(), caller, this.#statements)
    } catch (error) {
      this.#line.give(caller)
      throw explained(error)
    }
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release()
    this.#line.give(connection.caller)
  }

  async beginTransaction(connection: PostgresConnection): Promise<void> {
    connection.begin()
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    try {
      await connection.commit()
    } catch (error) {
      // A transaction that has written nothing has no outcome to find out.
      if (!connection.isLost || connection.transaction === '') throw error
      if (!(await this.#isCommitted(connection.transaction))) throw error
    }
    if (connection.transaction !== '') this.#onCommit()
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await connection.rollback()
  }

  /** Waits for running queries; those that hang are ended with their connections. */
  async destroy(): Promise<void> {
    await Promise.race([this.#pool.end(), sleep(FAREWELL_MS, undefined, { ref: false })])
  }

  /**
   * Asks the database over another connection whether a transaction was committed, until it answers.
   * @throws Unreachable if it does not answer
   */
  async #isCommitted(transaction: string): Promise<boolean> {
    const until = performance.now() + FIND_OUT_MS
    for (;;) {
      // The transaction is still in progress until its session has noticed the loss.
      const status = await this.#statusOf(transaction).catch(() => null)
      if (status === 'committed') return true
      if (status === 'aborted') return false
      if (performance.now() > until)
        throw new Unreachable('the connection was lost during a commit; its outcome is unknown')
      await sleep(ASK_EVERY_MS)
    }
  }

  async #statusOf(transaction: string): Promise<string | null> {
    const client = await this.#pool.connect()
    try {
      const asked = await client.query<{ status: string | null }>(
        'SELECT pg_xact_status($1::xid8) AS status',
        [transaction],
      )
      client.release()
      return asked.rows[0]?.status ?? null
    } catch (error) {
      client.release(true)
      throw error
    }
  }
}
