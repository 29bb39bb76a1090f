import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import {
  type CompiledQuery,
  Kysely,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'
import { SqliteDriver } from './sqlite-driver.ts'

/** The time another process may hold the database's lock before the caller gets an error. */
const PATIENCE_MS = 10_000
/** Most processes hold it for a moment only; a longer wait, in which this one stands still, is the driver's. */
const STANDSTILL_MS = 10

/**
 * Opens an SQLite database.
 * @param file its path; two connections can't share one in memory
 */
export function openSqlite(file: string, { patienceMs = PATIENCE_MS } = {}): Database {
  const sqlite = new DatabaseSync(file, { timeout: patienceMs })
  // FULL: a reply that says 202 must survive a power cut, not only a crash of this process.
  sqlite.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  sqlite.exec(`PRAGMA busy_timeout = ${STANDSTILL_MS}`)
  const reader = new DatabaseSync(file, { readOnly: true, timeout: STANDSTILL_MS })
  return databaseOf(new SqliteDriver({ writer: sqlite, reader, patienceMs }))
}

/** The database that a driver serves. */
export function databaseOf(driver: SqliteDriver): Database {
  return new Kysely<Schema>({
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new SqliteShortcut(driver),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteCompiler(),
    },
  })
}

/**
 * Copies the committed data of a database to a new file, while others may read and write the database. The copy is
 * complete, on the disk, and needs no other file.
 * @param to must not exist
 */
export function copySqlite(file: string, to: string): void {
  closeSync(openSync(to, 'wx', 0o600))
  const sqlite = new DatabaseSync(file, { timeout: PATIENCE_MS })
  try {
    sqlite.prepare('VACUUM INTO ?').run(to)
  } finally {
    sqlite.close()
  }
  // SQLite leaves it to the system when the copy reaches the disk.
  const copy = openSync(to, 'r+')
  fsyncSync(copy)
  closeSync(copy)
}

const LOCKS: readonly SelectModifierNode['modifier'][] = ['ForUpdate', 'ForNoKeyUpdate', 'SkipLocked']

/** SQLite has one writer at a time and no syntax for row locks, whose guarantees hold anyway within a transaction. */
class SqliteCompiler extends SqliteQueryCompiler {
  /**
   * SQLite compares a bare parameter with the condition of each partial index, and for that plans the statement anew
   * in each run, which takes up to ten times as long as the run.
   */
  protected override getCurrentParameterPlaceholder(): string {
    return '+?'
  }

  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (!LOCKS.includes(node.modifier)) super.visitSelectModifier(node)
  }
}

/**
 * Our driver lets Kysely have as many connections as it likes, and has its own way to make them take turns. So a
 * query outside of transactions need not get one from Kysely first, which takes longer than most of them run.
 */
export class SqliteShortcut extends SqliteAdapter {
  readonly #driver: SqliteDriver

  constructor(driver: SqliteDriver) {
    super()
    this.#driver = driver
  }

  override get supportsMultipleConnections(): boolean {
    return true
  }

  run<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
    return this.#driver.runAlone(query)
  }
}
