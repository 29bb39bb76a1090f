import { type Kysely, sql } from 'kysely'

/** The moment when the operator suspended or resumed a server by itself, until people were mailed about it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE servers ADD COLUMN hold_changed_at bigint',
  'CREATE INDEX servers_hold_changed ON servers (hold_changed_at) WHERE hold_changed_at IS NOT NULL',
]
