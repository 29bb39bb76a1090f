import { type Kysely, sql } from 'kysely'

/** The places from which people sign in. Nobody is mailed that a suspension has ended which did before the upgrade. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  "ALTER TABLE people ADD COLUMN places text NOT NULL DEFAULT '[]'",
  `INSERT INTO warnings (account_id, kind, since, sent_at)
    SELECT account_id, 'resumed', since, sent_at FROM warnings WHERE kind = 'suspended'
    AND account_id IN (SELECT account_id FROM ledgers WHERE depleted_since IS NULL)`,
  `INSERT INTO warnings (account_id, kind, since, sent_at)
    SELECT account_id, 'account_resumed', max(since), max(sent_at) FROM warnings
    WHERE kind IN ('account_suspended', 'account_frozen', 'account_closed')
    AND account_id IN (SELECT account_id FROM accounts WHERE status = 'active') GROUP BY account_id`,
]
