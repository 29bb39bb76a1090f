import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countHeld } from '../../../api/payments/payments.ts'
import type { TestApp } from '../../harness/app.ts'
import type { PlayedPayment } from '../../harness/payment-providers.ts'
import { order } from '../harness/ordering.ts'
import { PROVIDERS, withPayments } from './harness/payments.ts'

const DAY = 24 * 3600_000
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

/** The amounts of the account's ledger, oldest first. */
async function ledger({ call }: Pick<TestApp, 'call'>): Promise<string[]> {
  const { body } = await call('GET', '/account/transactions')
  return body.items.map(({ amount }: { amount: string }) => amount).reverse()
}

test.each(PROVIDERS)('a payment through %s is booked once, when its API says so', async (provider) => {
  const { t, played, look, notify } = await withPayments()
  const started = await t.call('POST', '/account/payments', { amount_rub: '500', provider })
  expect(started).toMatchObject({
    status: 201,
    body: { status: 'pending', amount_rub: '500.00', provider, booked_at: null },
  })
  const { payment_id, url } = started.body
  expect(started.headers.location).toBe(`/v1/account/payments/${payment_id}`)
  expect(url).toBe(`${played.origin}/pay/${played.last.id}`)
  expect(played.last.returnUrl).toBe(`http://localhost/billing/payments/${payment_id}`)

  // Nobody has paid, whatever a notification says.
  await notify(played.last)
  await look()
  expect(await ledger(t)).toEqual([])

  played.last.status = 'succeeded'
  for (let times = 0; times < 3; times += 1) {
    await notify(played.last)
    await look()
  }
  expect(await ledger(t)).toEqual(['500.00'])
  expect((await t.call('GET', `/account/payments/${payment_id}`)).body).toMatchObject({
    ...{ status: 'succeeded', url: null, refunded_rub: '0.00' },
    booked_at: expect.any(String),
  })
  expect((await t.call('GET', '/account/payments')).body.total).toBe(1)
  // Another account sees nothing of it.
  const other = t.callAs(await t.makeToken(['read'], { accountId: await t.makeAccount('0') }))
  expect(codeOf(await other('GET', `/account/payments/${payment_id}`))).toEqual([404, 'payment_not_found'])
})

test('a notification that names a payment of nobody, or nothing at all, asks no provider', async () => {
  const { t, played, notify, look } = await withPayments()
  for (const body of [{}, { object: { id: 'pay-0' } }, { data: { object: { payment_intent: ['x'] } } }, []])
    expect(await notify.raw('yookassa', body)).toBe(200)
  expect(await notify.raw('paypal', {})).toBe(404)
  await look()
  expect(played.requests).toBe(0)
  await t.call('POST', '/account/payments', { amount_rub: '500' })
  const before = played.requests
  for (let times = 0; times < 50; times += 1) {
    await notify(played.last)
    await t.app.payments.look()
  }
  expect(played.requests - before).toBe(1)
})

test.each(PROVIDERS)('%s is down for an hour: the payment is booked after it, once', async (provider) => {
  const { t, played, look } = await withPayments()
  await t.call('POST', '/account/payments', { amount_rub: '500', provider })
  played.last.status = 'succeeded'
  played.fault = 'down'
  for (let minutes = 0; minutes < 60; minutes += 1) await look(60_000)
  expect(played.requests).toBeLessThan(100)
  played.fault = 'none'
  for (let minutes = 0; minutes < 10; minutes += 1) await look(60_000)
  expect(await ledger(t)).toEqual(['500.00'])
})

test.each(PROVIDERS)('a start whose reply from %s is lost leads to one payment', async (provider) => {
  const { t, played, look } = await withPayments()
  played.fault = 'lost replies'
  const started = await t.call('POST', '/account/payments', { amount_rub: '500', provider })
  expect(started).toMatchObject({ status: 201, body: { status: 'pending', url: null } })
  played.fault = 'none'
  await look()
  const { body } = await t.call('GET', `/account/payments/${started.body.payment_id}`)
  expect(body.url).toBe(`${played.origin}/pay/${played.last.id}`)
  expect(played.payments.size).toBe(1)
  played.last.status = 'succeeded'
  await look()
  expect(await ledger(t)).toEqual(['500.00'])
})

