import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbortedTransactionError,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely'
import pg from 'pg'
import { currentCaller, Line } from './line.ts'

/** The longest wait for a free connection. */
const LINE_MS = 5_000
/** The time limit, and the pause between attempts, to find out the outcome of a commit whose reply was lost. */
const FIND_OUT_MS = 20_000
const ASK_EVERY_MS = 250
/** The time that running queries have to finish at a stop. */
const FAREWELL_MS = 5_000

/** The connection to the database was lost, or none was available. Earlier writes may have been committed. */
export class Unreachable extends Error {
  /** PostgreSQL's connection_failure. */
  readonly code = '08006'
}

/** pg has no codes for the errors that it raises itself. */
const WITHOUT_CODE =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|not queryable|connection error|Client was closed/
/** As the system has them, such as ECONNRESET. */
const OF_SYSTEM = /^E[A-Z]/
/** Errors after which a connection is unusable: it is lost, or the server ends it. */
const LOST = /^(08|57P0|25P03)/

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

function explained(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = codeOf(error)
  const isOurs = code === '' ? WITHOUT_CODE.test(error.message) : OF_SYSTEM.test(code)
  return isOurs ? new Unreachable(error.message || code, { cause: error }) : error
}

function isLost(error: unknown): boolean {
  return error instanceof Error && LOST.test(codeOf(error))
}

/** The last change of a transaction found no row, so that nothing of the transaction took place. */
export class Unchanged extends Error {}

/** A change that is sent together with the commit. */
interface LastChange {
  query: CompiledQuery
  isNeeded: boolean
}

/** PostgreSQL's division_by_zero. */
const NONE_CHANGED = '22012'

/**
 * Builds a statement that fails if it must change a row and does not. Several statements in one message can't have
 * parameters.
 */
function asText({ query: { sql, parameters }, isNeeded }: LastChange): string {
  const text = sql.replace(/\$(\d+)/g, (_, number) => literal(parameters[Number(number) - 1]))
  return isNeeded ? `WITH changed AS (${text} RETURNING 1) SELECT 1 / count(*) FROM changed` : text
}

function literal(value: unknown): string {
  if (Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'string') return pg.escapeLiteral(value)
  throw new TypeError('the parameters of a last change must be whole numbers or text')
}

/**
 * Kysely's driver for PostgreSQL. Callers take connections in turns, so that none holds all. If the reply to a commit
 * is lost, the driver finds out the outcome over another connection, so that it neither repeats a committed transaction
 * nor loses one.
 */
export class PostgresDriver implements Driver {
  readonly #pool: pg.Pool
  readonly #line: Line
  readonly #onCommit: () => void

  /** @param onCommit called after each transaction that was committed */
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
      return new PostgresConnection(await this.#pool.connect(), caller)
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
    await connection.begin()
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    try {
      await connection.commit()
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === NONE_CHANGED) throw new Unchanged()
      if (!connection.isLost) throw error
      if (!(await this.#isCommitted(connection.transaction))) throw error
    }
    this.#onCommit()
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
      // While its session has not noticed the loss, it is still in progress.
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

export class PostgresConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient
  readonly caller: string
  /** The id of the open transaction. */
  transaction = ''
  /** The last change, which is sent with the commit of the open transaction. */
  last: LastChange | null = null
  /** True if the connection is no longer usable. */
  isLost = false

  constructor(client: pg.PoolClient, caller: string) {
    this.#client = client
    this.caller = caller
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.#ask(() => this.#client.query(sql, [...parameters]))
    const isChange = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(command)
    return isChange ? { numAffectedRows: BigInt(rowCount ?? 0), rows } : { rows }
  }

  // biome-ignore lint/correctness/useYield: it is part of the interface, and nobody streams rows
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('rows are not streamed')
  }

  /** The transaction's id is requested with its beginning, in one round trip: at the end it may be too late. */
  async begin(): Promise<void> {
    const text = 'BEGIN; SELECT pg_current_xact_id()::text AS xid'
    // One result for each statement, which the types of pg do not say.
    const results = (await this.#ask(() => this.#client.query(text))) as unknown as pg.QueryResult[]
    this.transaction = results[1]?.rows[0]?.xid ?? ''
  }

  /** @throws Unchanged; AbortedTransactionError if an earlier error had ended it already */
  async commit(): Promise<void> {
    const text = this.last ? `${asText(this.last)}; COMMIT` : 'COMMIT'
    // One result for each statement, which the types of pg do not say.
    const results = [await this.#ask(() => this.#client.query(text))].flat()
    if (results.at(-1)?.command === 'ROLLBACK') throw new AbortedTransactionError()
  }

  async rollback(): Promise<void> {
    if (this.isLost) return
    try {
      await this.#ask(() => this.#client.query('ROLLBACK'))
    } catch (error) {
      // It must not be used again in the middle of a transaction.
      this.isLost = true
      throw error
    }
  }

  release(): void {
    this.#client.release(this.isLost)
  }

  async #ask<Result>(query: () => Promise<Result>): Promise<Result> {
    try {
      return await query()
    } catch (thrown) {
      const error = explained(thrown)
      this.isLost ||= isLost(error)
      throw error
    }
  }
}
