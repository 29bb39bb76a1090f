import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import { expect, test } from 'vitest'
import { charge as book } from '../../../api/billing/ledger.ts'
import { type Database, isSqlite, migrations } from '../../../api/database/database.ts'
import { parseMoney } from '../../../api/money.ts'
import { catalogWith } from '../../harness/addresses.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { testDatabase } from '../../harness/database.ts'
import { make } from '../harness/ordering.ts'

const HOUR = 3600_000

/** A server with a public address, and an address without a server, after two hours. */
async function charged(): Promise<{ t: TestApp; server: string; reserved: string }> {
  const t = await testApp({ catalog: catalogWith('public_ipv4: [203.0.113.0/28]', '73.00') })
  const server = await make(t, { enable_ipv6: false })
  const order = { zone_slug: 'local-1', family: 'ipv4' }
  const reserved = (await t.call('POST', '/addresses', order)).body.address_id
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  return { t, server, reserved }
}

const transactions = async (t: TestApp) => (await t.call('GET', '/account/transactions?limit=200')).body.items

test('a charge names its item: a server by its id and name, an address by its id and the address', async () => {
  const { t, server, reserved } = await charged()
  const { address } = (await t.call('GET', `/addresses/${reserved}`)).body
  const { name } = (await t.call('GET', `/servers/${server}`)).body
  const items = await transactions(t)
  const of = (id: string) => items.find((item: { item_id: string | null }) => item.item_id === id)
  expect(of(reserved)).toMatchObject({ item_type: 'address', item_name: address, server_id: null })
  expect(of(server)).toMatchObject({ item_type: 'server', item_name: name, server_id: server })
})

test('a charge gives its hour and its time as numbers, and a top-up is for no item', async () => {
  const { t, reserved } = await charged()
  const items = await transactions(t)
  const charge = items.find((item: { item_id: string | null }) => item.item_id === reserved)
  expect(charge).toMatchObject({ hour: expect.stringContaining(':00:00'), traffic_bytes: null })
  expect(charge.seconds).toBeGreaterThan(3600)
  const none = { item_type: null, item_id: null, item_name: null, server_id: null }
  expect(items.at(-1)).toMatchObject({ type: 'payment', ...none, hour: null, seconds: null })
})

test('usage adds up each item by itself, as JSON and as CSV', async () => {
  const { t, server, reserved } = await charged()
  const { items } = (await t.call('GET', '/account/usage')).body
  const sums = Map.groupBy(
    await transactions(t),
    ({ item_id }: { item_id: string | null; amount: string }) => item_id,
  )
  for (const { item_id, amount } of items) {
    const sum = (sums.get(item_id) ?? []).reduce((total, entry) => total + parseMoney(entry.amount), 0)
    expect(parseMoney(amount)).toBe(0 - sum)
  }
  const found = items.map((item: { item_type: string; server_id: string | null }) => [
    item.item_type,
    item.server_id,
  ])
  expect(found.sort()).toEqual([
    ['address', null],
    ['address', null],
    ['server', server],
  ])
  const { address } = (await t.call('GET', `/addresses/${reserved}`)).body
  const csv: string = (await t.call('GET', '/account/usage.csv')).body
  expect(csv).toContain(`,address,${reserved},${address},,,`)
})

test('usage names the 5,000 items that cost the most, and counts and sums up all others', async () => {
  const t = await testApp()
  const { default_project_id: project_id } = (await t.call('GET', '/account/me')).body
  const { accountId } = t
  const hour = t.clock.now()
  const charges = Array.from({ length: 5_010 }, (_, at) => ({
    ...{ accountId, type: 'charge' as const, amount: 0 - 100 * (at + 1), description: '' },
    charged: { item_type: 'address' as const, item_id: uuid(), project_id, hour, seconds: 60, bytes: null },
  }))
  for (let at = 0; at < charges.length; at += 1_000)
    await t.db.transaction().execute((tx) => book(tx, charges.slice(at, at + 1_000), hour))
  const { items, amount, more_items, more_amount } = (await t.call('GET', '/account/usage')).body
  expect(items.map(({ item_id }: { item_id: string }) => item_id)).toEqual(
    charges.slice(10).map(({ charged }) => charged.item_id),
  )
  // The others cost 0.01 to 0.10.
  expect({ amount, more_items, more_amount }).toEqual({
    ...{ amount: '125525.55', more_items: 10, more_amount: '0.55' },
  })
  const lines = (await t.call('GET', '/account/usage.csv')).body.trim().split('\r\n')
  expect([lines.length, lines.at(-1)]).toEqual([5_002, '2026-11,more_items,,10,,,,,0.55'])
})

