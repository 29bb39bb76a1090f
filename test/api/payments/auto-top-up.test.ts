import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { parseMoney } from '../../../api/money.ts'
import { addReaders } from '../../harness/readers.ts'
import { make } from '../harness/ordering.ts'
import { PROVIDERS, withMethod } from './harness/payments.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR
const PATH = '/account/auto_top_up'
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

/** An account of 500 rubles that is topped up by 300 whenever it has less than 400. */
async function withAutoTopUp(provider: (typeof PROVIDERS)[number] = 'yookassa', settings = {}) {
  const paid = await withMethod(provider)
  const { t, items } = paid
  const [{ payment_method_id }] = items
  const set = (change: object = {}) =>
    t.call('PUT', PATH, {
      ...{ below_rub: '400', amount_rub: '300', monthly_limit_rub: '10000', payment_method_id },
      ...{ ...settings, ...change },
    })
  expect((await set()).status).toBe(200)
  const spend = (rubles: string) =>
    post(t.db, t.clock, {
      ...{ accountId: t.accountId, type: 'correction', description: 'spent' },
      amount: -parseMoney(rubles),
    })
  const shown = async () => (await t.call('GET', PATH)).body
  const automatic = async () => {
    const { body } = await t.call('GET', '/account/payments')
    return body.items
      .filter(({ is_automatic }: { is_automatic: boolean }) => is_automatic)
      .map(({ status }: { status: string }) => status)
  }
  const mails = async () => {
    await t.app.mails.look()
    return t.mails.map(({ to, subject }) => `${to}: ${subject}`)
  }
  return { ...paid, set, spend, shown, automatic, mails }
}

test.each(PROVIDERS)(
  'a balance that falls below the line is topped up through %s, once',
  async (provider) => {
    const { look, spend, balance, automatic, shown, played } = await withAutoTopUp(provider)
    await look()
    expect(await automatic()).toEqual([])
    await spend('200')
    for (let times = 0; times < 3; times += 1) await look()
    expect([await balance(), await automatic()]).toEqual(['600.00', ['succeeded']])
    expect(await shown()).toMatchObject({ is_on: true, charged_month_rub: '300.00', declines: 0 })
    // The second fall.
    await spend('250')
    await look()
    await look()
    expect([await balance(), await automatic()]).toEqual(['650.00', ['succeeded', 'succeeded']])
    expect(played.payments.size).toBe(3)
  },
)

test('a payment that leaves the balance below the threshold is not followed by another', async () => {
  const { look, spend, balance, automatic } = await withAutoTopUp()
  await spend('5000')
  for (let times = 0; times < 5; times += 1) await look()
  expect([await balance(), await automatic()]).toEqual(['-4200.00', ['succeeded']])
  await spend('10')
  await look(DAY)
  expect(await automatic()).toEqual(['succeeded'])
})

test('simultaneous checks begin one payment', async () => {
  const { t, spend, automatic, look, balance } = await withAutoTopUp()
  await spend('200')
  await Promise.all([t.app.payments.look(), t.app.payments.look(), t.app.payments.look()])
  await look()
  expect([await balance(), await automatic()]).toEqual(['600.00', ['succeeded']])
})

test('while a payment is open, another fall of the balance begins none', async () => {
  const { spend, automatic, look, balance, played } = await withAutoTopUp('stripe')
  played.fault = 'down'
  await spend('200')
  await look()
  expect(await automatic()).toEqual(['pending'])
  await spend('-1000')
  await spend('1000')
  await look()
  expect(await automatic()).toEqual(['pending'])
  played.fault = 'none'
  for (let times = 0; times < 4; times += 1) await look(60_000)
  expect([await balance(), await automatic()]).toEqual(['600.00', ['succeeded']])
})

test('declined payments wait longer each time, are mailed to people who may pay, and the third turns automatic top-ups off', async () => {
  const { t, card, look, spend, automatic, shown, mails, set, balance } = await withAutoTopUp('stripe')
  await addReaders(t, [
    ['ann@example.com', 'owner', 'en'],
    ['boris@example.com', 'billing', 'ru'],
    ['max@example.com', 'member', 'en'],
  ])
  card.answer = 'declined'
  await spend('200')
  await look()
  await look()
  expect(await automatic()).toEqual(['canceled'])
  const told = [
    'ann@example.com: An automatic payment at localhost was declined',
    'boris@example.com: Автоматический платёж на localhost отклонён',
  ]
  expect(await mails()).toEqual(told)
  expect(await shown()).toMatchObject({ is_on: true, declines: 1, charged_month_rub: '0.00' })
  expect((await shown()).waits_until).not.toBeNull()
  await look(HOUR - 60_000)
  expect(await automatic()).toHaveLength(1)
  await look(60_000)
  await look()
  expect(await automatic()).toHaveLength(2)
  await look(DAY - 60_000)
  expect(await automatic()).toHaveLength(2)
  await look(60_000)
  await look()
  expect(await automatic()).toEqual(['canceled', 'canceled', 'canceled'])
  expect(await mails()).toHaveLength(6)
  expect(t.mails.at(-2)?.text).toContain('Automatic top-up is off.')
  expect(await shown()).toMatchObject({ is_on: false, off_reason: 'declined', declines: 3 })
  card.answer = 'paid'
  await look(7 * DAY)
  expect(await automatic()).toHaveLength(3)
  // Setting it again tries at once.
  expect((await set()).body).toMatchObject({ is_on: true, declines: 0, off_reason: null })
  await look()
  await look()
  expect([await balance(), (await automatic())[0]]).toEqual(['600.00', 'succeeded'])
})

