import { DatabaseSync } from 'node:sqlite'
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'
import { SqliteDriver } from './sqlite-driver.ts'

/**
 * Opens an SQLite database.
 * @param file path, or ":memory:"
 */
export function openSqlite(file: string): Database {
  const sqlite = new DatabaseSync(file)
  // FULL: a reply that says 202 must survive a power cut, not only a crash of this process.
  sqlite.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 10000',
  )
  return new Kysely<Schema>({
    dialect: {
      createDriver: () => new SqliteDriver(sqlite),
      createAdapter: () => new Adapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
}

/** Our driver lets Kysely have as many connections as it likes, and has its own way to make them take turns. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}
