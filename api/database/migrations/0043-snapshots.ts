import { type Kysely, sql } from 'kysely'

/** Snapshots of servers' disks. Rows of deleted ones stay, because usage lists them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE snapshots (
    snapshot_id text PRIMARY KEY, account_id text NOT NULL, project_id text NOT NULL,
    server_id text NOT NULL, operation_id text, name text NOT NULL, zone_slug text NOT NULL, pool text NOT NULL,
    status text NOT NULL, bytes bigint, disk_gb integer NOT NULL, consistency text,
    template_id text NOT NULL, ssh_keys text NOT NULL, password text, instance_id text NOT NULL,
    price_month bigint NOT NULL, price_hour bigint NOT NULL, priced_at bigint NOT NULL,
    created_at bigint NOT NULL, updated_at bigint NOT NULL, deleted_at bigint, discarded integer NOT NULL)`,
  'CREATE INDEX snapshots_account ON snapshots (account_id, snapshot_id) WHERE deleted_at IS NULL',
  'CREATE INDEX snapshots_zone ON snapshots (zone_slug, priced_at) WHERE deleted_at IS NULL',
  'CREATE INDEX snapshots_deleted ON snapshots (deleted_at) WHERE deleted_at IS NOT NULL',
  'CREATE INDEX snapshots_left ON snapshots (pool) WHERE discarded = 0',
  'ALTER TABLE servers ADD COLUMN copying text',
  'ALTER TABLE servers ADD COLUMN snapshot_id text',
  'ALTER TABLE servers ADD COLUMN instance_id text',
  'CREATE INDEX servers_snapshot ON servers (snapshot_id) WHERE snapshot_id IS NOT NULL',
]
