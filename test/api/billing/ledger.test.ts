import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import * as ledger from '../../../api/billing/ledger.ts'
import type { LedgerTable } from '../../../api/billing/tables.ts'
import { onBehalfOf } from '../../../api/http/limits/origin.ts'
import { parseMoney } from '../../../api/money.ts'
import { ManualClock } from '../../harness/clock.ts'
import { testDatabase } from '../../harness/database.ts'

type Entry = Parameters<typeof ledger.post>[2]

const charged = {
  ...{ item_type: 'server' as const, item_id: 's', project_id: 'p' },
  ...{ hour: 0, seconds: 60, bytes: null },
} as const

/** A database with an account, and no service around it. */
async function bench() {
  const { db, drop } = await testDatabase()
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const clock = new ManualClock()
  let accounts = 0
  const makeAccount = async () => {
    accounts += 1
    return (await createAccount(db, clock, { email: `${accounts}@example.com`, name: 'A' })) ?? ''
  }
  return { db, clock, accountId: await makeAccount(), makeAccount }
}
type Bench = Awaited<ReturnType<typeof bench>>

/** Books a payment, or another entry, of an account. */
const book = (t: Bench, amount: string, more: Partial<Entry> = {}) =>
  ledger.post(t.db, t.clock, {
    ...{ accountId: t.accountId, type: 'payment', amount: parseMoney(amount), description: 'test' },
    ...more,
  })
const setLedger = (t: Bench, values: Partial<LedgerTable>) =>
  t.db.updateTable('ledgers').set(values).where('account_id', '=', t.accountId).execute()
const ledgerOf = async (t: Bench) => (await ledger.ledgersOf(t.db, [t.accountId])).get(t.accountId)
const entriesOf = (t: Bench) =>
  t.db
    .selectFrom('transactions')
    .selectAll()
    .where('account_id', '=', t.accountId)
    .orderBy('sequence')
    .execute()
const bookings = async (t: Bench) =>
  (await t.db.selectFrom('events').select(['type', 'data']).where('account_id', '=', t.accountId).execute())
    .filter(({ type }) => type === 'balance.topped_up')
    .map(({ data }) => JSON.parse(data))

test('each entry goes on from the balance of the one before, and only charges are for an item', async () => {
  const t = await bench()
  const first = await book(t, '100', { reference: 'a' })
  await book(t, '-30', { type: 'correction' })
  const charge = { type: 'charge', amount: -parseMoney('20'), description: 'test', charged } as const
  await ledger.charge(t.db, [{ accountId: t.accountId, ...charge }], t.clock.now())
  const none = {
    item_type: null,
    item_id: null,
    server_id: null,
    hour: null,
    ...{ project_id: null, seconds: null, bytes: null, first_hour: null },
  }
  expect(first).toMatchObject({ isNew: true, entry: { sequence: 1, balance_after: parseMoney('100') } })
  expect((await entriesOf(t))[0]).toEqual(first.entry)
  expect(await entriesOf(t)).toMatchObject([
    { ...none, sequence: 1, previous: null, balance_before: 0, balance_after: 1_000_000, reference: 'a' },
    { ...none, sequence: 2, previous: 1, balance_before: 1_000_000, balance_after: 700_000, reference: null },
    { ...charged, sequence: 3, previous: 2, server_id: 's', balance_after: 500_000, type: 'charge' },
  ])
  expect(await ledger.balanceOf(t.db, t.accountId)).toBe(500_000)
})

test('a repeat of a reference books nothing, and one of another entry is refused with what it was', async () => {
  const t = await bench()
  const first = await book(t, '100', { reference: 'a' })
  expect(await book(t, '100', { reference: 'a' })).toEqual({ entry: first.entry, isNew: false })
  const message = 'the reference a was used for an entry of 100.00'
  await expect(book(t, '99', { reference: 'a' })).rejects.toThrow(new Error(`${message}, not 99.00`))
  const other = { accountId: await t.makeAccount(), reference: 'a' }
  await expect(book(t, '100', other)).rejects.toThrow(new Error(`${message} in the account ${t.accountId}`))
  await expect(book(t, '7', other)).rejects.toThrow(new Error(`${message} in the account ${t.accountId}`))
  expect(await ledger.balanceOf(t.db, t.accountId)).toBe(parseMoney('100'))
  expect(await ledger.balanceOf(t.db, other.accountId)).toBe(0)
  expect(await ledger.isBooked(t.db, t.accountId, 'a')).toBe(true)
  expect(await ledger.isBooked(t.db, other.accountId, 'a')).toBe(false)
  expect(await ledger.isBooked(t.db, t.accountId, 'b')).toBe(false)
})

