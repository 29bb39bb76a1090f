import { sql } from 'kysely'
import { onTestFinished, vi } from 'vitest'
import { type Database, isSqlite } from '../../../api/database/database.ts'

/**
 * Lets the database refuse to change some rows, as by a fault of the service that concerns them alone.
 * @param change such as `UPDATE ON servers`
 * @param rows the condition on OLD and NEW
 */
export async function refuse(db: Database, change: string, rows: string): Promise<void> {
  const trigger = sql.raw(`CREATE TRIGGER refused BEFORE ${change} FOR EACH ROW WHEN (${rows})`)
  if (isSqlite(db)) {
    await sql`${trigger} BEGIN SELECT RAISE(ABORT, 'refused'); END`.execute(db)
    return
  }
  await sql`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`.execute(db)
  await sql`${trigger} EXECUTE FUNCTION refuse()`.execute(db)
  // The next test uses the same database.
  onTestFinished(async () => {
    await sql`DROP FUNCTION refuse() CASCADE`.execute(db)
  })
}

/** Lets something happen before the next transaction of a process that stood still. */
export function beforeNextTransaction(db: Database, happen: () => Promise<unknown>): void {
  const begin = db.transaction.bind(db)
  vi.spyOn(db, 'transaction').mockImplementationOnce(() => {
    const next = begin()
    const execute = next.execute.bind(next)
    next.execute = async (run) => {
      await happen()
      return execute(run)
    }
    return next
  })
}
