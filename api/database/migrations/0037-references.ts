import { type Kysely, sql } from 'kysely'

/**
 * Makes the reference of a payment unique in the whole installation, and adds the amounts that requests booked to the
 * audit. Entries from before that share a reference stay; the earliest has it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'CREATE TABLE booked_references (reference text PRIMARY KEY, account_id text NOT NULL, sequence bigint NOT NULL)',
  `INSERT INTO booked_references
    SELECT reference, account_id, sequence FROM (
      SELECT reference, account_id, sequence,
        row_number() OVER (PARTITION BY reference ORDER BY created_at, account_id, sequence) AS place
      FROM transactions WHERE reference IS NOT NULL) AS booked
    WHERE place = 1`,
  'ALTER TABLE audit ADD COLUMN amount bigint',
]
