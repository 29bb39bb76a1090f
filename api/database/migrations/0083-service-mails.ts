import { type Kysely, sql } from 'kysely'

/** Since when a server is down, and when a backup failed, until people were mailed about it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE servers ADD COLUMN down_at bigint',
  'CREATE INDEX servers_down ON servers (down_at) WHERE down_at IS NOT NULL',
  'ALTER TABLE snapshots ADD COLUMN failed_at bigint',
  'CREATE INDEX snapshots_failed ON snapshots (failed_at) WHERE failed_at IS NOT NULL',
]
