import { type Kysely, sql } from 'kysely'

/** Prices that an operator sets for single accounts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE accounts ADD COLUMN price_percent integer NOT NULL DEFAULT 0',
  "ALTER TABLE accounts ADD COLUMN price_presets text NOT NULL DEFAULT '{}'",
  'ALTER TABLE accounts ADD COLUMN repriced_since bigint',
  'CREATE INDEX accounts_repriced ON accounts (repriced_since) WHERE repriced_since IS NOT NULL',
]
