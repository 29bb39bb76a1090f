import { type Kysely, sql } from 'kysely'

/** The addresses that a token may be used from; those from before may be used from anywhere. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`ALTER TABLE tokens ADD COLUMN cidrs text NOT NULL DEFAULT '[]'`).execute(db)
}
