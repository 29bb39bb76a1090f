import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import { Semaphore } from '../concurrency.ts'
import { isBusy } from './database.ts'

/** The most prepared statements in the cache; the program has a few hundred. */
const CACHED_STATEMENTS = 500
/** Milliseconds between two attempts to get a lock that another process holds. */
const RETRY_MS = 50

type Values = Record<string, SQLOutputValue>

interface Prepared {
  statement: StatementSync
  columns: readonly string[]
  /** An empty row, whose layout all rows share. */
  blank: Values
}

/** The transactions that share one commit of SQLite. */
interface Group {
  /** Resolves when everything written in it is on the disk; rejects if it was rolled back. */
  committed: Promise<void>
  resolve: () => void
  reject: (reason: unknown) => void
  isDue: boolean
}

interface Opened {
  writer: DatabaseSync
  reader: DatabaseSync
  patienceMs: number
}

/**
 * Kysely's driver for node:sqlite. A commit waits for the disk, which costs more than all statements of a request
 * together. So all writes within one turn of the event loop are committed together at its end. A transaction is a
 * savepoint there, and resolves when the commit is on the disk. Transactions still run one after the other, and one
 * that fails only rolls back its own writes. Readers see the data on the disk.
 */
export class SqliteDriver implements Driver {
  readonly #handle: DatabaseSync
  readonly #patienceMs: number
  readonly #writer: Statements
  readonly #reader: Statements
  #group: Group | null = null
  /** Held by the transaction or the statement that is in progress. */
  readonly #turn = new Semaphore(1)

  /**
   * @param reader a second connection, which only reads
   * @param patienceMs the longest wait for another process's lock
   */
  constructor({ writer, reader, patienceMs }: Opened) {
    this.#handle = writer
    this.#writer = new Statements(writer)
    this.#reader = new Statements(reader)
    this.#patienceMs = patienceMs
  }

  get #sqlite(): DatabaseSync {
    if (!this.#handle.isOpen) throw new Error('the database is closed')
    return this.#handle
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SqliteConnection> {
    return new SqliteConnection(this)
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    // Closing waits for all work in progress or queued, even if some of it gave up.
    await this.#turn.acquire().catch(() => this.#turn.acquire())
    await this.#finish(() => {
      this.#commit()
      this.#reader.close()
      this.#sqlite.close()
    })
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await this.#turn.acquire()
    try {
      const group = this.#group ?? (await this.#openGroup())
      this.#sqlite.exec('SAVEPOINT member')
      connection.group = group
    } catch (error) {
      this.#endTurn()
      throw error
    }
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await this.#leave(connection, 'RELEASE member')
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    // Kysely also calls it after a failed commit, when there is nothing to roll back.
    await this.#leave(connection, 'ROLLBACK TO member; RELEASE member').catch(() => {})
  }

  async #leave(connection: SqliteConnection, how: string): Promise<void> {
    const { group } = connection
    if (!group) return
    connection.group = null
    try {
      if (group === this.#group) this.#sqlite.exec(how)
    } finally {
      this.#endTurn()
    }
    await group.committed
  }

  /** Runs a statement of a transaction. */
  async runWithin<Row>(group: Group, query: CompiledQuery): Promise<QueryResult<Row>> {
    // After some errors SQLite rolls back everything: the rest of the transaction must not run outside of one.
    if (group !== this.#group) await group.committed
    return this.#run(query)
  }

  /** Runs a statement by itself. */
  runAlone<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    switch (query.query.kind) {
      case 'SelectQueryNode':
        return this.#read(query)
      case 'InsertQueryNode':
      case 'UpdateQueryNode':
      case 'DeleteQueryNode':
        return this.#write(query)
      default:
        return this.#runApart(query)
    }
  }

  /** Reads without waiting: while uncommitted writes exist, it uses a connection that does not see them. */
  async #read<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.#group ? this.#reader.run(query) : this.#run(query)
  }

  async #write<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    await this.#turn.acquire()
    const { group, result } = await this.#finish(async () => ({
      group: this.#group ?? (await this.#openGroup()),
      result: this.#run<Row>(query),
    }))
    await group.committed
    return result
  }

  /** Changes of the schema and other special statements do not share a commit. */
  async #runApart<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    await this.#turn.acquire()
    return this.#finish(() => {
      this.#commit()
      if (changesSchema(query.sql)) for (const statements of [this.#writer, this.#reader]) statements.forget()
      return this.#whenFree(() => this.#run<Row>(query))
    })
  }

  #run<Row>(query: CompiledQuery): QueryResult<Row> {
    try {
      return this.#writer.run(query)
    } catch (error) {
      if (this.#group && !this.#sqlite.isTransaction) this.#closeGroup()?.reject(error)
      throw error
    }
  }

  /** Creates the group of this turn of the event loop, if there is none. */
  async #openGroup(): Promise<Group> {
    await this.#whenFree(() => this.#sqlite.exec('BEGIN IMMEDIATE'))
    const { promise: committed, resolve, reject } = Promise.withResolvers<void>()
    committed.catch(() => {}) // a group may have no member left to notify
    const group: Group = { committed, resolve, reject, isDue: false }
    this.#group = group
    setImmediate(() => {
      group.isDue = true
      // This waits for a transaction in progress, which commits when its turn ends.
      if (group === this.#group && !this.#turn.isFull) this.#commit()
    })
    return group
  }

  /**
   * Retries until no other process holds the lock. The caller holds the turn and no group is open, so readers continue.
   * @throws SQLite's BUSY after the limit; callers that wait for their turn get it too, as they would wait as long
   */
  async #whenFree<Result>(attempt: () => Result): Promise<Result> {
    const giveUpAt = performance.now() + this.#patienceMs
    for (;;) {
      try {
        return attempt()
      } catch (error) {
        if (!isBusy(error)) throw error
        if (performance.now() >= giveUpAt) {
          this.#turn.rejectWaiting(error)
          throw error
        }
      }
      await sleep(RETRY_MS)
    }
  }

  #commit(): void {
    const group = this.#closeGroup()
    try {
      if (group) this.#sqlite.exec('COMMIT')
      group?.resolve()
    } catch (error) {
      if (this.#sqlite.isTransaction) this.#sqlite.exec('ROLLBACK')
      group?.reject(error)
    }
  }

  #closeGroup(): Group | null {
    const group = this.#group
    this.#group = null
    return group
  }

  #endTurn(): void {
    if (this.#group?.isDue) this.#commit()
    this.#turn.release()
  }

  async #finish<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await work()
    } finally {
      this.#endTurn()
    }
  }
}

