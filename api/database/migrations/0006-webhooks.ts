import type { Kysely } from 'kysely'
import { sql } from 'kysely'

/**
 * Abandoned deliveries and deleted webhooks are cleared away in steps; a replaced secret signs for a while longer.
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
