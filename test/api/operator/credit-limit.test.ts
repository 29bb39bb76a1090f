// An account that pays afterwards.
import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { parseMoney } from '../../../api/money.ts'
import type { TestApp } from '../../harness/app.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'
import { makeOperatorToken, withShop } from './harness/shop.ts'

const HOUR_MS = 3600_000
/** 0.4110 an hour, 9.86 a day. */
const SMALL = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }
const reason = 'A contract'

async function withLimits() {
  const { t, shop } = await withShop({ balance: '0' })
  const path = `/operator/accounts/${t.accountId}/credit_limit`
  const set = async (credit_limit_rub: string) => {
    const money = t.callAs((await makeOperatorToken(t, ['operator:money'])).value)
    return money('POST', path, { credit_limit_rub, reason })
  }
  // The account never paid, so it has no grace beyond its limit.
  const gift = {
    accountId: t.accountId,
    type: 'correction' as const,
    amount: parseMoney('10'),
    description: '',
  }
  await post(t.db, t.clock, gift)
  return { t, shop, set, path }
}

async function hours(t: TestApp, count: number): Promise<void> {
  for (let hour = 0; hour < count; hour++) {
    t.clock.advance(HOUR_MS)
    await t.app.billing.look()
    await t.finish()
  }
}

const status = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body.status
const balance = async (t: TestApp) => (await t.call('GET', '/account/balance')).body

test('an account with a credit limit orders, and its servers run, until it owes as much', async () => {
  const { t, set } = await withLimits()
  const id = await make(t, SMALL)
  expect((await t.call('POST', '/servers', await order(t.call, SMALL))).body.code).toBe(
    'insufficient_balance',
  )
  expect(await set('20')).toMatchObject({ status: 200, body: { credit_limit: '20.00', balance: '10.00' } })
  const second = await make(t, SMALL)
  expect(await balance(t)).toMatchObject({ balance: '10.00', credit_limit_rub: '20.00', hours_left: 36 })

  await hours(t, 30)
  const { balance: owed, hours_left } = await balance(t)
  expect([Number(owed) < -10, hours_left > 0]).toEqual([true, true])
  expect([await status(t, id), await status(t, second)]).toEqual(['running', 'running'])
  const { items } = (await t.call('GET', '/events?limit=100')).body
  expect(items.map(({ type }: { type: string }) => type)).not.toContain('balance.depleted')

  await hours(t, 8)
  expect([await status(t, id), await status(t, second)]).toEqual(['suspended', 'suspended'])
})

test('a higher limit resumes servers, and a lower one lets the grace period begin', async () => {
  const { t, set } = await withLimits()
  const id = await make(t, SMALL)
  await hours(t, 26)
  expect(await status(t, id)).toBe('suspended')
  expect((await set('100')).status).toBe(200)
  expect((await balance(t)).top_up_to_resume_rub).toBe('0.00')
  await hours(t, 1)
  expect(await status(t, id)).toBe('running')
  expect((await set('0')).status).toBe(200)
  expect(await status(t, id)).toBe('running')
  await hours(t, 1)
  expect(await status(t, id)).toBe('suspended')
})

test('the customer sees the limit and its reason, and the audit the operator', async () => {
  const { t, set } = await withLimits()
  await set('5000.50')
  const event = (await t.call('GET', '/events?limit=100')).body.items.at(-1)
  expect(event).toMatchObject({ type: 'account.updated', data: { reason } })
  const audit = (await t.call('GET', '/account/audit')).body.items
  expect(audit[0].action).toContain('setCreditLimit, by the operator')
})

test('an amount that makes no sense is refused, and only a token for money sets any', async () => {
  const { t, shop, set, path } = await withLimits()
  for (const wrong of ['-5', '1.005', 'much', '9999999999', ''])
    expect(await set(wrong)).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
  const change = { credit_limit_rub: '5', reason }
  expect((await shop('POST', path.replace(t.accountId, NOBODY), change)).status).toBe(404)
  const writer = t.callAs((await makeOperatorToken(t, ['operator:write'])).value)
  expect((await writer('POST', path, change)).status).toBe(403)
  expect((await t.call('POST', path, change)).status).toBe(403)
  expect((await balance(t)).credit_limit_rub).toBe('0.00')
})
