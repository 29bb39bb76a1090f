import { type Kysely, sql } from 'kysely'

/** Apps with codes, the codes that stand in for them, and tickets that were used. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE two_factors (
    person_id text PRIMARY KEY, secret text NOT NULL, enabled_at bigint, last_step bigint NOT NULL,
    created_at bigint NOT NULL
  )`,
  `CREATE TABLE recovery_codes (hash text PRIMARY KEY, person_id text NOT NULL)`,
  `CREATE INDEX recovery_codes_person ON recovery_codes (person_id)`,
  `CREATE TABLE spent_tickets (ticket_id text PRIMARY KEY, expires_at bigint NOT NULL)`,
  `CREATE INDEX spent_tickets_expiry ON spent_tickets (expires_at)`,
]
