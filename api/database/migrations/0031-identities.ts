import { type Kysely, sql } from 'kysely'

/** Adds the identities at the OpenID Connect provider that belong to people. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE identities (
    person_id text PRIMARY KEY, issuer text NOT NULL, subject text NOT NULL, created_at bigint NOT NULL,
    UNIQUE (issuer, subject)
  )`,
]
