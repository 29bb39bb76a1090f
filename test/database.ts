import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { inject } from 'vitest'
import { type Database, migrate, migrations } from '../api/database/database.ts'
import { openPostgres } from '../api/database/postgres.ts'
import { openSqlite } from '../api/database/sqlite.ts'

/** A fresh database at the newest schema, of the kind that the vitest project names. */
export async function testDatabase(): Promise<{ db: Database; drop: () => Promise<void> }> {
  if (process.env.BERTH_TEST_DATABASE !== 'postgres') {
    const db = openSqlite(':memory:')
    await migrate(db)
    return { db, drop: async () => {} }
  }
  // A schema of its own is as good as a database of its own, and made in a tenth of the time.
  const url = inject('postgresUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const admin = openPostgres(url)
  await sql`CREATE SCHEMA ${sql.id(name)}`.execute(admin)
  const db = openPostgres(`${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`)
  for (const migration of Object.values(migrations)) await migration.up(db)
  const drop = async () => {
    await sql`DROP SCHEMA ${sql.id(name)} CASCADE`.execute(admin)
    await admin.destroy()
  }
  return { db, drop }
}
