import { type Kysely, sql } from 'kysely'

/** Adds whether an account's servers may send mail, which the operator has to allow. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE accounts ADD COLUMN is_smtp_open integer NOT NULL DEFAULT 0`.execute(db)
}
