import { type Kysely, sql } from 'kysely'

/** The reverse DNS names that name servers were given. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE reverse_records (
    address text PRIMARY KEY, name text, place text NOT NULL, failures integer NOT NULL, look_at bigint NOT NULL)`,
  `CREATE INDEX addresses_named ON addresses (address)
    WHERE reverse_dns IS NOT NULL AND released_at IS NULL`,
]
