import { type Kysely, sql } from 'kysely'

/** What of an account is about to be billed, or suspended, is found without a look at what runs or is off. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE INDEX servers_ordered ON servers (account_id)
    WHERE deleted_at IS NULL AND status NOT IN ('running', 'stopped', 'stopping', 'error', 'deleting')`.execute(
    db,
  )
}
