import { type Compilable, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import { costsNow, hourlyCost } from '../../../api/billing/rates.ts'
import { type Database, isSqlite, migrations } from '../../../api/database/database.ts'
import { claiming } from '../../../api/operations/store.ts'
import { orderedSums } from '../../../api/servers/store.ts'
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

/** An empty database with two accounts, which no test has used: PostgreSQL keeps statistics of rows that are gone. */
async function withAccounts(): Promise<{ db: Database; own: string; other: string }> {
  const { db, drop } = await testDatabase({ upTo: Object.keys(migrations).at(-1) ?? '' })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const clock = new ManualClock()
  const [own, other] = await Promise.all(
    ['a', 'b'].map(async (name) => createAccount(db, clock, { email: `${name}@example.com`, name })),
  )
  return { db, own: own ?? '', other: other ?? '' }
}

test('the sums of an order cost the same however many stopped or deleted servers the account has', async () => {
  const { db, own, other } = await withAccounts()
  const query = orderedSums(db, own)
  // A named statement keeps its first plan, made before PostgreSQL has seen a row.
  expect(await planOf(db, query)).toContain('servers_ordered')
  const price = { price_hour: 1, price_month: 1 }
  const off = (n: number) => (n % 2 === 0 ? ('stopped' as const) : ('deleting' as const))
  const rows = Array.from({ length: 3_000 }, (_, n) => ({
    ...serverRow({ server_id: `s${n}`, account_id: n < 1_500 ? own : other, ...price }, 0),
    // Servers suspended in other accounts are not read, nor are those that are off.
    status: n === 0 ? ('starting' as const) : n < 1_500 ? off(n) : ('suspended' as const),
    billed_since: n === 0 ? null : 0,
    deleted_at: n % 2 === 0 ? null : 1,
  }))
  for (let at = 0; at < rows.length; at += 500)
    await db
      .insertInto('servers')
      .values(rows.slice(at, at + 500))
      .execute()
  await sql`ANALYZE`.execute(db)
  expect(await query.execute()).toEqual([{ unbilled: isSqlite(db) ? 1 : '1', resizing: 0 }])
  expect(await planOf(db, query)).toContain('servers_ordered')
})

test('the cost of an account’s objects is read from the index alone', async () => {
  const { db, own, other } = await withAccounts()
  const price = { price_hour: 2, price_month: 1_000, traffic_gb: 0, traffic_price: 0 }
  const rows = Array.from({ length: 3_000 }, (_, n) => ({
    ...{ item_type: 'server' as const, item_id: `s${n}`, server_id: `s${n}`, starts_at: 0, ends_at: null },
    ...{ ...price, account_id: n % 10 === 0 ? own : other },
  }))
  for (let at = 0; at < rows.length; at += 500)
    await db
      .insertInto('rates')
      .values(rows.slice(at, at + 500))
      .execute()
  await sql`ANALYZE`.execute(db)
  expect((await costsNow(db, [own])).get(own)).toEqual({ hour: 600, month: 300_000 })
  // PostgreSQL chooses by how much of the table it has vacuumed.
  const plan = await planOf(db, hourlyCost(db, own))
  expect(plan).toContain(isSqlite(db) ? 'COVERING INDEX rates_account' : 'rates_account')
})

/** A node of PostgreSQL's plan, with the rows that it returned on average, and those that it read in vain. */
interface Step {
  'Actual Loops': number
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: Step[]
}

/** The number of rows that all nodes of a plan have read. */
function rowsRead(step: Step): number {
  const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Join Filter': unjoined = 0 } = step
  const own = (step['Actual Rows'] + filtered + unjoined) * step['Actual Loops']
  return (step.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), own)
}

const onPostgres = test.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')

const shared = {
  ...{ subject_type: 'server', server_id: null, type: 'create', step: 'image', status: 'pending' as const },
  ...{ progress: 0, data: '{}', attempt: 0, next_run_at: 0, deadline_at: 1e9, created_at: 0 },
  ...{ error_code: null, error_message: null, started_at: null, finished_at: null, readable_until: null },
}

/** Operations that are due, or that a process holds. */
async function makeOperations(
  db: Database,
  account_id: string,
  count: number,
  lease_owner: string | null,
  turn = 0,
): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => {
    const id = `${account_id}-${lease_owner}-${turn}-${n}`
    const lease = { lease_owner, lease_until: lease_owner === null ? 0 : 1e9 }
    return { ...shared, ...lease, account_id, operation_id: id, subject_id: id }
  })
  for (let at = 0; at < count; at += 500)
    await db
      .insertInto('operations')
      .values(rows.slice(at, at + 500))
      .execute()
}

onPostgres('a look for work costs the same however many operations of one account wait', async () => {
  const { db, own, other } = await withAccounts()
  // A vacuum in the middle would be followed by other statistics, and plans, until the next analysis.
  const vacuumed = sql`ALTER TABLE operations RESET (autovacuum_enabled)`
  onTestFinished(async () => void (await vacuumed.execute(db)))
  await sql`ALTER TABLE operations SET (autovacuum_enabled = false)`.execute(db)
  // The worst statistics: of a large table in which every row was deleted just now.
  await makeOperations(db, own, 1_000, 'old')
  await db.deleteFrom('operations').execute()
  await sql`ANALYZE operations`.execute(db)
  const held = 100
  for (const owner of ['me', 'other']) await makeOperations(db, own, held, owner)
  await makeOperations(db, other, 5, null)
  const by = { owner: 'me', until: 1e9, limit: 32, share: 1e3, now: 1 }
  const compiled = claiming(db, by, ['server.create.image']).compile()
  const explain = 'EXPLAIN (ANALYZE, FORMAT JSON)'
  const read: number[] = []
  for (const [at, more] of [400, 4_000].entries()) {
    await makeOperations(db, own, more, null, at)
    const { rows: answer } = await db.executeQuery({ ...compiled, sql: `${explain} ${compiled.sql}` })
    // PostgreSQL returns one row with one column, which holds one plan.
    const [{ Plan }] = (answer as [{ 'QUERY PLAN': [{ Plan: Step }] }])[0]['QUERY PLAN']
    read.push(rowsRead(Plan))
  }
  // The first look takes 32, which the second one finds held and passes over.
  expect(read[1]).toBeLessThan((read[0] ?? 0) + 12 * 32)
  expect(read[0]).toBeLessThan(12 * (256 + 2 * held))
})
