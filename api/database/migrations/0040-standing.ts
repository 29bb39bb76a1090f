import { type Kysely, sql } from 'kysely'

/**
 * Adds why and since when an account has its status, the warnings that were mailed to its people, and the terms that a
 * person has accepted.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE accounts ADD COLUMN status_reason text',
  'ALTER TABLE accounts ADD COLUMN status_since bigint',
  `CREATE TABLE warnings (
    account_id text NOT NULL, kind text NOT NULL, since bigint NOT NULL, sent_at bigint NOT NULL,
    PRIMARY KEY (account_id, kind))`,
  'CREATE INDEX ledgers_low ON ledgers (low_since) WHERE low_since IS NOT NULL',
  'ALTER TABLE people ADD COLUMN terms_version text',
  'ALTER TABLE people ADD COLUMN terms_accepted_at bigint',
]
