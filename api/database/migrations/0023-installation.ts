import { type Kysely, sql } from 'kysely'

/** Adds facts about the installation as a whole, by name. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE installation (name text NOT NULL PRIMARY KEY, value text NOT NULL)`.execute(db)
}
