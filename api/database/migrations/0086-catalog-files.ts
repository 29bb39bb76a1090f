import { type Kysely, sql } from 'kysely'

/** The catalogue's file that each process reads, by its path on the host. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE processes ADD COLUMN catalog_file text').execute(db)
}
