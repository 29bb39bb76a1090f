import { type Kysely, sql } from 'kysely'

/** Which of several processes wrote down what somebody did: its logs have the rest. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE audit ADD COLUMN process text`.execute(db)
}
