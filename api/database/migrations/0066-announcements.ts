import { type Kysely, sql } from 'kysely'

/** Announcements of the operator, and the kinds of mails that a person does not want. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE announcements (
    announcement_id text PRIMARY KEY, kind text NOT NULL, text_en text NOT NULL, text_ru text NOT NULL,
    zones text NOT NULL, starts_at bigint NOT NULL, ends_at bigint, ended_at bigint,
    digest text, mailed_to text NOT NULL, mailed_at bigint, created_at bigint NOT NULL, updated_at bigint NOT NULL)`,
  'CREATE INDEX announcements_open ON announcements (announcement_id) WHERE ended_at IS NULL',
  'CREATE UNIQUE INDEX announcements_digest ON announcements (digest) WHERE ended_at IS NULL',
  `ALTER TABLE people ADD COLUMN muted_mails text NOT NULL DEFAULT ''`,
]
