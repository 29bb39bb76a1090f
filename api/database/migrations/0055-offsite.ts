import { type Kysely, sql } from 'kysely'

/** Snapshots, images and backups are copied off site. Those that are there already are due, too. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE snapshots ADD COLUMN offsite_due_at bigint',
  'ALTER TABLE snapshots ADD COLUMN offsite_place text',
  'ALTER TABLE snapshots ADD COLUMN offsite_parts integer NOT NULL DEFAULT 0',
  'ALTER TABLE snapshots ADD COLUMN offsite_at bigint',
  'ALTER TABLE snapshots ADD COLUMN offsite_sha256 text',
  'ALTER TABLE snapshots ADD COLUMN offsite_fault text',
  `UPDATE snapshots SET offsite_due_at = created_at WHERE status = 'available' AND deleted_at IS NULL`,
  `CREATE INDEX snapshots_offsite ON snapshots (offsite_due_at, snapshot_id) WHERE offsite_due_at IS NOT NULL`,
]
