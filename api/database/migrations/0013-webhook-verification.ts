import { type Kysely, sql } from 'kysely'

/**
 * Adds whether an endpoint has answered a challenge. Earlier webhooks are trusted, since they would stop otherwise.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `ALTER TABLE webhooks ADD COLUMN verification text NOT NULL DEFAULT 'verified'`,
  `ALTER TABLE webhooks ADD COLUMN verification_error text`,
  `ALTER TABLE webhooks ADD COLUMN challenged_at bigint`,
  `ALTER TABLE webhooks ADD COLUMN challenges integer NOT NULL DEFAULT 0`,
  `ALTER TABLE webhooks ADD COLUMN verified_addresses text`,
]
