import { type Kysely, sql } from 'kysely'

/** Adds whether a published port leads to its server, or will from the server's next start. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`ALTER TABLE ports ADD COLUMN status text NOT NULL DEFAULT 'active'`).execute(db)
}
