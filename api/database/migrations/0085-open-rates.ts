import { type Kysely, sql } from 'kysely'

/**
 * Keeps the prices of open rates in their index, so that each order of an account with thousands of servers sums them up
 * without reading their rows. SQLite reads the rows for a column of the condition, too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`DROP INDEX rates_account`.execute(db)
  await sql`CREATE INDEX rates_account ON rates (account_id, price_hour, price_month, ends_at)
    WHERE ends_at IS NULL`.execute(db)
}
