import { type Kysely, sql } from 'kysely'

/** Adds the time at which a server that stays suspended will be deleted. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE servers ADD COLUMN delete_at bigint`.execute(db)
}
