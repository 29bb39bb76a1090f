import { type Kysely, sql } from 'kysely'

/** Each process says if it looks after pools that are given to it: one of an earlier version does not. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE processes ADD COLUMN takes_pools integer NOT NULL DEFAULT 0`.execute(db)
}
