import { type Kysely, sql } from 'kysely'

/**
 * Adds indexes by which servers about to be billed or suspended are found without reading those that run or are off.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE INDEX servers_ordered ON servers (account_id)
    WHERE deleted_at IS NULL AND status NOT IN ('running', 'stopped', 'stopping', 'error', 'deleting')`.execute(
    db,
  )
}
