import { DatabaseSync } from 'node:sqlite'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { Database } from '../../api/database/database.ts'
import { databaseOf } from '../../api/database/sqlite.ts'
import { SqliteDriver } from '../../api/database/sqlite-driver.ts'

/** The seam between one process and its database. */
export interface DatabaseSeam {
  /** Lets the statement wait for its turn. @throws the error that the program gets instead of an execution */
  before(label: string): Promise<void>
  /** @throws the error that the program gets although the statement took effect */
  after(label: string, isWrite: boolean): Promise<void>
  /** Called with the tables that a commit has changed. */
  wrote(tables: Iterable<string>): void
  now(): number
}

/** PostgreSQL's clock, in the statements by which processes know each other. */
const CLOCK = 'EXTRACT(EPOCH FROM clock_timestamp()) * 1000'
const PATIENCE_MS = 10_000

type Connection = Awaited<ReturnType<SqliteDriver['acquireConnection']>>

/** The service's own driver, except that other processes may run before each statement. */
class SeamDriver extends SqliteDriver {
  readonly #seam: DatabaseSeam
  /** The tables that the transaction in progress has changed. */
  #changed = new Set<string>()

  constructor(opened: ConstructorParameters<typeof SqliteDriver>[0], seam: DatabaseSeam) {
    super(opened)
    this.#seam = seam
  }

  override async beginTransaction(connection: Connection): Promise<void> {
    await this.#seam.before('begin')
    await super.beginTransaction(connection)
    this.#changed = new Set()
  }

  override async commitTransaction(connection: Connection): Promise<void> {
    const changed = this.#changed
    await this.#seam.before('commit')
    await super.commitTransaction(connection)
    this.#seam.wrote(changed)
    await this.#seam.after('commit', true)
  }

  override async runWithin<Row>(
    group: Parameters<SqliteDriver['runWithin']>[0],
    query: CompiledQuery,
  ): Promise<QueryResult<Row>> {
    await this.#seam.before(factsOf(query).label)
    const result = await super.runWithin<Row>(group, translated(query))
    if (hasChanged(result)) for (const table of factsOf(query).changes) this.#changed.add(table)
    return result
  }

  override async runAlone<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { label, changes } = factsOf(query)
    await this.#seam.before(label)
    const result = await super.runAlone<Row>(translated(query))
    if (hasChanged(result)) this.#seam.wrote(changes)
    await this.#seam.after(label, query.query.kind !== 'SelectQueryNode')
    return result
  }
}

/** True if a statement may have changed rows. A query that returns no rows has changed none. */
function hasChanged({ rows, numAffectedRows }: QueryResult<unknown>): boolean {
  return rows.length > 0 || numAffectedRows === undefined || numAffectedRows > 0n
}

function translated(query: CompiledQuery): CompiledQuery {
  const { text } = factsOf(query)
  return text === query.sql ? query : { ...query, sql: text }
}

interface Facts {
  /** The verb of the statement and its first table. */
  label: string
  /** All tables that the statement changes. */
  changes: readonly string[]
  /** The statement with the simulated clock. */
  text: string
}

/** Parses a statement once, however often it is sent. */
function factsOf({ sql }: CompiledQuery): Facts {
  const known = facts.get(sql)
  if (known) return known
  const changes = [...sql.matchAll(CHANGE)].map(([, table]) => String(table))
  const read = { label: labelOf(sql), changes, text: sql.replaceAll(CLOCK, 'simulated_now()') }
  facts.set(sql, read)
  return read
}
const facts = new Map<string, Facts>()

/** The verb of a statement and its first table. */
export function labelOf(sql: string): string {
  const verb = /^\s*(\w+)/.exec(sql)?.[1]?.toLowerCase() ?? ''
  const table = /(?:from|into|update) "?(\w+)/i.exec(sql)?.[1] ?? ''
  return table === '' ? verb : `${verb} ${table}`
}

const CHANGE = /\b(?:into|update|delete\s+from)\s+"?(\w+)/gi

/**
 * Opens the database for one process.
 * @returns the database, and `cut`, which closes it as the end of the process does: without a commit
 */
export function openSeam(
  file: string,
  seam: DatabaseSeam,
): { db: Database; cut: () => void; isWriting: () => boolean } {
  const open = (options: object) => {
    // A wait inside of SQLite would also block the process that holds the lock.
    const sqlite = new DatabaseSync(file, { timeout: 0, ...options })
    sqlite.function('simulated_now', () => BigInt(seam.now()))
    return sqlite
  }
  const writer = open({})
  writer.exec('PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON')
  const reader = open({ readOnly: true })
  const db = databaseOf(new SeamDriver({ writer, reader, patienceMs: PATIENCE_MS }, seam))
  const cut = () => {
    for (const sqlite of [writer, reader]) if (sqlite.isOpen) sqlite.close()
  }
  return { db, cut, isWriting: () => writer.isOpen && writer.isTransaction }
}
