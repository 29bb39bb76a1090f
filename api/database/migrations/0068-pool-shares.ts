import { type Kysely, sql } from 'kysely'

/** Which process looks after the machines of which pool. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE pool_shares (pool text PRIMARY KEY, owner text NOT NULL, given_by text NOT NULL)`.execute(
    db,
  )
}
