import { type Kysely, sql } from 'kysely'

/** Events that a token may not see are passed over within the index, and old ones are found by their age. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `DROP INDEX events_account`,
  `CREATE INDEX events_account ON events (account_id, position, type)`,
  `CREATE INDEX events_age ON events (created_at)`,
]
