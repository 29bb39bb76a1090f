import { type Kysely, sql } from 'kysely'

/** Whether an account's servers may send mail: not until the operator says so. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE accounts ADD COLUMN is_smtp_open integer NOT NULL DEFAULT 0`.execute(db)
}
