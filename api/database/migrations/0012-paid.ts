import { type Kysely, sql } from 'kysely'

/** Adds the total that each account has paid: accounts that never paid have smaller quotas, and no grace period. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `ALTER TABLE ledgers ADD COLUMN paid bigint NOT NULL DEFAULT 0`,
  `UPDATE ledgers SET paid = (SELECT coalesce(sum(amount), 0) FROM transactions
    WHERE transactions.account_id = ledgers.account_id AND type = 'payment')`,
]
