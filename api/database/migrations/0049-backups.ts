import { type Kysely, sql } from 'kysely'

/**
 * Backups lie beside snapshots, and expire. A server's row has when the next one is due, and the price. Copies have when
 * they were last found to be as they were made.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE snapshots ADD COLUMN expires_at bigint',
  'ALTER TABLE snapshots ADD COLUMN verified_at bigint',
  'ALTER TABLE snapshots ADD COLUMN verified_by text',
  'ALTER TABLE snapshots ADD COLUMN verify_due_at bigint',
  `UPDATE snapshots SET verify_due_at = created_at WHERE status = 'available' AND deleted_at IS NULL`,
  `CREATE INDEX snapshots_backup ON snapshots (server_id, snapshot_id)
    WHERE item_type = 'backup' AND deleted_at IS NULL`,
  'CREATE INDEX snapshots_expiring ON snapshots (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL',
  `CREATE INDEX snapshots_unverified ON snapshots (pool, verify_due_at)
    WHERE verify_due_at IS NOT NULL AND deleted_at IS NULL`,
  'ALTER TABLE servers ADD COLUMN backup_hour integer',
  'ALTER TABLE servers ADD COLUMN backup_due_at bigint',
  'ALTER TABLE servers ADD COLUMN backup_item text',
  'ALTER TABLE servers ADD COLUMN backup_price_month bigint NOT NULL DEFAULT 0',
  'ALTER TABLE servers ADD COLUMN backup_price_hour bigint NOT NULL DEFAULT 0',
  'ALTER TABLE servers ADD COLUMN backing_up text',
  'CREATE INDEX servers_backup ON servers (backup_due_at) WHERE backup_due_at IS NOT NULL',
  'CREATE INDEX servers_backing ON servers (pool) WHERE backing_up IS NOT NULL',
]
