import { type Kysely, sql } from 'kysely'

/** Keys that people sign in with instead of a password. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE passkeys (
    passkey_id text PRIMARY KEY, person_id text NOT NULL, credential_id text NOT NULL UNIQUE,
    public_key text NOT NULL, is_synced integer NOT NULL,
    name text NOT NULL, created_at bigint NOT NULL, last_used_at bigint
  )`,
  `CREATE INDEX passkeys_person ON passkeys (person_id, passkey_id)`,
]