test('a payment that does not match is not booked, and the operator sees why', async () => {
  const { t, shop, played, look } = await withPayments()
  const start = async (change: Partial<PlayedPayment>, call = t.call) => {
    const { body } = await call('POST', '/account/payments', { amount_rub: '500' })
    Object.assign(played.last, { status: 'succeeded', ...change })
    return body.payment_id
  }
  const closing = await t.makeAccount('0')
  const theirs = t.callAs(await t.makeToken(['read', 'write'], { accountId: closing }))
  const payments = [
    await start({ kopecks: 49_999 }),
    await start({ currency: 'USD' }),
    await start({}, theirs),
  ]
  await shop('POST', `/operator/accounts/${closing}/close`, { reason: 'They left' })
  await look()
  const problems = async () => {
    const { items } = (await shop('GET', '/operator/payments?has_problem=true')).body
    return payments.map(
      (id) => items.find((item: { payment_id: string }) => item.payment_id === id)?.problem ?? null,
    )
  }
  expect(await problems()).toEqual([
    'Not booked: the provider received 499.99, not 500.00.',
    'Not booked: the provider received USD, not RUB.',
    'Not booked: the account is closed.',
  ])
  expect([await ledger(t), await ledger({ call: theirs })]).toEqual([[], []])
  expect((await t.call('GET', `/account/payments/${payments[0]}`)).body.status).toBe('held')
  expect(await countHeld(t.db)).toBe(3)
  // The account is open again after three weeks: the next day's look books it.
  for (let day = 0; day < 21; day++) await look(DAY)
  await shop('POST', `/operator/accounts/${closing}/resume`, { reason: 'They are back' })
  await look(DAY)
  expect(await ledger({ call: theirs })).toEqual(['500.00'])
  expect((await problems())[2]).toBeNull()
})

test('a refund of a held payment leaves the balance only if the operator has credited the payment by hand', async () => {
  const { t, shop, played, look } = await withPayments()
  const credit = (reference: string, amount = '499.99', account = t.accountId) =>
    shop('POST', `/operator/accounts/${account}/credit`, {
      amount,
      type: 'payment',
      reason: 'Held',
      reference,
    })
  const held = async () => {
    const { body } = await t.call('POST', '/account/payments', { amount_rub: '500', provider: 'stripe' })
    Object.assign(played.last, { status: 'succeeded', kopecks: 49_999 })
    await look()
    const shown = (await shop('GET', `/operator/payments/${body.payment_id}`)).body
    expect(shown).toMatchObject({ status: 'held', reference: `stripe:${played.last.id}` })
    return { payment: played.last, reference: shown.reference }
  }
  const first = await held()
  const other = await credit(first.reference, '499.99', await t.makeAccount('0'))
  expect(codeOf(other)).toEqual([409, 'reference_taken'])
  expect((await credit(first.reference)).status).toBe(200)
  const dispute = played.back(first.payment, { kind: 'dispute', kopecks: 49_999, status: 'needs_response' })
  await look(2 * DAY)
  expect(await ledger(t)).toEqual(['499.99', '-499.99'])
  dispute.status = 'won'
  await look(2 * DAY)
  expect(await ledger(t)).toEqual(['499.99', '-499.99', '499.99'])

  const second = await held()
  const back = played.back(second.payment, { kind: 'dispute', kopecks: 49_999, status: 'needs_response' })
  await look(2 * DAY)
  // It would be in the balance, although the bank has taken it.
  const late = await credit(second.reference)
  expect(codeOf(late)).toEqual([409, 'reference_taken'])
  expect(late.body.detail).toContain('paid back')
  back.status = 'won'
  await look(2 * DAY)
  expect(await ledger(t)).toHaveLength(3)
})

