import { type Kysely, sql } from 'kysely'

/** Adds recent attempts at a person, such as passwords, counted for all processes together. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'CREATE TABLE attempts (attempt_key text PRIMARY KEY, expires_at bigint NOT NULL)',
  'CREATE INDEX attempts_expiry ON attempts (expires_at)',
]
