import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type Database, migrations } from '../../../api/database/database.ts'
import { testDatabase } from '../../harness/database.ts'
import { serverRow } from '../../harness/server-row.ts'

/** Accounts, entries and servers as 0001 knew them. */
async function fillOld(db: Database): Promise<void> {
  const account = {
    email: 'a@example.com',
    name: 'A',
    status: 'active',
    default_project_id: 'p',
    quotas: '{}',
  }
  const used = { servers_used: 0, cpu_used: 0, ram_mb_used: 0, disk_gb_used: 0, created_at: 0 }
  const insert = async (table: string, row: Record<string, unknown>) => {
    const columns = sql.join(Object.keys(row).map((name) => sql.ref(name)))
    await sql`INSERT INTO ${sql.table(table)} (${columns}) VALUES (${sql.join(Object.values(row))})`.execute(
      db,
    )
  }
  for (const [id, balance] of Object.entries({ a: 70, b: 0 }))
    await insert('accounts', { ...account, ...used, account_id: id, email: `${id}@example.com`, balance })
  for (const [n, amount, balance_after] of [
    [1, 100, 100],
    [2, -50, 50],
    [3, 20, 70],
  ]) {
    const entry = { transaction_id: `t${n}`, account_id: 'a', type: 'payment', amount, balance_after }
    await insert('transactions', {
      ...entry,
      server_id: null,
      description: '',
      reference: `r${n}`,
      created_at: n,
    })
  }
  const server = { server_id: 's', account_id: 'a', price_hour: 12_329, price_month: 9_000_000 }
  const { priced_at: _, suspended_from: __, pool: ___, ...row } = serverRow(server, 5_000)
  await insert('servers', row)
  await insert('servers', { ...row, server_id: 'never', billed_since: null })
  await insert('servers', { ...row, server_id: 'gone', deleted_at: 6_000 })
}

test('a ledger from before it was a chain becomes one, and its servers are metered from then on', async () => {
  const { db, drop } = await testDatabase({ upTo: '0002-samples' })
  await fillOld(db)
  const before = Date.now()
  await migrations['0003-ledger']?.up(db)
  const entries = await db
    .selectFrom('transactions')
    .select(['sequence', 'previous', 'balance_before', 'amount', 'balance_after', 'reference'])
    .orderBy('sequence')
    .execute()
  expect(entries.map((entry) => Object.values(entry))).toEqual([
    [1, null, 0, 100, 100, 'r1'],
    [2, 1, 100, -50, 50, 'r2'],
    [3, 2, 50, 20, 70, 'r3'],
  ])
  const ledgers = await db
    .selectFrom('ledgers')
    .select(['account_id', 'sequence', 'balance'])
    .orderBy('account_id')
    .execute()
  expect(ledgers.map((ledger) => Object.values(ledger))).toEqual([
    ['a', 3, 70],
    ['b', null, 0],
  ])
  const rates = await db.selectFrom('rates').selectAll().execute()
  expect(rates).toMatchObject([{ server_id: 's', ends_at: null, price_hour: 12_329, price_month: 9_000_000 }])
  expect(rates[0]?.starts_at).toBeGreaterThan(before - 1_000)
  expect(
    (await db.selectFrom('servers').select('priced_at').execute()).map((each) => each.priced_at),
  ).toEqual([5_000, 5_000, 5_000])
  await drop()
})

test('a server from before there were pools is in the one that there was', async () => {
  const { db, drop } = await testDatabase({ upTo: '0002-samples' })
  await fillOld(db)
  await migrations['0008-server-pools']?.up(db)
  const pools = await db.selectFrom('servers').select('pool').execute()
  expect(pools.map(({ pool }) => pool)).toEqual(['local', 'local', 'local'])
  await drop()
})
