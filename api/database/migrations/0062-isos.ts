import { type Kysely, sql } from 'kysely'

/** The ISO in the drive of a server. ISOs themselves lie beside images. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE servers ADD COLUMN iso_id text').execute(db)
  await sql.raw('CREATE INDEX servers_iso ON servers (iso_id) WHERE iso_id IS NOT NULL').execute(db)
}
