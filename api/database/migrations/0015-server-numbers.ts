import { type Kysely, sql } from 'kysely'

/** The place of a server in the network, from which its addresses follow. Of the installation: pools get other names. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `ALTER TABLE servers ADD COLUMN number integer`,
  `UPDATE servers SET number = numbered.place FROM (
     SELECT server_id, row_number() OVER (ORDER BY server_id) AS place
     FROM servers WHERE deleted_at IS NULL) AS numbered
   WHERE servers.server_id = numbered.server_id`,
  `CREATE UNIQUE INDEX servers_number ON servers (number) WHERE number IS NOT NULL`,
]
