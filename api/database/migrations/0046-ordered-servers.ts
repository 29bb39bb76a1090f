import { type Kysely, sql } from 'kysely'

/**
 * Takes deleted servers out of the condition of an index, which they never met: they keep the status `deleting`. A query
 * with this condition fits no other index.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`DROP INDEX servers_ordered`.execute(db)
  await sql`CREATE INDEX servers_ordered ON servers (account_id)
    WHERE status NOT IN ('running', 'stopped', 'stopping', 'error', 'deleting')`.execute(db)
}
