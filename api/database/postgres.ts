import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'

const INT8 = 20

/**
 * Opens a PostgreSQL database. Our bigints are times and money, all within 2^53, so they are read as numbers.
 * @param url postgres://user:password@host:port/name
 * @param onIdleError called when the server ends a connection that nobody uses; the pool opens another one
 */
export function openPostgres(url: string, onIdleError: (error: Error) => void = () => {}): Database {
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, (text: string) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value)) throw new RangeError(`the database holds ${text}, which is beyond 2^53`)
    return value
  })
  const pool = new pg.Pool({ connectionString: url, types, max: 10 })
  // Without a listener a restart of the database would end this process too.
  pool.on('error', onIdleError)
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
}
