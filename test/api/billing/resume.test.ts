// Servers that were suspended for lack of money resume when the balance covers them, not with the first ruble.
import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { parseMoney } from '../../../api/money.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

const HOUR = 3600_000
/** 0.4110 an hour, 9.87 a day. */
const SMALL = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }

const pay = async (t: TestApp, rubles: string) => {
  const payment = { accountId: t.accountId, type: 'payment', description: '' } as const
  await post(t.db, t.clock, { ...payment, amount: parseMoney(rubles) })
  await t.app.billing.look()
  await t.finish()
}

/** An account whose two servers, one of them stopped, have used up its balance and its grace. */
async function suspended() {
  const t = await testApp({ balance: '30' })
  const ids = [await make(t, SMALL), await make(t, { ...SMALL, start_on_create: false })]
  while ((await statuses(t)).some((status) => status !== 'suspended')) {
    t.clock.advance(HOUR)
    await t.app.billing.look()
    await t.finish()
  }
  return { t, on: ids[0] ?? '' }
}

const statuses = async (t: TestApp): Promise<string[]> =>
  (await t.call('GET', '/servers?sort=created_at')).body.items.map(({ status }: { status: string }) => status)
const missing = async (t: TestApp): Promise<string | null> =>
  (await t.call('GET', '/account/balance')).body.top_up_to_resume_rub

test('the balance says how much is missing, and servers resume when it is there, all at once', async () => {
  const { t, on } = await suspended()
  const { balance } = (await t.call('GET', '/account/balance')).body
  // A day of both servers, and what is owed.
  const needed = parseMoney('19.73') - parseMoney(balance)
  expect(parseMoney((await missing(t)) ?? '')).toBe(needed)
  await pay(t, '1')
  expect(await statuses(t)).toEqual(['suspended', 'suspended'])
  expect(await t.call('POST', `/servers/${on}/start`)).toMatchObject({
    status: 402,
    body: { required: '19.73', detail: expect.stringContaining('once the balance covers all servers') },
  })
  const rest = (await missing(t)) ?? ''
  await pay(t, String((parseMoney(rest) - 100) / 10_000))
  expect([await statuses(t), await missing(t)]).toEqual([['suspended', 'suspended'], '0.01'])
  await pay(t, '0.01')
  expect([await statuses(t), await missing(t)]).toEqual([['running', 'stopped'], null])
})

test('a top-up of a ruble an hour never starts a machine', async () => {
  const { t } = await suspended()
  await t.db.deleteFrom('events').execute()
  for (let hour = 0; hour < 12; hour++) {
    t.clock.advance(HOUR)
    await pay(t, '1')
  }
  const events = await t.db.selectFrom('events').select('type').execute()
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['balance.topped_up']))
})

test('suspended servers are no free parking: other ones are ordered when the balance covers all', async () => {
  const { t, on } = await suspended()
  await pay(t, String(Number(await missing(t)) - 1))
  const body = await order(t.call, SMALL)
  expect(await t.call('POST', '/servers', body)).toMatchObject({ status: 402, body: { required: '29.60' } })
  // A deleted server needs no cover: the others resume.
  await t.call('DELETE', `/servers/${on}`)
  await t.finish()
  await t.app.billing.look()
  expect([await statuses(t), await missing(t)]).toEqual([['stopped'], null])
})
