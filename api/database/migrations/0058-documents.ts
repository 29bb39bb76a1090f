import { type Kysely, sql } from 'kysely'

/** Invoices and statements of accounts, and where the issuing of each account's documents stands. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE ledgers ADD COLUMN documented_until bigint NOT NULL DEFAULT 0',
  'ALTER TABLE ledgers ADD COLUMN document_due_at bigint NOT NULL DEFAULT 0',
  'CREATE INDEX ledgers_documents ON ledgers (document_due_at)',
  // Charges, which are found by their hour, would make it a large index.
  'CREATE INDEX transactions_booked ON transactions (account_id, created_at) WHERE hour IS NULL',
  'CREATE INDEX billing_meters_running ON billing_meters (account_id) WHERE due_at IS NOT NULL',
  'CREATE TABLE document_series (seller text PRIMARY KEY, last_number bigint NOT NULL)',
  `CREATE TABLE documents (
    document_id text PRIMARY KEY, account_id text NOT NULL,
    seller text NOT NULL, sequence bigint NOT NULL, number text NOT NULL, type text NOT NULL,
    month bigint NOT NULL, last_transaction bigint NOT NULL,
    vat bigint NOT NULL, total bigint NOT NULL, opening_balance bigint NOT NULL, closing_balance bigint NOT NULL,
    content text NOT NULL, sha256 text NOT NULL, issued_at bigint NOT NULL)`,
  'CREATE UNIQUE INDEX documents_number ON documents (seller, sequence)',
  'CREATE UNIQUE INDEX documents_month ON documents (account_id, month)',
]
