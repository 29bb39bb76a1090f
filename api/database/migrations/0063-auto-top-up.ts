import { type Kysely, sql } from 'kysely'

/** Automatic top-ups: their settings, the payments that they begin, and the line in the ledger below which they do. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE auto_top_ups (
    account_id text PRIMARY KEY, below bigint NOT NULL, amount bigint NOT NULL, monthly_limit bigint NOT NULL,
    method_id text NOT NULL, payment_id text, declines bigint NOT NULL, off_reason text, updated_at bigint NOT NULL)`,
  'CREATE INDEX auto_top_ups_payment ON auto_top_ups (payment_id) WHERE payment_id IS NOT NULL',
  'CREATE INDEX auto_top_ups_method ON auto_top_ups (method_id)',
  'ALTER TABLE payments ADD COLUMN is_automatic bigint NOT NULL DEFAULT 0',
  `CREATE INDEX payments_automatic_open ON payments (account_id)
    WHERE is_automatic = 1 AND status = 'pending'`,
  'CREATE INDEX payments_automatic ON payments (account_id, created_at) WHERE is_automatic = 1',
  'ALTER TABLE ledgers ADD COLUMN top_up_below bigint',
  'ALTER TABLE ledgers ADD COLUMN top_up_at bigint',
  'CREATE INDEX ledgers_top_up ON ledgers (top_up_at) WHERE balance < top_up_below',
]
