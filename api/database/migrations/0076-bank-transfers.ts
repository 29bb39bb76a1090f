import { type Kysely, sql } from 'kysely'

/** Invoices that accounts pay by bank transfer, found again by their references. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE transfers (
    transfer_id text PRIMARY KEY, account_id text NOT NULL, reference text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0), seller text NOT NULL,
    arrived bigint NOT NULL CHECK (arrived >= 0), arrived_at bigint, expires_at bigint NOT NULL, created_at bigint NOT NULL)`,
  'CREATE UNIQUE INDEX transfers_reference ON transfers (reference)',
  'CREATE INDEX transfers_account ON transfers (account_id, transfer_id)',
]
