import { type Kysely, sql } from 'kysely'

/** Disks that can be moved between servers. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE volumes (
    volume_id text PRIMARY KEY, account_id text NOT NULL, project_id text NOT NULL, name text NOT NULL,
    zone_slug text NOT NULL, pool text NOT NULL, size_gb integer NOT NULL CHECK (size_gb > 0), status text NOT NULL,
    server_id text, device text, price_month bigint NOT NULL, price_hour bigint NOT NULL, priced_at bigint NOT NULL,
    created_at bigint NOT NULL, updated_at bigint NOT NULL, deleted_at bigint
  )`,
  'CREATE INDEX volumes_account ON volumes (account_id, volume_id)',
  'CREATE INDEX volumes_server ON volumes (server_id) WHERE server_id IS NOT NULL',
  'CREATE INDEX volumes_zone ON volumes (zone_slug, priced_at) WHERE deleted_at IS NULL',
  'CREATE INDEX volumes_deleted ON volumes (deleted_at) WHERE deleted_at IS NOT NULL',
]
