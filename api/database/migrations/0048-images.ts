import { type Kysely, sql } from 'kysely'

/** Images of customers, which lie beside snapshots. A server from an image without a template has its login user. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  "ALTER TABLE snapshots ADD COLUMN item_type text NOT NULL DEFAULT 'snapshot'",
  'ALTER TABLE snapshots ADD COLUMN status_reason text',
  'ALTER TABLE snapshots ADD COLUMN os_family text',
  'ALTER TABLE snapshots ADD COLUMN username text',
  'ALTER TABLE snapshots ADD COLUMN content_bytes bigint',
  'ALTER TABLE snapshots ADD COLUMN uploaded_bytes bigint NOT NULL DEFAULT 0',
  "CREATE INDEX snapshots_uploading ON snapshots (updated_at) WHERE status = 'uploading'",
  'ALTER TABLE servers ADD COLUMN username text',
]
