import type { Kysely } from 'kysely'
import { sql } from 'kysely'

/**
 * What is given up of a webhook's queue, and webhooks that are deleted, are cleared away in steps; a secret that was
 * replaced signs for a while yet.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `ALTER TABLE webhooks ADD COLUMN given_up_to bigint`,
  `ALTER TABLE webhooks ADD COLUMN deleted_at bigint`,
  `ALTER TABLE webhooks ADD COLUMN previous_secret text`,
  `ALTER TABLE webhooks ADD COLUMN previous_secret_until bigint`,
  // The newest of them are kept.
  `CREATE INDEX deliveries_finished ON deliveries (webhook_id, position) WHERE status <> 'pending'`,
]
