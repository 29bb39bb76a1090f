// Payments that Stripe charges in euros, while the books stay in rubles.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TestApp } from '../../harness/app.ts'
import { chargingEuros, withEuros } from '../../harness/second-currency.ts'
import { withMethod, withPayments } from './harness/payments.ts'

const DAY = 24 * 3600_000
const rub = (minor: number) => ({ minor, currency: 'RUB', exchangeRate: minor / 508 })
const eur = (minor: number) => ({ minor, currency: 'EUR', exchangeRate: null })
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

async function ledger({ call }: Pick<TestApp, 'call'>): Promise<string[]> {
  const { body } = await call('GET', '/account/transactions')
  return body.items.map(({ amount }: { amount: string }) => amount).reverse()
}

/** The application that charges euros, and a payment in them that is open: 500 rubles are 5.08 euros. */
async function begun(body: object = { amount_rub: '500', charge_currency: 'EUR' }) {
  const paid = await withPayments(chargingEuros())
  const { status, body: payment } = await paid.t.call('POST', '/account/payments', body)
  expect(status).toBe(201)
  const path = `/operator/payments/${payment.payment_id}`
  const refund = (amount_rub: string) =>
    paid.shop('POST', `${path}/refund`, { amount_rub, reason: 'Unused' }, { 'idempotency-key': amount_rub })
  const seen = async () => (await paid.shop('GET', path)).body
  return { ...paid, payment, refund, seen }
}

test('a payment in euros is booked as the rubles that arrived, once Stripe has exchanged it', async () => {
  const { t, played, look, payment, seen } = await begun()
  expect(payment).toMatchObject({
    ...{ provider: 'stripe', status: 'pending', charge_currency: 'EUR', charge_amount: '5.08' },
    amount_rub: '500.38',
  })
  expect(played.last.sent).toMatchObject({
    'line_items[0][price_data][currency]': 'eur',
    'line_items[0][price_data][unit_amount]': '508',
  })
  played.last.status = 'succeeded'
  await look()
  expect([await ledger(t), (await seen()).status]).toEqual([[], 'pending'])
  played.last.settled = rub(487_91)
  await look(60_000)
  await look(DAY)
  expect(await ledger(t)).toEqual(['487.91'])
  expect(await seen()).toMatchObject({ status: 'succeeded', amount_rub: '487.91', charge_amount: '5.08' })
})

test('euros that arrive are booked at the rate from when the payment began', async () => {
  const { t, played, look, payment } = await begun({ charge_amount: '12.34', charge_currency: 'EUR' })
  expect(payment).toMatchObject({ charge_amount: '12.34', amount_rub: '1215.49' })
  Object.assign(played.last, { status: 'succeeded', settled: eur(12_34) })
  await look()
  expect(await ledger(t)).toEqual(['1215.49'])
})

test('euros that do not match, or become dollars, book nothing, and the operator sees why', async () => {
  for (const [change, problem] of [
    [{ kopecks: 507, settled: eur(507) }, 'Not booked: the provider received 5.07, not 5.08.'],
    [{ currency: 'RUB', settled: rub(508) }, 'Not booked: the provider received RUB, not EUR.'],
    [
      { settled: { minor: 551, currency: 'USD', exchangeRate: 1.085 } },
      'Not booked: 5.51 USD arrived for 5.08 EUR.',
    ],
    [{ settled: eur(507) }, 'Not booked: 5.07 EUR arrived for 5.08 EUR.'],
    [{ settled: rub(0) }, 'Not booked: 0.00 RUB arrived for 5.08 EUR.'],
  ] as const) {
    const { t, played, look, seen } = await begun()
    Object.assign(played.last, { status: 'succeeded', ...change })
    await look()
    expect(await seen()).toMatchObject({ status: 'held', problem })
    expect(await ledger(t)).toEqual([])
  }
})

test('a charge that Stripe does not exchange for days is held, and booked once it is', async () => {
  const { t, played, look, seen } = await begun()
  played.last.status = 'succeeded'
  await look()
  await look(4 * DAY)
  expect((await seen()).problem).toBe('Not booked: the provider has not said for three days what arrived.')
  played.last.settled = rub(500_00)
  await look(5 * DAY)
  expect(await ledger(t)).toEqual(['500.00'])
  expect(await seen()).toMatchObject({ status: 'succeeded', problem: null })
})

test('refunds in euros take what they are worth, and together what was booked, to the kopeck', async () => {
  const { t, played, look, notify, refund, seen } = await begun()
  Object.assign(played.last, { status: 'succeeded', settled: rub(487_91) })
  // A refund at Stripe before the first look.
  played.back(played.last, { kind: 'refund', kopecks: 100, status: 'succeeded' })
  await look()
  expect(await ledger(t)).toEqual(['487.91', '-96.05'])
  expect(codeOf(await refund('391.87'))).toEqual([409, 'refund_too_large'])
  expect(codeOf(await refund('0.10'))).toEqual([422, 'validation_failed'])
  expect((await refund('200')).body.returns[1]).toMatchObject({ charge_amount: '2.08', amount_rub: '199.77' })
  await look()
  expect(played.last.backs.map(({ kopecks }) => kopecks)).toEqual([100, 208])
  expect((await ledger(t)).slice(2)).toEqual(['-199.77'])
  const left = (487_91 - 96_05 - 199_77) / 100
  expect((await refund(left.toFixed(2))).body.returns[2]).toMatchObject({ charge_amount: '2.00' })
  await notify(played.last)
  await look(60_000)
  expect(await seen()).toMatchObject({ status: 'refunded', refunded_rub: '487.91', problem: null })
  expect((await t.call('GET', '/account/balance')).body.balance).toBe('0.00')
  expect(codeOf(await refund('0.01'))).toEqual([409, 'refund_too_large'])
})

