import fc from 'fast-check'
import { expect, test } from 'vitest'
import { charge, post } from '../../../api/billing/ledger.ts'
import { rollUpDue } from '../../../api/billing/rollup.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { selling } from '../../harness/seller.ts'
import { make } from '../harness/ordering.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR

/** Books an hour of these servers, in this order; the price differs from hour to hour. */
async function book(t: TestApp, hour: number, servers: readonly string[], bytes: number | null = null) {
  const [{ project_id }] = (await t.call('GET', '/account/projects')).body.items
  const entries = servers.map((item_id, at) => ({
    accountId: t.accountId,
    type: 'charge' as const,
    amount: 0 - 100 * (1 + ((hour / HOUR + at) % 3)),
    description: '',
    charged: {
      ...{ item_type: 'server' as const, item_id, project_id, hour, seconds: 3600, bytes },
    },
  }))
  return t.db.transaction().execute((tx) => charge(tx, entries, hour + HOUR))
}

const pay = (t: TestApp, at: number, amount: number) =>
  post(
    t.db,
    { now: () => at, sleep: t.clock.sleep },
    {
      ...{ accountId: t.accountId, type: amount > 0 ? 'payment' : 'correction', amount },
      description: `booked ${amount}`,
    },
  )

const entriesOf = (t: TestApp) => t.db.selectFrom('transactions').selectAll().orderBy('sequence').execute()
const listed = async (t: TestApp) => (await t.call('GET', '/account/transactions?limit=200')).body
const usage = async (t: TestApp, month: string) =>
  (await t.call('GET', `/account/usage?month=${month}`)).body.items
const rollUp = (t: TestApp, entriesAtOnce?: number) =>
  rollUpDue({ ...t, keepMs: 92 * DAY, hasDocuments: true, ...(entriesAtOnce ? { entriesAtOnce } : {}) })

/** An account with servers that are charged by these tests alone. */
async function account(servers: number) {
  const t = await testApp({ balance: '1000' })
  const ids: string[] = []
  for (let at = 0; at < servers; at++) ids.push(await make(t))
  const now = t.clock.now()
  const month = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() + 1, 1)
  return { t, ids, month }
}

test('charges of a month that ended long ago become one for each server, and no balance changes', async () => {
  const { t, ids, month } = await account(2)
  for (let hour = 0; hour < 40; hour++) {
    if (hour === 20) await pay(t, month + hour * HOUR, 5_000)
    await book(t, month + hour * HOUR, ids)
  }
  await book(t, month + 40 * HOUR, ids, 5_000_000_000)
  const name = new Date(month).toISOString().slice(0, 7)
  const [before, used] = [await listed(t), await usage(t, name)]
  t.clock.advance(month + 125 * DAY - t.clock.now())
  await rollUp(t)
  const after = await listed(t)
  // Two servers before and after the payment, and their traffic.
  expect(after.items.length).toBe(before.items.length - 80 + 4)
  expect(after.total).toBe(after.items.length)
  expect(await usage(t, name)).toEqual(used)
  expect((await t.call('GET', '/account/balance')).body.balance).toBe(before.items[0].balance_after)
  const rolled = after.items.find(({ seconds }: { seconds: number | null }) => seconds === 20 * 3600)
  expect(rolled).toMatchObject({ hour: new Date(month + 20 * HOUR).toISOString(), item_id: ids[1] })
  expect(rolled.description).toBe(`${name}-01 20:00 to ${name}-02 15:00 UTC, 20 h`)
  const known = new Map(
    before.items.map((entry: { transaction_id: string }) => [entry.transaction_id, entry]),
  )
  for (const entry of after.items.filter(({ type }: { type: string }) => type !== 'charge'))
    expect(entry).toEqual(known.get(entry.transaction_id))
})

test('charges stay by themselves for as long as the operator says', async () => {
  const { t, ids, month } = await account(1)
  for (let hour = 0; hour < 5; hour++) await book(t, month + hour * HOUR, ids)
  const before = await entriesOf(t)
  t.clock.advance(month + 92 * DAY - t.clock.now())
  await rollUp(t)
  expect(await entriesOf(t)).toEqual(before)
  t.clock.advance(31 * DAY)
  await rollUpDue({ ...t, keepMs: null, hasDocuments: true })
  expect(await entriesOf(t)).toEqual(before)
  await rollUp(t)
  expect((await entriesOf(t)).length).toBe(before.length - 4)
})

