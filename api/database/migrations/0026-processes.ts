import { type Kysely, sql } from 'kysely'

/** Several processes on one database: who is there, and who does what for all; and what was in the memory of one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE processes (
    process_id text PRIMARY KEY, role text NOT NULL, host text NOT NULL, pid integer NOT NULL,
    started_at bigint NOT NULL, seen_at bigint NOT NULL
  )`,
  `CREATE TABLE duties (name text PRIMARY KEY, owner text)`,
  `INSERT INTO duties (name) VALUES
    ('reconciler'), ('sampler'), ('billing'), ('relay'), ('retention'), ('totals')`,
  `CREATE TABLE simulated_machines (server_id text PRIMARY KEY, machine text NOT NULL)`,
  `CREATE TABLE console_tickets (
    ticket text PRIMARY KEY, account_id text NOT NULL, credential text NOT NULL, server_id text NOT NULL,
    pool text NOT NULL, issued_at bigint NOT NULL
  )`,
  `CREATE INDEX console_tickets_account ON console_tickets (account_id, issued_at)`,
]
