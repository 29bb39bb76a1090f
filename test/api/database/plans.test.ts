import { type Compilable, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import { type Database, isSqlite } from '../../../api/database/database.ts'
import { unbilledCost } from '../../../api/servers/store.ts'
import { ManualClock } from '../../harness/clock.ts'
import { testDatabase } from '../../harness/database.ts'
import { serverRow } from '../../harness/server-row.ts'

/** How the database goes about a query. */
async function planOf(db: Database, query: Compilable<unknown>): Promise<string> {
  const compiled = query.compile()
  const explain = isSqlite(db) ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
  const { rows } = await db.executeQuery({ ...compiled, sql: `${explain} ${compiled.sql}` })
  return JSON.stringify(rows)
}

test('the sums of an order cost the same however many stopped or deleted servers the account has', async () => {
  const { db, drop } = await testDatabase()
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const clock = new ManualClock()
  const [own = '', other = ''] = await Promise.all(
    ['a', 'b'].map(async (name) => createAccount(db, clock, { email: `${name}@example.com`, name })),
  ).then((ids) => ids.map((id) => id ?? ''))
  const price = { price_hour: 1, price_month: 1 }
  const rows = Array.from({ length: 3_000 }, (_, n) => ({
    ...serverRow({ server_id: `s${n}`, account_id: n < 1_500 ? own : other, ...price }, 0),
    // Servers suspended in other accounts are not read, nor are those that are off.
    status: n === 0 ? ('starting' as const) : n < 1_500 ? ('stopped' as const) : ('suspended' as const),
    billed_since: n === 0 ? null : 0,
    deleted_at: n % 2 === 0 ? null : 1,
  }))
  for (let at = 0; at < rows.length; at += 500)
    await db
      .insertInto('servers')
      .values(rows.slice(at, at + 500))
      .execute()
  await sql`ANALYZE`.execute(db)
  const query = unbilledCost(db, own)
  expect(await query.execute()).toEqual([{ hour: isSqlite(db) ? 1 : '1' }])
  expect(await planOf(db, query)).toContain('servers_ordered')
})
