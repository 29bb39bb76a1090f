import { type Kysely, sql } from 'kysely'

/** Adds the copy that a server's disk was made from, which changes with the disk and not with the order. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE servers ADD COLUMN source_id text`.execute(db)
  await sql`UPDATE servers SET source_id = snapshot_id WHERE snapshot_id IS NOT NULL`.execute(db)
}
