import { type Kysely, sql } from 'kysely'

/** Adds the process that carries out the request of a key, so that the key is free once the process is dead. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE idempotency_keys ADD COLUMN owner text`.execute(db)
}
