import { type Kysely, sql } from 'kysely'

/** Adds the pool of a server's machine. Before, there was one pool. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`ALTER TABLE servers ADD COLUMN pool text NOT NULL DEFAULT 'local'`).execute(db)
}
