import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * On PostgreSQL, samples lie in a partition for each tier and day. Rows from before stay where they are, in a table that
 * is dropped when they are too old: so nothing is copied, and no lock is held while rows are read. `kept_samples` has
 * both. The days to come are for processes of the version before, which create none.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (db.getExecutor().adapter instanceof SqliteAdapter) {
    await sql`CREATE VIEW kept_samples AS SELECT * FROM samples`.execute(db)
    return
  }
  const { rows } = await sql<{
    today: number
    is_filled: boolean
  }>`SELECT EXISTS (SELECT 1 FROM samples) AS is_filled,
    CAST(floor(EXTRACT(EPOCH FROM clock_timestamp()) / 86400) AS integer) AS today`.execute(db)
  const { today = 0, is_filled: isFilled = true } = rows[0] ?? {}
  const before = `samples_until_${today + 1}`
  const days = Array.from({ length: DAYS }, (_, at) => today - 1 + at)
  const statements = [
    `ALTER TABLE samples RENAME TO ${before}`,
    `ALTER INDEX samples_pkey RENAME TO ${before}_pkey`,
    `CREATE TABLE samples (LIKE ${before}, PRIMARY KEY (series, resolution, at)) PARTITION BY RANGE (resolution, at)`,
    ...TIERS.flatMap((tier) => days.map((day) => partition(tier, day))),
    `CREATE VIEW kept_samples AS SELECT * FROM samples${isFilled ? ` UNION ALL SELECT * FROM ${before}` : ''}`,
    ...(isFilled ? [] : [`DROP TABLE ${before}`]),
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const TIERS = [10, 60, 300]
const DAYS = 9

const partition = (tier: number, day: number) =>
  `CREATE TABLE samples_${tier}_${day} PARTITION OF samples
    FOR VALUES FROM (${tier}, ${day * 86_400}) TO (${tier}, ${(day + 1) * 86_400})`
