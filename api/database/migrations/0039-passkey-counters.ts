import { type Kysely, sql } from 'kysely'

/** Adds the number of signatures that a passkey has made, as its device counts them; 0 if the device does not count. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE passkeys ADD COLUMN counter bigint NOT NULL DEFAULT 0`.execute(db)
}
