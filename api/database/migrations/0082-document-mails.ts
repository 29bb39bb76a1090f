import { type Kysely, sql } from 'kysely'

/** When a document's people are to be mailed about it; null for those that need no mail. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE documents ADD COLUMN mail_at bigint`.execute(db)
  await sql`CREATE INDEX documents_mail ON documents (mail_at) WHERE mail_at IS NOT NULL`.execute(db)
}
