// Reserved money is there for what is ordered, and for what has run.
import { expect, test } from 'vitest'
import { parseMoney } from '../../../api/money.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

const HOUR = 3600_000
const SMALL = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }

const costHour = async (t: TestApp) =>
  parseMoney((await t.call('GET', '/account/balance')).body.cost_hour_rub)
const billedSince = async (t: TestApp, id: string) =>
  Date.parse((await t.call('GET', `/servers/${id}/details`)).body.billing.billed_since)
const priceHour = async (t: TestApp, id: string) =>
  parseMoney((await t.call('GET', `/servers/${id}`)).body.price_hour_rub)

test('a server that is ordered and never started is billed from the end of its create, and so is its growth', async () => {
  const t = await testApp()
  const id = await make(t, { ...SMALL, start_on_create: false })
  expect(await billedSince(t, id)).toBe(t.clock.now())
  const small = await costHour(t)
  expect(small).toBe(await priceHour(t, id))
  await t.call('PATCH', `/servers/${id}`, { cpu: 16, ram_mb: 32_768 })
  await t.finish()
  const large = await costHour(t)
  expect(large).toBe(await priceHour(t, id))
  expect(large).toBeGreaterThan(small * 10)
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  const { balance } = (await t.call('GET', '/account/balance')).body
  expect(parseMoney(balance)).toBeLessThan(parseMoney('10000') - large)
})

test('a guest that computes and never answers on ssh is billed from power-on, try after try', async () => {
  const t = await testApp({ simulator: { bootMs: 1e9 } })
  for (const ending of ['boot_timeout', 'boot_failed']) {
    const { body } = await t.call('POST', '/servers', await order(t.call))
    const poweredOn = t.clock.now()
    await t.work()
    if (ending === 'boot_failed') {
      t.clock.advance(299_000)
      t.driver.turnsOffByItself(body.server_id, 'guest_shutdown')
    }
    await t.finish()
    expect((await t.call('GET', `/servers/${body.server_id}`)).body).toMatchObject({ status_reason: ending })
    expect((await billedSince(t, body.server_id)) - poweredOn).toBeLessThan(1_000)
    await t.call('DELETE', `/servers/${body.server_id}`)
    await t.finish()
  }
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  const { items } = (await t.call('GET', '/account/usage')).body
  expect(items).toHaveLength(2)
  for (const { hours } of items) expect(hours).toBeGreaterThan(298 / 3600)
})

test('a guest that answers only after minutes has run for these minutes too', async () => {
  const t = await testApp({ simulator: { bootMs: 299_000 } })
  const orderedAt = t.clock.now()
  const id = await make(t)
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
  expect((await billedSince(t, id)) - orderedAt).toBeLessThan(1_000)
})

test('an account that replaces servers before they cost half a kopeck pays for each', async () => {
  const t = await testApp()
  for (let round = 0; round < 3; round++) {
    const id = await make(t, SMALL)
    t.clock.advance(20_000)
    await t.call('DELETE', `/servers/${id}`)
    await t.finish()
  }
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  expect((await t.call('GET', '/account/usage')).body.amount).toBe('0.03')
})
