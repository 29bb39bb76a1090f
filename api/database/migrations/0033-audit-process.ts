import { type Kysely, sql } from 'kysely'

/** Adds the process that wrote an audit entry, whose logs have the details. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE audit ADD COLUMN process text`.execute(db)
}
