import { type Kysely, sql } from 'kysely'

/** People who sign in, the accounts that they are members of, their sessions, and mails on their way. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE people (
    person_id text PRIMARY KEY, email text NOT NULL UNIQUE, name text NOT NULL, language text NOT NULL,
    password text, is_operator integer NOT NULL, created_at bigint NOT NULL
  )`,
  `CREATE TABLE members (
    member_id text PRIMARY KEY, account_id text NOT NULL, person_id text NOT NULL, role text NOT NULL,
    created_at bigint NOT NULL
  )`,
  `CREATE UNIQUE INDEX members_person ON members (person_id, account_id)`,
  `CREATE INDEX members_account ON members (account_id, member_id)`,
  `CREATE TABLE sessions (
    session_id text PRIMARY KEY, person_id text NOT NULL, account_id text, hash text NOT NULL UNIQUE,
    address text NOT NULL, user_agent text NOT NULL, created_at bigint NOT NULL, last_used_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  `CREATE INDEX sessions_person ON sessions (person_id, session_id)`,
  `CREATE INDEX sessions_expiry ON sessions (expires_at)`,
  `CREATE TABLE links (
    hash text PRIMARY KEY, purpose text NOT NULL, email text NOT NULL, person_id text, language text NOT NULL,
    created_at bigint NOT NULL, expires_at bigint NOT NULL
  )`,
  `CREATE INDEX links_email ON links (email, purpose)`,
  `CREATE INDEX links_expiry ON links (expires_at)`,
  `CREATE TABLE invitations (
    invitation_id text PRIMARY KEY, account_id text NOT NULL, email text NOT NULL, role text NOT NULL,
    hash text NOT NULL UNIQUE, invited_by text, created_at bigint NOT NULL, expires_at bigint NOT NULL
  )`,
  `CREATE UNIQUE INDEX invitations_email ON invitations (account_id, email)`,
  `CREATE INDEX invitations_expiry ON invitations (expires_at)`,
  `CREATE TABLE mails (
    mail_id text PRIMARY KEY, content text NOT NULL, attempts integer NOT NULL, next_run_at bigint NOT NULL,
    created_at bigint NOT NULL
  )`,
  `CREATE INDEX mails_due ON mails (next_run_at)`,
  `ALTER TABLE audit ADD COLUMN person_id text`,
  `ALTER TABLE audit ADD COLUMN person_email text`,
  `ALTER TABLE tokens ADD COLUMN person_id text`,
  `CREATE INDEX tokens_person ON tokens (account_id, person_id) WHERE revoked_at IS NULL AND person_id IS NOT NULL`,
]
