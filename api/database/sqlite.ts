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
/**
 * Most processes hold the lock only briefly. SQLite's own wait blocks this process, so longer waits are the
 * driver's.
 */
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

/** Returns Kysely's database on a driver. */
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

/**
 * SQLite has no syntax for row locks, but only one writer at a time, so transactions have their guarantees
 * anyway.
 */
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
 * Our driver gives Kysely any number of connections, and makes them take turns itself. So a query outside of
 * transactions need not get a connection from Kysely first, which takes longer than most queries.
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
