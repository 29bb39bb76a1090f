import { type Kysely, sql } from 'kysely'

/** Corrections of documents that were issued: documents of their own, any number for a month. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE documents ADD COLUMN corrects text',
  'ALTER TABLE documents ADD COLUMN corrected text',
  'ALTER TABLE documents ADD COLUMN reference text',
  'CREATE UNIQUE INDEX documents_reference ON documents (reference)',
  'CREATE INDEX documents_issued ON documents (account_id, issued_at)',
  'CREATE INDEX documents_corrects ON documents (corrects) WHERE corrects IS NOT NULL',
]