test('a late charge for a month that is rolled up is booked, and the ledger goes on from what was rolled up', async () => {
  const { t, ids, month } = await account(1)
  for (let hour = 0; hour < 5; hour++) await book(t, month + hour * HOUR, ids)
  t.clock.advance(month + 125 * DAY - t.clock.now())
  await rollUp(t)
  await book(t, month + 10 * HOUR, ids)
  await pay(t, t.clock.now(), 1_000)
  await rollUp(t)
  const { items, total } = await listed(t)
  expect(total).toBe(items.length)
  expect(items.slice(0, 3).map(({ seconds }: { seconds: number | null }) => seconds)).toEqual([
    null,
    3600,
    5 * 3600,
  ])
})

test('charges are rolled up after the document of their month was issued', async () => {
  const t = await testApp(selling({ prefix: 'EX-' }))
  await make(t)
  const charges = async (days: number) => {
    for (let step = 0; step < days; step++) {
      t.clock.advance(DAY)
      await t.app.billing.look()
    }
    return (await entriesOf(t)).length
  }
  await charges(45)
  const documents = (await t.call('GET', '/account/documents')).body.items
  expect(documents.length).toBeGreaterThan(0)
  const entries = await charges(5)
  const ahead = { ...t, keepMs: -31 * DAY, hasDocuments: true }
  await rollUpDue(ahead)
  expect((await entriesOf(t)).length).toBe(entries)
  await rollUpDue({ ...t, keepMs: DAY, hasDocuments: true })
  expect((await entriesOf(t)).length).toBeLessThan(entries)
  expect((await t.call('GET', '/account/documents')).body.items).toEqual(documents)
  // An operator who no longer issues any has charges that no document is to come for.
  const left = (await entriesOf(t)).length
  await rollUpDue({ ...ahead, hasDocuments: false })
  expect((await entriesOf(t)).length).toBeLessThan(left)
})

type Step = { hours: number; servers: number[]; traffic: boolean; paid: number }
const step: fc.Arbitrary<Step> = fc.record({
  hours: fc.integer({ min: 1, max: 300 }),
  servers: fc.uniqueArray(fc.integer({ min: 0, max: 2 }), { maxLength: 3 }),
  traffic: fc.boolean(),
  paid: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -900, max: 900 })),
})

test('whatever was booked, sums, balances and the chain are whole, in steps of any size', async () => {
  const { t, ids, month } = await account(3)
  let at = month
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 2, max: 30 }),
      async (steps, atOnce) => {
        for (const { hours, servers, traffic, paid } of steps) {
          at += hours * HOUR
          const charged = servers.map((server) => ids[server] ?? '')
          await book(t, at, charged)
          if (traffic) await book(t, at, charged, 1_000_000)
          if (paid !== 0) await pay(t, at, paid)
        }
        const before = await entriesOf(t)
        t.clock.advance(Math.max(0, at + 125 * DAY - t.clock.now()))
        await rollUp(t, atOnce)
        const after = await entriesOf(t)
        whole(before, after)
        expect((await listed(t)).total).toBe(after.length)
        await rollUp(t, atOnce)
        expect(await entriesOf(t)).toEqual(after)
      },
    ),
    { numRuns: 10 },
  )
})

type Entries = Awaited<ReturnType<typeof entriesOf>>

function whole(before: Entries, after: Entries): void {
  const numbers = after.map(({ sequence }) => sequence)
  expect(after.map(({ previous }) => previous)).toEqual([null, ...numbers.slice(0, -1)])
  expect(after.map(({ balance_before }) => balance_before)).toEqual([
    0,
    ...after.map(({ balance_after }) => balance_after).slice(0, -1),
  ])
  expect(after.at(-1)?.balance_after).toBe(before.at(-1)?.balance_after)
  expect(sumsOf(after)).toEqual(sumsOf(before))
  const others = (entries: Entries) =>
    entries
      .filter(({ type }) => type !== 'charge')
      .map(({ previous, ...entry }) => ({ ...entry, previous: undefined }))
  expect(others(after)).toEqual(others(before))
}

/** The sums by server, month and kind. */
function sumsOf(entries: Entries): Map<string, number[]> {
  const sums = new Map<string, number[]>()
  for (const { item_id, hour, bytes, amount, seconds } of entries) {
    if (hour === null) continue
    const key = [item_id, new Date(hour).toISOString().slice(0, 7), bytes === null].join()
    const [money = 0, time = 0, traffic = 0] = sums.get(key) ?? []
    sums.set(key, [money + amount, time + (seconds ?? 0), traffic + (bytes ?? 0)])
  }
  return new Map([...sums].sort(([a], [b]) => a.localeCompare(b)))
}
