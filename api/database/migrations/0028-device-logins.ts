import { type Kysely, sql } from 'kysely'

/** Programs that ask to be let in from a machine without a browser, until somebody approves it in one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE device_logins (
    device_hash text PRIMARY KEY, user_hash text NOT NULL UNIQUE, client_name text NOT NULL, address text NOT NULL,
    scopes text, account_id text, person_id text, status text NOT NULL, created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  `CREATE INDEX device_logins_expiry ON device_logins (expires_at)`,
]
