import { type Kysely, sql } from 'kysely'

/** Rates that ended long ago are found without a look at all the rest. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE INDEX rates_ended ON rates (ends_at) WHERE ends_at IS NOT NULL`.execute(db)
}
