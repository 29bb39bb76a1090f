import { type Kysely, sql } from 'kysely'

/** Adds the token that a token was created with. Earlier tokens have no parent. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `ALTER TABLE tokens ADD COLUMN parent_token_id text`,
  `CREATE INDEX tokens_parent ON tokens (parent_token_id) WHERE revoked_at IS NULL AND parent_token_id IS NOT NULL`,
]
