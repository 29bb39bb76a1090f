import { type Kysely, sql } from 'kysely'

/** Complaints about servers and accounts, each with the answers of its customer and of the operator. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE complaints (
    complaint_id text PRIMARY KEY, account_id text NOT NULL, server_id text, server_name text, kind text NOT NULL,
    text text NOT NULL, messages text NOT NULL, deadline_at bigint NOT NULL, answered_at bigint, letter text,
    letter_at bigint, reminded_at bigint, outcome text, closed_at bigint, created_at bigint NOT NULL,
    updated_at bigint NOT NULL)`,
  'CREATE INDEX complaints_account ON complaints (account_id, complaint_id)',
  'CREATE INDEX complaints_open ON complaints (deadline_at) WHERE closed_at IS NULL',
  'CREATE INDEX complaints_closed ON complaints (closed_at) WHERE closed_at IS NOT NULL',
  'CREATE INDEX complaints_letter ON complaints (letter_at) WHERE letter_at IS NOT NULL',
]