/** True for statements that may change the columns of prepared statements. */
const changesSchema = (sql: string) => /^\s*(ALTER|CREATE|DROP)\b/i.test(sql)

/** The statements prepared on one connection. */
class Statements {
  readonly #sqlite: DatabaseSync
  readonly #known = new Map<string, Prepared>()

  constructor(sqlite: DatabaseSync) {
    this.#sqlite = sqlite
  }

  run<Row>({ sql, parameters }: CompiledQuery): QueryResult<Row> {
    const prepared = this.#prepare(sql)
    const values = parameters as SQLInputValue[] // what the columns allow: text, integers and null
    if (prepared.columns.length > 0) return { rows: readRows(prepared, values) as Row[] } // Kysely knows what it asked for
    return { rows: [], numAffectedRows: BigInt(prepared.statement.run(...values).changes) }
  }

  forget(): void {
    this.#known.clear()
  }

  close(): void {
    this.forget()
    this.#sqlite.close()
  }

  #prepare(sql: string): Prepared {
    const known = this.#known.get(sql)
    if (known) return known
    if (!this.#sqlite.isOpen) throw new Error('the database is closed')
    const statement = this.#sqlite.prepare(sql)
    if (changesSchema(sql)) this.forget()
    statement.setReturnArrays(true)
    const columns = statement.columns().map(({ name }) => name)
    const blank = Object.fromEntries(columns.map((name) => [name, null]))
    const prepared = { statement, columns, blank }
    if (this.#known.size >= CACHED_STATEMENTS) this.#known.clear()
    this.#known.set(sql, prepared)
    return prepared
  }
}

/**
 * node:sqlite would create each row as a dictionary, which takes longer than finding it; copies of one object share its
 * layout.
 */
function readRows({ statement, columns, blank }: Prepared, values: readonly SQLInputValue[]): Values[] {
  const rows = statement.all(...values) as unknown as SQLOutputValue[][] // by setReturnArrays, unknown to its types
  return rows.map((row) => {
    const named = { ...blank }
    columns.forEach((name, at) => {
      named[name] = row[at] ?? null
    })
    return named
  })
}

class SqliteConnection implements DatabaseConnection {
  readonly #driver: SqliteDriver
  /** The group whose transaction is open on this connection. */
  group: Group | null = null

  constructor(driver: SqliteDriver) {
    this.#driver = driver
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.group ? this.#driver.runWithin(this.group, query) : this.#driver.runAlone(query)
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery(query)
  }
}
