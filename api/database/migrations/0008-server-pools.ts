import { type Kysely, sql } from 'kysely'

/** Where the machine of a server is. Until now there was one pool. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`ALTER TABLE servers ADD COLUMN pool text NOT NULL DEFAULT 'local'`).execute(db)
}