test('a reference that two accounts use at the same time is booked in one of them', async () => {
  const t = await bench()
  const accounts = [t.accountId, await t.makeAccount()]
  const both = accounts.map((accountId) => book(t, '100', { accountId, reference: 'a' }))
  const results = await Promise.allSettled(both)
  const winner = accounts[results.findIndex(({ status }) => status === 'fulfilled')]
  const message = `the reference a was used for an entry of 100.00 in the account ${winner}`
  expect(results.flatMap((result) => (result.status === 'rejected' ? [result.reason.message] : []))).toEqual([
    message,
  ])
  const balances = await Promise.all(accounts.map((accountId) => ledger.balanceOf(t.db, accountId)))
  expect(balances.sort()).toEqual([0, parseMoney('100')])
})

test('a repeat is harmless in each of two accounts that shared a reference before it was unique', async () => {
  const t = await bench()
  const other = await t.makeAccount()
  await book(t, '100', { accountId: other, reference: 'a' })
  const { entry } = await book(t, '50')
  const { transaction_id } = entry
  await t.db
    .updateTable('transactions')
    .set({ reference: 'a' })
    .where('transaction_id', '=', transaction_id)
    .execute()
  expect(await book(t, '50', { reference: 'a' })).toMatchObject({ isNew: false, entry: { transaction_id } })
  expect(await book(t, '100', { accountId: other, reference: 'a' })).toMatchObject({ isNew: false })
})

test('entries without a reference are each booked, however alike', async () => {
  const t = await bench()
  expect([await book(t, '100'), await book(t, '100')]).toMatchObject([{ isNew: true }, { isNew: true }])
  expect(await ledger.balanceOf(t.db, t.accountId)).toBe(parseMoney('200'))
  expect(await t.db.selectFrom('booked_references').selectAll().execute()).toEqual([])
})

test('the audit log of an account has each entry that a request booked, with its amount', async () => {
  const t = await bench()
  const other = await t.makeAccount()
  await book(t, '5')
  const origin = { action: 'creditAccount', tokenId: null, person: null, address: null, requestId: 'one' }
  const { entry } = await onBehalfOf(origin, () => book(t, '-30', { type: 'correction' }))
  const booked = { object_type: 'transaction', object_id: entry.transaction_id, amount: -parseMoney('30') }
  const log = t.db.selectFrom('audit').selectAll().where('account_id', 'in', [t.accountId, other])
  expect(await log.execute()).toMatchObject([
    { ...booked, account_id: t.accountId, request_id: 'one', created_at: t.clock.now() },
  ])
})

test('only payments count as paid, less what is charged back', async () => {
  const t = await bench()
  await book(t, '100')
  await book(t, '50', { type: 'refund' })
  await book(t, '20', { type: 'correction' })
  await book(t, '-30')
  expect(await ledger.paidBy(t.db, t.accountId)).toBe(parseMoney('70'))
  expect(await ledger.fundsLeft(t.db, t.accountId)).toBe(parseMoney('140'))
  const nobody = await t.makeAccount()
  expect(await ledger.paidBy(t.db, nobody)).toBe(0)
  expect(await ledger.fundsLeft(t.db, nobody)).toBe(0)
})

test('an event reports money received with the new balance; money taken is not reported as a top-up', async () => {
  const t = await bench()
  await book(t, '100')
  await book(t, '-30')
  await book(t, '0', { type: 'correction' })
  await book(t, '5', { type: 'refund' })
  expect(await bookings(t)).toEqual([
    { amount: '100.00', balance: '100.00' },
    { amount: '5.00', balance: '75.00' },
  ])
})

