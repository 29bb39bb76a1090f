import { type Kysely, sql } from 'kysely'

/** Adds the index by which an account's ended numbers beyond the newest are found. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      'CREATE INDEX hcloud_numbers_excess ON hcloud_numbers (account_id, number) WHERE ended_at IS NOT NULL',
    )
    .execute(db)
}
