import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'

/** Bounds the cache of prepared statements; the program has some hundred different ones. */
const CACHED_STATEMENTS = 500

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
  return new Kysely<Schema>({ dialect: new SqliteDialect({ database: adapt(sqlite) }) })
}

/** node:sqlite in the shape that Kysely's dialect expects, with statements prepared once. */
function adapt(sqlite: DatabaseSync) {
  const cache = new Map<string, ReturnType<typeof wrap>>()
  return {
    close: () => sqlite.close(),
    prepare(sql: string) {
      let statement = cache.get(sql)
      if (!statement) {
        statement = wrap(sqlite.prepare(sql))
        if (cache.size >= CACHED_STATEMENTS) cache.clear()
        cache.set(sql, statement)
      }
      return statement
    },
  }
}

function wrap(statement: StatementSync) {
  // Kysely hands over what the columns allow: text, integers and null.
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    all: (parameters: readonly unknown[]) => statement.all(...values(parameters)),
    run: (parameters: readonly unknown[]) => statement.run(...values(parameters)),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...values(parameters)),
  }
}