test('money received ends a low balance at once, and a used-up one only when something is left to spend', async () => {
  const t = await bench()
  await book(t, '-100', { type: 'correction' })
  await setLedger(t, { low_since: 5, depleted_since: 6, top_up_at: 7, top_up_below: parseMoney('50') })
  await book(t, '-1', { type: 'correction' })
  await book(t, '0', { type: 'correction' })
  expect(await ledgerOf(t)).toMatchObject({ low_since: 5, depleted_since: 6, top_up_at: 7 })
  await book(t, '101')
  expect(await ledgerOf(t)).toMatchObject({ low_since: null, depleted_since: 6, top_up_at: 7 })
  await book(t, '0.01')
  expect(await ledgerOf(t)).toMatchObject({ depleted_since: null, top_up_at: 7 })
  await book(t, '100')
  expect(await ledgerOf(t)).toMatchObject({ top_up_at: 0 })
})

test('grace is over at its moment, or once all that was ever paid is owed', async () => {
  const t = await bench()
  await book(t, '100')
  const isOverdue = async (at: number) => (await ledger.accountsOverdue(t.db, at).execute()).length > 0
  expect(await isOverdue(Number.MAX_SAFE_INTEGER)).toBe(false)
  await book(t, '-199.99', { type: 'correction' })
  await setLedger(t, { depleted_since: 10 })
  expect([await isOverdue(9), await isOverdue(10), await isOverdue(11)]).toEqual([false, true, true])
  await ledger.requireGrace(t.db, t.accountId, 1, 9)
  await ledger.requireGrace(t.db, await t.makeAccount(), 1, 10)
  const refusal = ledger.requireGrace(t.db, t.accountId, 1, 10)
  await expect(refusal).rejects.toMatchObject({
    message: expect.stringMatching(
      /^The balance is used up\. At least 0\.01 rubles are required, .*; -99\.99 is/,
    ),
  })
  await book(t, '-0.01', { type: 'correction' })
  expect(await isOverdue(9)).toBe(true)
  await setLedger(t, { credit_limit: 1 })
  expect(await isOverdue(9)).toBe(false)
})

test('an account can spend its balance and its credit limit, and nothing once both are used up', async () => {
  const t = await bench()
  await book(t, '-100', { type: 'correction' })
  const inCredit = async () => (await ledger.accountsInCredit(t.db).execute()).map((row) => row.account_id)
  await setLedger(t, { credit_limit: parseMoney('100') })
  expect(await inCredit()).toEqual([])
  await setLedger(t, { credit_limit: parseMoney('100') + 1 })
  expect(await inCredit()).toEqual([t.accountId])
  expect(await ledger.fundsLeft(t.db, t.accountId)).toBe(1)
})

test('a day of everything is required, rounded up to a kopeck, and exactly that is enough', () => {
  expect([0, 1, 4, 5, 25, 100].map(ledger.coverOf)).toEqual([0, 100, 100, 200, 600, 2400])
  ledger.requireFunds(2400, 100)
  expect(() => ledger.requireFunds(2300, 100)).toThrow(
    'The balance must cover all servers of the account. At least 0.24 rubles are required, for the first 24 hours; 0.23 is available. Top up the balance first.',
  )
})

test('a refusal never shows more available than there is', () => {
  const shown = (funds: number) => ledger.insufficientBalance(funds, 100, '').message
  expect(shown(2399)).toContain(
    'At least 0.24 rubles are required, for the first 24 hours; 0.23 is available',
  )
  const available = [99, 100, 0, -1, -100, -101].map((funds) => /; (.*) is available/.exec(shown(funds))?.[1])
  expect(available).toEqual(['0.00', '0.01', '0.00', '-0.01', '-0.01', '-0.02'])
})

