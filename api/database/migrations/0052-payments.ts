import { type Kysely, sql } from 'kysely'

/** Payments through providers, and what is taken back of them: refunds and disputes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE payments (
    payment_id text PRIMARY KEY, account_id text NOT NULL,
    provider text NOT NULL, provider_id text, charge_id text, status text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0), refunded bigint NOT NULL, disputed bigint NOT NULL,
    url text, return_url text NOT NULL, problem text,
    created_at bigint NOT NULL, booked_at bigint, looked_at bigint, look_at bigint)`,
  'CREATE UNIQUE INDEX payments_provider ON payments (provider, provider_id)',
  'CREATE INDEX payments_charge ON payments (provider, charge_id)',
  'CREATE INDEX payments_account ON payments (account_id, payment_id)',
  'CREATE INDEX payments_due ON payments (look_at) WHERE look_at IS NOT NULL',
  'CREATE INDEX payments_problem ON payments (payment_id) WHERE problem IS NOT NULL',
  `CREATE TABLE payment_returns (
    return_id text PRIMARY KEY, payment_id text NOT NULL REFERENCES payments (payment_id),
    kind text NOT NULL, provider_id text, amount bigint NOT NULL CHECK (amount > 0),
    status text NOT NULL, reason text, created_at bigint NOT NULL)`,
  'CREATE UNIQUE INDEX payment_returns_provider ON payment_returns (payment_id, kind, provider_id)',
]
