import { type Kysely, sql } from 'kysely'

/** Adds the operator's reasons for suspending single servers. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE servers ADD COLUMN suspension_reason text',
  'CREATE INDEX servers_held ON servers (server_id) WHERE suspension_reason IS NOT NULL',
]
