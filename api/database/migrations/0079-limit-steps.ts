import { type Kysely, sql } from 'kysely'

/** One row: the steps by which limits of accounts grow with what they paid, where the limits are checked. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE limit_steps (
    limit_steps_id integer PRIMARY KEY CHECK (limit_steps_id = 1), steps text NOT NULL)`.execute(db)
}