test('the monthly limit holds, and the next month has its own', async () => {
  const { t, look, spend, automatic, shown } = await withAutoTopUp('yookassa', { monthly_limit_rub: '700' })
  for (let times = 0; times < 3; times += 1) {
    await spend('300')
    await look()
    await look()
  }
  expect(await automatic()).toHaveLength(2)
  expect(await shown()).toMatchObject({
    ...{ is_on: true, charged_month_rub: '600.00' },
    waits_until: '2026-12-01T00:00:00.000Z',
  })
  await t.call('DELETE', PATH)
  expect(await shown()).toMatchObject({ is_on: false, below_rub: null, charged_month_rub: '600.00' })
  await look(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
  expect(await automatic()).toHaveLength(2)
})

test('a changed limit counts earlier charges, and the next month begins at zero', async () => {
  const { t, look, spend, automatic, set } = await withAutoTopUp('yookassa', { monthly_limit_rub: '300' })
  await spend('300')
  await look()
  await t.call('DELETE', PATH)
  await set()
  await spend('300')
  await look()
  await look()
  expect(await automatic()).toHaveLength(1)
  await look(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
  await look()
  expect(await automatic()).toHaveLength(2)
})

test('deleting the method turns automatic top-ups off', async () => {
  const { t, path, look, spend, automatic, shown } = await withAutoTopUp()
  expect((await t.call('DELETE', path)).status).toBe(204)
  await spend('400')
  await look()
  expect(await automatic()).toEqual([])
  expect(await shown()).toMatchObject({ is_on: false, off_reason: 'method_deleted' })
})

test('an account that is suspended by the operator, or closed, is not charged', async () => {
  const { t, shop, look, spend, automatic, shown } = await withAutoTopUp()
  const account = `/operator/accounts/${t.accountId}`
  await shop('POST', `${account}/suspend`, { reason: 'Spam' })
  await spend('400')
  await look(2 * HOUR)
  expect(await automatic()).toEqual([])
  await shop('POST', `${account}/close`, { reason: 'They left' })
  await look(2 * HOUR)
  expect([await automatic(), await shown()]).toMatchObject([
    [],
    { is_on: false, off_reason: 'account_closed' },
  ])
  await shop('POST', `${account}/resume`, { reason: 'They are back' })
  await look(2 * HOUR)
  await look()
  // Its method was forgotten when it was closed.
  expect([await automatic(), await shown()]).toMatchObject([[], { off_reason: 'method_deleted' }])
})

test('servers that were suspended for an empty balance resume with an automatic payment', async () => {
  const { t, look, spend, card, set, shown } = await withAutoTopUp('stripe')
  const id = await make(t, {})
  card.answer = 'declined'
  await spend('5000')
  const status = async () => (await t.call('GET', `/servers/${id}`)).body.status
  for (let hours = 0; hours < 30; hours += 1) {
    await look(HOUR)
    await t.app.billing.look()
    await t.finish()
  }
  expect([await status(), (await shown()).off_reason]).toEqual(['suspended', 'declined'])
  card.answer = 'paid'
  await set({ amount_rub: '6000' })
  await look()
  await look()
  await t.app.billing.look()
  await t.finish()
  expect(await status()).toBe('running')
})

test('only people who may pay can set automatic top-ups, with suitable amounts and method', async () => {
  const { t, set, shown } = await withAutoTopUp()
  expect(codeOf(await set({ amount_rub: '5' }))).toEqual([422, 'validation_failed'])
  expect(codeOf(await set({ below_rub: '500000.01' }))).toEqual([422, 'validation_failed'])
  expect(codeOf(await set({ monthly_limit_rub: '299.99' }))).toEqual([422, 'validation_failed'])
  expect(codeOf(await set({ payment_method_id: '01a1fb44-5b20-7e2d-9f5c-3a2f1e0d9c8b' }))).toEqual([
    ...[404, 'payment_method_not_found'],
  ])
  const settings = await shown()
  expect(settings).toMatchObject({ below_rub: '400.00', amount_rub: '300.00', monthly_limit_rub: '10000.00' })
  const { payment_method_id } = settings
  const body = { below_rub: '1', amount_rub: '10', monthly_limit_rub: '10', payment_method_id }
  const reader = t.callAs(await t.makeToken(['account:read', 'servers:write']))
  expect(codeOf(await reader('PUT', PATH, body))).toEqual([403, 'insufficient_scope'])
  expect(codeOf(await reader('DELETE', PATH))).toEqual([403, 'insufficient_scope'])
  const other = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount('0') }))
  expect(codeOf(await other('PUT', PATH, body))).toEqual([404, 'payment_method_not_found'])
  expect((await other('GET', PATH)).body).toMatchObject({ is_on: false, payment_method_id: null })
  const { items } = (await t.call('GET', '/account/audit')).body
  expect(items[0]).toMatchObject({ action: 'setAutoTopUp', object_type: 'auto_top_up' })
})