test.each(PROVIDERS)(
  'refunds and disputes of %s are booked once each, and a won dispute back',
  async (provider) => {
    const { t, played, look, notify } = await withPayments()
    const { body } = await t.call('POST', '/account/payments', { amount_rub: '500', provider })
    played.last.status = 'succeeded'
    // Paid and paid back in part before the first look.
    played.back(played.last, { kind: 'refund', kopecks: 10_000, status: 'succeeded' })
    const later = played.back(played.last, { kind: 'refund', kopecks: 5_000, status: 'pending' })
    await look()
    expect(await ledger(t)).toEqual(['500.00', '-100.00'])
    later.status = 'succeeded'
    await notify(played.last)
    await look()
    await notify(played.last)
    await look()
    expect(await ledger(t)).toEqual(['500.00', '-100.00', '-50.00'])
    const seen = () => t.call('GET', `/account/payments/${body.payment_id}`)
    expect((await seen()).body).toMatchObject({ status: 'succeeded', refunded_rub: '150.00' })
    if (provider === 'yookassa') return
    const dispute = played.back(played.last, { kind: 'dispute', kopecks: 50_000, status: 'needs_response' })
    await notify(played.last)
    await look()
    expect((await seen()).body.status).toBe('disputed')
    dispute.status = 'won'
    await look(DAY)
    expect((await ledger(t)).slice(3)).toEqual(['-500.00', '500.00'])
    expect((await seen()).body).toMatchObject({ status: 'succeeded', refunded_rub: '150.00' })
  },
)

