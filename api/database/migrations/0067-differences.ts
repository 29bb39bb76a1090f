import { type Kysely, sql } from 'kysely'

/** A backup may be a difference to a full one, whose size is part of its own. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE snapshots ADD COLUMN base_id text',
  'ALTER TABLE snapshots ADD COLUMN base_bytes bigint NOT NULL DEFAULT 0',
  'CREATE INDEX snapshots_base ON snapshots (base_id) WHERE base_id IS NOT NULL',
]
