import { expect, test } from 'vitest'
import { METHODS, PROVIDERS, withMethod } from './harness/payments.ts'

const DAY = 24 * 3600_000
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

test.each(PROVIDERS)('a method saved at %s is charged without a page, and booked once', async (provider) => {
  const { t, played, look, notify, items, charge, balance } = await withMethod(provider)
  expect(items).toMatchObject([
    provider === 'stripe'
      ? { provider, brand: 'visa', last_four: '4242', expires: '2030-07' }
      : { provider, brand: 'MasterCard', last_four: '4477', expires: '2029-04' },
  ])
  expect(await charge()).toMatchObject({ status: 201, body: { status: 'pending', url: null, provider } })
  expect(await balance()).toBe('500.00')
  for (let times = 0; times < 3; times += 1) {
    await notify(played.last)
    await look()
  }
  expect(await balance()).toBe('800.00')
  expect(played.payments.size).toBe(2)
  // A payment that was not asked to save its method saves none.
  expect((await t.call('GET', METHODS)).body.total).toBe(1)
})

test.each(PROVIDERS)(
  'a charge whose reply from %s is lost is made once, even if the method is deleted',
  async (provider) => {
    const { t, played, look, charge, balance, path } = await withMethod(provider)
    played.fault = 'lost replies'
    expect((await charge()).body).toMatchObject({ status: 'pending', url: null })
    expect((await t.call('DELETE', path)).status).toBe(204)
    await look()
    played.fault = 'none'
    for (let times = 0; times < 4; times += 1) await look(60_000)
    expect(await balance()).toBe('800.00')
    expect(played.payments.size).toBe(2)
    expect(await t.db.selectFrom('payment_methods').select('method_id').execute()).toEqual([])
  },
)

test.each(['declined', 'needs its owner'] as const)('a charge that is %s books nothing', async (answer) => {
  for (const provider of PROVIDERS) {
    const { t, look, charge, balance, card } = await withMethod(provider)
    card.answer = answer
    const refused = await charge()
    if (provider === 'stripe') expect(codeOf(refused)).toEqual([409, 'payment_refused'])
    await look()
    expect((await t.call('GET', '/account/payments')).body.items[0].status).toBe('canceled')
    expect(await balance()).toBe('500.00')
  }
})

test('a charge that had no answer for a day is held for the operator', async () => {
  const { t, played, shop, look, charge, balance } = await withMethod('stripe')
  played.fault = 'lost replies'
  const { payment_id } = (await charge()).body
  await look(DAY)
  played.fault = 'none'
  await look(DAY)
  expect((await t.call('GET', `/account/payments/${payment_id}`)).body.status).toBe('held')
  expect((await shop('GET', `/operator/payments/${payment_id}`)).body.problem).toMatch(/for a day/)
  expect(await balance()).toBe('500.00')
})

test('a repeated charge that the provider refuses is held, since the first may have taken money', async () => {
  const { t, played, look, charge, balance } = await withMethod('yookassa')
  played.fault = 'down'
  const { payment_id } = (await charge()).body
  await t.db.updateTable('payment_methods').set({ provider_id: 'unknown' }).execute()
  played.fault = 'none'
  await look(60_000)
  expect((await t.call('GET', `/account/payments/${payment_id}`)).body.status).toBe('held')
  expect(await balance()).toBe('500.00')
})

test('a deleted method is forgotten by its provider, and cannot be charged', async () => {
  const { t, played, look, charge, path } = await withMethod('stripe')
  const other = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount('0') }))
  expect(codeOf(await other('DELETE', path))).toEqual([404, 'payment_method_not_found'])
  played.fault = 'down'
  expect((await t.call('DELETE', path)).status).toBe(204)
  await look()
  expect(played.cards.size).toBe(1)
  expect(codeOf(await t.call('DELETE', path))).toEqual([404, 'payment_method_not_found'])
  expect(codeOf(await charge())).toEqual([404, 'payment_method_not_found'])
  played.fault = 'none'
  await look()
  expect(played.cards.size).toBe(0)
  expect(await t.db.selectFrom('payment_methods').select('method_id').execute()).toEqual([])
})

test('a provider that does not answer is asked again after a pause to forget a method', async () => {
  const { t, played, look, path } = await withMethod('stripe')
  played.fault = 'down'
  expect((await t.call('DELETE', path)).status).toBe(204)
  await look()
  played.fault = 'none'
  await look(2_000)
  expect(played.cards.size).toBe(1)
  await look(10_000)
  expect(played.cards.size).toBe(0)
})

test.each(PROVIDERS)(
  'once an account is closed its methods are forgotten, at %s too, and a resumed one has none',
  async (provider) => {
    const { t, played, shop, look, charge, path } = await withMethod(provider)
    const other = await t.makeAccount()
    await shop('POST', `/operator/accounts/${other}/close`, { reason: 'The customer left' })
    await look()
    expect((await t.call('GET', METHODS)).body.total).toBe(1)
    const account = `/operator/accounts/${t.accountId}`
    expect((await shop('POST', `${account}/close`, { reason: 'The customer left' })).status).toBe(200)
    played.fault = 'down'
    await look(600_000)
    expect((await t.call('GET', METHODS)).body).toEqual({ items: [], total: 0 })
    // YooKassa has no call by which it forgets one.
    const left = await t.db.selectFrom('payment_methods').select('method_id').execute()
    expect(left).toHaveLength(provider === 'stripe' ? 1 : 0)
    played.fault = 'none'
    await look()
    expect(await t.db.selectFrom('payment_methods').select('method_id').execute()).toEqual([])
    if (provider === 'stripe') expect(played.cards.size).toBe(0)
    await shop('POST', `${account}/resume`, { reason: 'They came back' })
    expect(codeOf(await charge())).toEqual([404, 'payment_method_not_found'])
    expect(codeOf(await t.call('DELETE', path))).toEqual([404, 'payment_method_not_found'])
  },
)

test('an account saves at most ten methods, with those that payments are about to save', async () => {
  const { t, played, look, path } = await withMethod('yookassa')
  const save = () => t.call('POST', '/account/payments', { amount_rub: '500', save_method: true })
  for (let times = 0; times < 9; times += 1) {
    expect((await save()).status).toBe(201)
    if (times < 4) played.last.status = 'succeeded'
  }
  expect(codeOf(await save())).toEqual([409, 'too_many_payment_methods'])
  await look()
  expect((await t.call('GET', METHODS)).body.total).toBe(5)
  expect(codeOf(await save())).toEqual([409, 'too_many_payment_methods'])
  await t.call('DELETE', path)
  expect((await save()).status).toBe(201)
})

test('a charge names a method of the account alone, at the provider that has saved it', async () => {
  const { t, items } = await withMethod('stripe')
  const [{ payment_method_id }] = items
  const start = (body: object, call = t.call) =>
    call('POST', '/account/payments', { amount_rub: '500', payment_method_id, ...body })
  expect(codeOf(await start({ provider: 'yookassa' }))).toEqual([422, 'validation_failed'])
  expect(codeOf(await start({ save_method: true }))).toEqual([422, 'validation_failed'])
  expect(codeOf(await start({ method_id: payment_method_id }))).toEqual([422, 'validation_failed'])
  const short = { amount_rub: '500', method_id: payment_method_id }
  expect(await t.call('POST', '/account/payments', short)).toMatchObject({ status: 201, body: { url: null } })
  const other = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount('0') }))
  expect(codeOf(await start({}, other))).toEqual([404, 'payment_method_not_found'])
})
