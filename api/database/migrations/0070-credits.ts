import { type Kysely, sql } from 'kysely'

/** Credit that ends: promo codes, what accounts got by them or by signing up, and the addresses that had a trial. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE promo_codes (
    promo_code_id text PRIMARY KEY, name text NOT NULL, hash text NOT NULL, amount bigint NOT NULL CHECK (amount > 0),
    credit_days bigint NOT NULL, max_uses bigint NOT NULL, uses bigint NOT NULL CHECK (uses <= max_uses),
    expires_at bigint NOT NULL, revoked_at bigint, created_at bigint NOT NULL)`,
  'CREATE UNIQUE INDEX promo_codes_hash ON promo_codes (hash)',
  'CREATE INDEX promo_codes_expiry ON promo_codes (expires_at)',
  `CREATE TABLE credits (
    credit_id text PRIMARY KEY, account_id text NOT NULL, promo_code_id text, amount bigint NOT NULL CHECK (amount > 0),
    unspent bigint NOT NULL CHECK (unspent >= 0), counted_to bigint NOT NULL, expired bigint NOT NULL,
    expires_at bigint NOT NULL, look_at bigint, ended_at bigint, created_at bigint NOT NULL)`,
  'CREATE UNIQUE INDEX credits_code ON credits (account_id, promo_code_id) WHERE promo_code_id IS NOT NULL',
  'CREATE INDEX credits_account ON credits (account_id, credit_id)',
  'CREATE INDEX credits_due ON credits (look_at) WHERE look_at IS NOT NULL',
  'CREATE INDEX credits_ended ON credits (ended_at) WHERE ended_at IS NOT NULL',
  'CREATE TABLE trials (address_hash text PRIMARY KEY, created_at bigint NOT NULL)',
]
