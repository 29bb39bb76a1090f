import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { inject } from 'vitest'
import type { Database } from '../../api/database/database.ts'
import { migrate } from '../../api/database/migrate.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import { openSqlite } from '../../api/database/sqlite.ts'

/**
 * A fresh database of the kind that the vitest project names, at the newest schema, or at that of the migration
 * `upTo`.
 */
export async function testDatabase({
  upTo = '9999',
} = {}): Promise<{ db: Database; drop: () => Promise<void> }> {
  if (process.env.BERTH_TEST_DATABASE !== 'postgres') {
    const db = openSqlite(':memory:')
    await migrate(db, { upTo })
    return { db, drop: async () => {} }
  }
  // A schema of its own is as good as a database of its own, and made in a tenth of the time.
  const url = inject('postgresUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const admin = openPostgres(url)
  await sql`CREATE SCHEMA ${sql.id(name)}`.execute(admin)
  const db = openPostgres(`${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`)
  await migrate(db, { upTo })
  const drop = async () => {
    await sql`DROP SCHEMA ${sql.id(name)} CASCADE`.execute(admin)
    await admin.destroy()
  }
  return { db, drop }
}
