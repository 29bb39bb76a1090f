import { type Kysely, sql } from 'kysely'

/** A look finds the oldest operations of each account, and those that it holds, however many others wait. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE INDEX operations_waiting ON operations (account_id, next_run_at) WHERE status IN ('pending', 'running')`,
  `CREATE INDEX operations_held ON operations (lease_owner) WHERE lease_until > 0`,
]