test.each(PROVIDERS)(
  'the operator refunds a part through %s once, and no more than is left',
  async (provider) => {
    const { t, shop, played, look } = await withPayments()
    const { payment_id } = (await t.call('POST', '/account/payments', { amount_rub: '500', provider })).body
    const path = `/operator/payments/${payment_id}/refund`
    const refund = (amount_rub: string) =>
      shop('POST', path, { amount_rub, reason: 'Paid twice' }, { 'idempotency-key': amount_rub })
    expect(codeOf(await refund('1'))).toEqual([409, 'refund_too_large'])
    played.last.status = 'succeeded'
    await look()
    expect((await refund('200')).body.returns).toMatchObject([{ status: 'requested', amount_rub: '200.00' }])
    expect((await refund('200')).body.returns).toHaveLength(1)
    expect(codeOf(await refund('300.01'))).toEqual([409, 'refund_too_large'])
    // The reply is lost: a repeat finds the first refund.
    played.fault = 'lost replies'
    await look()
    expect(await ledger(t)).toEqual(['500.00'])
    played.fault = 'none'
    await look(60_000)
    expect(await ledger(t)).toEqual(['500.00', '-200.00'])
    expect(played.last.backs).toHaveLength(1)
    await refund('300')
    await look()
    const { body } = await shop('GET', `/operator/payments/${payment_id}`)
    expect(body).toMatchObject({ status: 'refunded', refunded_rub: '500.00', problem: null })
    expect(codeOf(await t.call('GET', '/operator/payments'))).toEqual([403, 'person_required'])
    const { items } = (await t.call('GET', '/account/audit')).body
    expect(items[0].action).toMatch(/^refundPayment, by the operator's token .*: Paid twice$/)
  },
)

test('an account has at most ten open payments, and one that is suspended can pay', async () => {
  const { t, shop, played, look } = await withPayments()
  await shop('POST', `/operator/accounts/${t.accountId}/suspend`, { reason: 'Unpaid' })
  const start = () => t.call('POST', '/account/payments', { amount_rub: '500' })
  for (let times = 0; times < 10; times += 1) expect((await start()).status).toBe(201)
  expect(codeOf(await start())).toEqual([409, 'too_many_open_payments'])
  played.last.status = 'canceled'
  await look()
  expect((await start()).status).toBe(201)
  const outside = await t.call('POST', '/account/payments', { amount_rub: '9.99' })
  expect(codeOf(outside)).toEqual([422, 'validation_failed'])
})

test('where payments can be made, the balance and refusals lead to the billing page', async () => {
  const { t } = await withPayments()
  const page = `http://localhost/billing?account=${t.accountId}`
  expect((await t.call('GET', '/account/balance')).body.top_up_url).toBe(page)
  const refused = await t.call('POST', '/servers', await order(t.call))
  expect(codeOf(refused)).toEqual([402, 'insufficient_balance'])
  expect(refused.body.detail).toContain(`Pay at ${page}.`)
})

test('without providers nothing can be paid, and receipts have the fields of 54-FZ', async () => {
  const none = await withPayments({ yookassa: null, stripe: null })
  expect((await none.t.call('GET', '/account/payment_providers')).body).toEqual({ items: [], total: 0 })
  expect(codeOf(await none.t.call('POST', '/account/payments', { amount_rub: '500' }))).toEqual([
    409,
    'payments_off',
  ])
  const { t, played } = await withPayments({ receipt: { vatCode: 1, taxSystemCode: 2 } })
  await t.call('POST', '/account/payments', { amount_rub: '500' })
  expect(played.last.sent.receipt).toEqual({
    customer: { email: 'customer1@example.com' },
    items: [
      expect.objectContaining({
        amount: { value: '500.00', currency: 'RUB' },
        ...{ vat_code: 1, payment_mode: 'advance', payment_subject: 'payment' },
      }),
    ],
    tax_system_code: 2,
  })
})

/** PostgreSQL takes four times as long for each, and books by the same code. */
const ORDERS = process.env.BERTH_TEST_DATABASE === 'postgres' ? 100 : 1000

test(`in ${ORDERS} random orders of pay, refund, dispute, notify, look and outage the ledger has each thing once`, async () => {
  const { t, played, notify, look } = await withPayments()
  const steps = fc.array(fc.constantFrom('pay', 'refund', 'dispute', 'win', 'notify', 'look', 'down', 'up'), {
    minLength: 4,
    maxLength: 9,
  })
  const expected: number[] = []
  for (const order of fc.sample(steps, { numRuns: ORDERS, seed: 26 })) {
    played.fault = 'none'
    const provider = PROVIDERS[expected.length % 2]
    const { status } = await t.call('POST', '/account/payments', { amount_rub: '500', provider })
    expect(status).toBe(201)
    const payment = played.last
    for (const step of order) {
      const [dispute] = payment.backs.filter(({ kind }) => kind === 'dispute')
      if (step === 'pay') payment.status = 'succeeded'
      if (step === 'refund' && payment.status === 'succeeded' && payment.backs.length < 3)
        played.back(payment, { kind: 'refund', kopecks: 10_000, status: 'succeeded' })
      if (step === 'dispute' && payment.status === 'succeeded' && !dispute && provider === 'stripe')
        played.back(payment, { kind: 'dispute', kopecks: 20_000, status: 'needs_response' })
      if (step === 'win' && dispute) dispute.status = 'won'
      if (step === 'notify') await notify(payment)
      if (step === 'look') await look(3_000)
      if (step === 'down' || step === 'up') played.fault = step === 'down' ? 'down' : 'none'
    }
    played.fault = 'none'
    if (payment.status === 'pending') payment.status = 'canceled'
    const gone = payment.backs.filter((back) => back.status !== 'won')
    const kept = gone.reduce((sum, { kopecks }) => sum - kopecks, 50_000)
    expected.push(payment.status === 'succeeded' ? kept : 0)
    if (expected.length % 9 === 0) await look(10 * 60_000)
  }
  await look(10 * 60_000)
  await look(2 * DAY)
  const { body } = await t.call('GET', '/account/balance')
  expect(Number(body.balance) * 100).toBe(expected.reduce((sum, kopecks) => sum + kopecks))
  const all = await t.db.selectFrom('payments').select(['status']).execute()
  expect(all.filter(({ status }) => status === 'pending' || status === 'held')).toEqual([])
  expect(all).toHaveLength(ORDERS)
})
