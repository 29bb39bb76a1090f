import { type Kysely, sql } from 'kysely'

/** Methods of payment that customers save, and the payments that save or use one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE payment_methods (
    method_id text PRIMARY KEY, account_id text NOT NULL,
    provider text NOT NULL, provider_id text NOT NULL, customer_id text,
    brand text NOT NULL, last_four text, expires text,
    created_at bigint NOT NULL, removed_at bigint)`,
  'CREATE UNIQUE INDEX payment_methods_provider ON payment_methods (provider, provider_id)',
  'CREATE INDEX payment_methods_account ON payment_methods (account_id, method_id)',
  'CREATE INDEX payment_methods_removed ON payment_methods (removed_at) WHERE removed_at IS NOT NULL',
  'ALTER TABLE payments ADD COLUMN method_id text',
  'ALTER TABLE payments ADD COLUMN saves_method bigint NOT NULL DEFAULT 0',
  'CREATE INDEX payments_method ON payments (method_id) WHERE method_id IS NOT NULL',
]
