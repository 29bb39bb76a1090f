import { type Kysely, sql } from 'kysely'

/** Adds indexes by which old and excess rows are found without reading all others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE INDEX idempotency_keys_old ON idempotency_keys (created_at)`,
  `CREATE INDEX tokens_revoked ON tokens (revoked_at) WHERE revoked_at IS NOT NULL`,
  `CREATE INDEX tokens_revoked_account ON tokens (account_id, revoked_at) WHERE revoked_at IS NOT NULL`,
  // A server's row can go when no operation names it.
  `CREATE INDEX operations_server ON operations (server_id) WHERE server_id IS NOT NULL`,
  `CREATE INDEX servers_deleted ON servers (deleted_at, server_id) WHERE deleted_at IS NOT NULL`,
]
