import { type Kysely, sql } from 'kysely'

/** Backups are booted to see if they start. The newest of each server is due. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const available = `item_type = 'backup' AND status = 'available' AND deleted_at IS NULL`
const statements = [
  'ALTER TABLE snapshots ADD COLUMN boot_due_at bigint',
  'ALTER TABLE snapshots ADD COLUMN boot_checked_at bigint',
  'ALTER TABLE snapshots ADD COLUMN boot_result text',
  `UPDATE snapshots SET boot_due_at = created_at WHERE snapshot_id IN
    (SELECT MAX(snapshot_id) FROM snapshots WHERE ${available} AND expires_at IS NULL GROUP BY server_id)`,
  'CREATE INDEX snapshots_boot ON snapshots (boot_due_at, snapshot_id) WHERE boot_due_at IS NOT NULL',
]