test('a refund in another currency, or of more than was charged, is not booked', async () => {
  const { t, played, look, seen } = await begun()
  Object.assign(played.last, { status: 'succeeded', settled: rub(487_91) })
  await look()
  const more = played.back(played.last, { kind: 'refund', kopecks: 509, status: 'succeeded' })
  await look(DAY)
  expect((await seen()).problem).toBe(
    `Not booked: a refund of 5.09 EUR (${more.id}), which does not match the payment.`,
  )
  expect(await ledger(t)).toEqual(['487.91'])
})

test('in random orders of refunds, disputes and won disputes in euros the balance is what is left', async () => {
  const { t, played, look, notify } = await withPayments(chargingEuros())
  const parts = fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.boolean()), { maxLength: 5 })
  const settled = fc.integer({ min: 400_00, max: 600_00 })
  let expected = 0
  for (const [backs, arrived] of fc.sample(fc.tuple(parts, settled), { numRuns: 40, seed: 26 })) {
    await t.call('POST', '/account/payments', { amount_rub: '500', charge_currency: 'EUR' })
    const payment = played.last
    Object.assign(payment, { status: 'succeeded', settled: rub(arrived) })
    const lookAgain = async () => {
      await notify(payment)
      await look()
    }
    await lookAgain()
    let left = 508
    for (const [coins, isWon] of backs) {
      const kopecks = Math.min(left, coins)
      if (kopecks === 0) continue
      if (!isWon) left -= kopecks
      const kind = isWon ? 'dispute' : 'refund'
      const back = played.back(payment, { kind, kopecks, status: isWon ? 'lost' : 'succeeded' })
      await lookAgain()
      if (isWon) back.status = 'won'
      await lookAgain()
    }
    const { refunded, disputed, amount } = await t.db
      .selectFrom('payments')
      .selectAll()
      .where('provider_id', '=', payment.id)
      .executeTakeFirstOrThrow()
    expect([amount, disputed]).toEqual([arrived * 100, 0])
    // A won dispute may leave a refund a kopeck away from its exact share.
    const share = Math.round(((508 - left) * arrived) / 508)
    if (left === 0 || backs.every(([, isWon]) => !isWon)) expect(refunded).toBe(share * 100)
    expect(Math.abs(refunded - share * 100)).toBeLessThanOrEqual(100 * backs.length)
    expected += arrived * 100 - refunded
  }
  expect(Number((await t.call('GET', '/account/balance')).body.balance) * 10_000).toBeCloseTo(expected, 0)
})

test('a saved card is charged in euros', async () => {
  const { t, played, look, items, balance } = await withMethod('stripe', chargingEuros())
  const [{ payment_method_id }] = items
  await t.call('POST', '/account/payments', { amount_rub: '300', charge_currency: 'EUR', payment_method_id })
  expect(played.last.sent).toMatchObject({ amount: '305', currency: 'eur' })
  played.last.settled = rub(290_00)
  await look()
  expect(await balance()).toBe('790.00')
})

test('a currency is charged only where the operator allows it, and a sum is given once', async () => {
  const { t } = await begun()
  const { items } = (await t.call('GET', '/account/payment_providers')).body
  expect(items.map((item: { currencies: string[] }) => item.currencies)).toEqual([['RUB'], ['RUB', 'EUR']])
  const start = async (body: object, call = t.call) => {
    const reply = await call('POST', '/account/payments', body)
    return [reply.body.code, reply.body.errors?.[0]?.code]
  }
  const charge_currency = 'EUR'
  const amount_rub = '500'
  expect(await start({ charge_currency, charge_amount: '5', amount_rub })).toEqual([
    ...['validation_failed', 'mutually_exclusive'],
  ])
  expect(await start({})).toEqual(['validation_failed', 'required'])
  expect(await start({ charge_amount: '5' })).toEqual(['validation_failed', 'required'])
  expect(await start({ charge_currency: 'USD', amount_rub })).toEqual(['validation_failed', 'not_in_enum'])
  expect(await start({ charge_currency, charge_amount: '0.10' })).toEqual([
    ...['validation_failed', 'below_minimum'],
  ])
  expect(await start({ charge_currency, charge_amount: '9999' })).toEqual([
    ...['validation_failed', 'above_maximum'],
  ])
  expect(await start({ charge_currency, amount_rub, provider: 'yookassa' })).toEqual([
    'payments_off',
    undefined,
  ])
  const shown = await withPayments(withEuros())
  expect(await start({ charge_currency, amount_rub }, shown.t.call)).toEqual([
    ...['validation_failed', 'not_in_enum'],
  ])
})
