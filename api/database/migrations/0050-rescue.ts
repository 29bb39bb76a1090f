import { type Kysely, sql } from 'kysely'

/** The rescue system of servers, and its sealed login. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE servers ADD COLUMN rescue_id text').execute(db)
  await sql.raw('ALTER TABLE servers ADD COLUMN rescue_login text').execute(db)
}
