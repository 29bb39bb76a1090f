// Nobody orders more than the balance covers for a day.
import { expect, test } from 'vitest'
import { parseMoney } from '../../../api/money.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

const SMALL = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }

const priceHour = async (t: TestApp, id: string) =>
  parseMoney((await t.call('GET', `/servers/${id}`)).body.price_hour_rub)

test('the balance covers a day of all that the account has, not of one server twenty times', async () => {
  const t = await testApp({ balance: '25' })
  const body = await order(t.call, SMALL)
  const replies = []
  while (replies.length < 5) replies.push(await t.call('POST', '/servers', body))
  // 0.4110 an hour, 9.86 a day: two are covered, three are not, and none is billed yet.
  expect(replies.map(({ status }) => status)).toEqual([202, 202, 402, 402, 402])
  expect(replies[2]?.body).toMatchObject({
    code: 'insufficient_balance',
    required: '29.60',
    available: '25.00',
  })
  const quote = await t.call('POST', '/pricing/quote', body)
  expect(quote.body).toMatchObject({ can_create: false, blockers: [{ code: 'insufficient_balance' }] })
  await t.finish()
  expect((await t.call('POST', '/servers', body)).status).toBe(402)
  // A deleted server needs no further cover.
  const { items } = (await t.call('GET', '/servers')).body
  await t.call('DELETE', `/servers/${items[0].server_id}`)
  expect((await t.call('POST', '/servers', body)).status).toBe(202)
})

test('twenty orders at once pass the balance no more often than one after the other', async () => {
  const t = await testApp({ balance: '25' })
  const body = await order(t.call, SMALL)
  const replies = await Promise.all(Array.from({ length: 20 }, () => t.call('POST', '/servers', body)))
  expect(replies.filter(({ status }) => status === 202)).toHaveLength(2)
  expect(replies.filter(({ status }) => status === 402)).toHaveLength(18)
})

test('a resize counts what the others cost, and what they are just becoming', async () => {
  const t = await testApp({ balance: '100' })
  const ids = [
    await make(t, { ...SMALL, start_on_create: false }),
    await make(t, { ...SMALL, start_on_create: false }),
  ]
  const [price, statuses] = [await priceHour(t, ids[0] ?? ''), [] as number[]]
  // 0.4110 each, 19.73 a day for both; 8 cores are 2.3 an hour more, 55 a day: there is room for one.
  for (const id of ids) statuses.push((await t.call('PATCH', `/servers/${id}`, { cpu: 8 })).status)
  expect(statuses).toEqual([202, 402])
  await t.finish()
  expect(await priceHour(t, ids[0] ?? '')).toBeGreaterThan(price)
  expect((await t.call('PATCH', `/servers/${ids[1]}`, { cpu: 8 })).status).toBe(402)
  // A server that is billed already may be started.
  expect((await t.call('POST', `/servers/${ids[0]}/start`)).status).toBe(202)
})
