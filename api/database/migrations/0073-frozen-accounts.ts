import { type Kysely, sql } from 'kysely'

/** Adds since when an account is frozen. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE accounts ADD COLUMN frozen_at bigint').execute(db)
}
