import { type Kysely, sql } from 'kysely'

/** Signs of abuse, one for each kind and subject, and which card paid: a keyed hash, by which accounts share one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE signs (
    sign_id text PRIMARY KEY, kind text NOT NULL, subject text NOT NULL, account_id text, accounts text NOT NULL,
    since bigint NOT NULL, seen_at bigint NOT NULL, figure bigint NOT NULL, peak bigint NOT NULL)`,
  'CREATE UNIQUE INDEX signs_subject ON signs (kind, subject)',
  'CREATE INDEX signs_seen ON signs (seen_at)',
  'CREATE INDEX signs_account ON signs (account_id, seen_at)',
  'ALTER TABLE payments ADD COLUMN card text',
  'CREATE INDEX payments_card ON payments (created_at) WHERE card IS NOT NULL',
]
