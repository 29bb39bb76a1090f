import { type Kysely, sql } from 'kysely'

/** The amount that an account may owe before its balance counts as used up. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE ledgers ADD COLUMN credit_limit bigint NOT NULL DEFAULT 0`.execute(db)
}