test('a name of an item is one cell of the CSV, and no formula of a spreadsheet', async () => {
  const t = await testApp()
  const name = '=HYPERLINK("https://evil.example","x"),0.00'
  const { body } = await t.call('POST', '/volumes', { name, zone_slug: 'local-1', size_gb: 10 })
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  const csv: string = (await t.call('GET', '/account/usage.csv')).body
  const cell = `"'=HYPERLINK(""https://evil.example"",""x""),0.00"`
  expect(csv).toContain(`,volume,${body.volume_id},${cell},,,`)
})

test('an item keeps its name in the ledger after it is deleted', async () => {
  const { t, server, reserved } = await charged()
  const names = async () =>
    new Set((await transactions(t)).flatMap(({ item_name }: { item_name: string | null }) => item_name ?? []))
  const before = await names()
  await t.call('DELETE', `/addresses/${reserved}`)
  await t.call('DELETE', `/servers/${server}`)
  await t.finish()
  expect(await names()).toEqual(before)
})

/** Writes an hour of charges as a version does that knows no items. */
async function writeOld(db: Database, id: string, sequence: number): Promise<void> {
  await sql`INSERT INTO rates (server_id, starts_at, account_id, price_hour, price_month)
    VALUES (${id}, 0, 'a', 1, 730)`.execute(db)
  await sql`INSERT INTO billing_meters (server_id, account_id, charged_until) VALUES (${id}, 'a', 3600000)`.execute(
    db,
  )
  const [previous, before] = sequence === 1 ? [null, 0] : [sequence - 1, 1 - sequence]
  await sql`INSERT INTO transactions (transaction_id, account_id, sequence, previous, type, balance_before, amount,
      balance_after, server_id, project_id, hour, seconds, description, created_at)
    VALUES (${id}, 'a', ${sequence}, ${previous}, 'charge', ${before}, -1, ${before - 1}, ${id}, 'p', 0, 3600, '', 0)`.execute(
    db,
  )
}

async function itemsIn(db: Database) {
  const found: Record<string, unknown> = {}
  for (const table of ['rates', 'billing_meters', 'transactions'] as const) {
    const rows = await db.selectFrom(table).select(['item_type', 'item_id']).orderBy('item_id').execute()
    found[table] = rows.map(({ item_type, item_id }) => [item_type, item_id])
  }
  return found
}

test('rows from before items are told apart: an id of an address is one, any other is a server', async () => {
  const { db, drop } = await testDatabase({ upTo: '0034-attempts' })
  await sql`INSERT INTO accounts (account_id, email, name, status, quotas, servers_used, cpu_used, ram_mb_used,
    disk_gb_used, created_at, default_project_id) VALUES ('a', 'a@example.com', 'A', 'active', '{}', 0, 0, 0, 0, 0, 'p')`.execute(
    db,
  )
  const addAddress = (id: string, address: string) =>
    sql`INSERT INTO addresses (address_id, account_id, project_id, zone_slug, family, address, price_month, price_hour,
      created_at, updated_at) VALUES (${id}, 'a', 'p', 'z', 'ipv4', ${address}, 730, 1, 0, 0)`.execute(db)
  await addAddress('address-1', '192.0.2.7')
  await writeOld(db, 'server-1', 1)
  await writeOld(db, 'address-1', 2)
  await (await migrations['0035-billed-items']?.())?.up(db)
  const old = [
    ['address', 'address-1'],
    ['server', 'server-1'],
  ]
  expect(await itemsIn(db)).toEqual({ rates: old, billing_meters: old, transactions: old })

  // On PostgreSQL a process of the version before may still write, until it is replaced.
  if (!isSqlite(db)) {
    await addAddress('address-2', '192.0.2.8')
    await writeOld(db, 'server-2', 3)
    await writeOld(db, 'address-2', 4)
    const all = [old[0], ['address', 'address-2'], old[1], ['server', 'server-2']]
    expect(await itemsIn(db)).toEqual({ rates: all, billing_meters: all, transactions: all })
  }
  await expect(db.updateTable('rates').set({ item_id: 'another' }).execute()).rejects.toThrow(/check/i)
  await drop()
})

test('a name is no formula in a spreadsheet that splits lines at semicolons either', async () => {
  const t = await testApp()
  const name = 'a;=1+1; "@SUM(1)";b-c'
  const { body } = await t.call('POST', '/volumes', { name, zone_slug: 'local-1', size_gb: 10 })
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  const csv: string = (await t.call('GET', '/account/usage.csv')).body
  expect(csv).toContain(`,volume,${body.volume_id},"a;'=1+1;' ""@SUM(1)"";b-c",,,`)
})