test('more charges than one statement takes are all booked, each in its account', async () => {
  const t = await bench()
  const other = await t.makeAccount()
  const entry = { type: 'charge', amount: -1, description: 'test' } as const
  const accounts = Array.from({ length: 2000 }, (_, index) => (index === 1999 ? other : t.accountId))
  const charges = accounts.map((accountId, hour) => ({
    ...{ ...entry, accountId },
    charged: { ...charged, hour },
  }))
  await ledger.charge(t.db, charges, 0)
  await ledger.charge(t.db, [], 0)
  expect([await ledger.balanceOf(t.db, t.accountId), await ledger.balanceOf(t.db, other)]).toEqual([
    -1999, -1,
  ])
  expect((await entriesOf(t)).map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: 1999 }, (_, index) => index + 1),
  )
})

test('entries are listed newest first, in pages, and only the account’s own items are named', async () => {
  const t = await bench()
  const other = await t.makeAccount()
  await book(t, '100')
  const charges = ['mine', 'theirs', 'unknown'].map((item_id, hour) => ({
    ...{ accountId: t.accountId, type: 'charge' as const, amount: -1, description: 'test' },
    charged: { ...charged, item_id, hour },
  }))
  await ledger.charge(t.db, charges, 0)
  const items: ledger.NamedItems = () =>
    sql`(SELECT 'mine' AS item_id, ${sql.lit(t.accountId)} AS account_id, 'web' AS name
      UNION ALL SELECT 'theirs', ${sql.lit(other)}, 'secret')`
  const list = async (offset: number, accountId = t.accountId) => {
    const page = await ledger.listTransactions(t.db, items, accountId, { limit: 2, offset })
    return [page.total, ...page.items.map(({ sequence, item_name }) => [sequence, item_name])]
  }
  expect([await list(0), await list(2)]).toEqual([
    [4, [4, null], [3, null]],
    [4, [2, 'web'], [1, null]],
  ])
  expect(await list(0, other)).toEqual([0])
  await ledger.noteProgress(t.db, t.accountId, { rolled_entries: 3 })
  expect(await list(4)).toEqual([1])
})

test('the accounts of a list that have an entry with a reference are found', async () => {
  const t = await bench()
  const other = await t.makeAccount()
  await book(t, '1', { reference: 'a' })
  await book(t, '1', { accountId: other, reference: 'b' })
  const among = (id: string) => () => sql<{ account_id: string }>`(SELECT ${sql.lit(id)} AS account_id)`
  const found = (id: string, reference: string) => ledger.accountsBooked(t.db, among(id), reference)
  expect(await found(t.accountId, 'a')).toEqual([t.accountId])
  expect([await found(t.accountId, 'b'), await found(other, 'a')]).toEqual([[], []])
})

test('a charge that leaves less than three days of an account’s costs makes its balance low, and no other', async () => {
  const t = await bench()
  const other = await t.makeAccount()
  const rate = {
    ...{ item_type: 'server' as const, item_id: 's', server_id: 's', account_id: t.accountId },
    ...{ starts_at: 0, ends_at: null, price_hour: 100, price_month: 1, traffic_gb: 0, traffic_price: 0 },
  }
  await t.db.insertInto('rates').values(rate).execute()
  const chargeBoth = (amount: number, now: number) => {
    const entry = { type: 'charge', amount, description: 'test' } as const
    const charges = [t.accountId, other].map((accountId) => ({
      ...{ ...entry, accountId },
      charged: { ...charged, item_id: accountId, hour: now },
    }))
    return ledger.charge(t.db, charges, now)
  }
  for (const accountId of [t.accountId, other]) await book(t, '0.72', { accountId })
  await chargeBoth(0, 1)
  expect(await ledgerOf(t)).toMatchObject({ low_since: null })
  await chargeBoth(-1, 2)
  const both = await ledger.ledgersOf(t.db, [t.accountId, other])
  expect([both.get(t.accountId)?.low_since, both.get(other)?.low_since]).toEqual([2, null])
  const warnings = await t.db
    .selectFrom('events')
    .select('account_id')
    .where('type', '=', 'balance.low')
    .execute()
  expect(warnings).toEqual([{ account_id: t.accountId }])
  expect(await ledger.ledgersOf(t.db, [])).toEqual(new Map())
})
