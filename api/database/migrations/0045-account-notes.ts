import { type Kysely, sql } from 'kysely'

/** Adds the operator's own tags and notes of accounts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  "ALTER TABLE accounts ADD COLUMN tags text NOT NULL DEFAULT '[]'",
  'ALTER TABLE accounts ADD COLUMN notes text',
]
