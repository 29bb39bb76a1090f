import { type Kysely, sql } from 'kysely'

/** Adds tokens of the installation's operator, and the operator's own ids of accounts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE operator_tokens (
    token_id text PRIMARY KEY, name text NOT NULL, hash text NOT NULL UNIQUE, scopes text NOT NULL,
    cidrs text NOT NULL, created_by text NOT NULL, expires_at bigint NOT NULL, revoked_at bigint,
    last_used_at bigint, created_at bigint NOT NULL)`,
  'ALTER TABLE accounts ADD COLUMN external_id text',
  'CREATE UNIQUE INDEX accounts_external ON accounts (external_id)',
]
