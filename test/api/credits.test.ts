import { expect, test } from 'vitest'
import { post } from '../../api/billing/ledger.ts'
import { type Call, type TestApp, testApp } from '../harness/app.ts'
import { PASSWORD, signUp } from './harness/browser.ts'
import { issues, make, NOBODY } from './harness/ordering.ts'
import { withShop } from './operator/harness/shop.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR
const CODES = '/operator/promo_codes'
const PATH = '/account/credits'

const terms = (t: TestApp, more: object = {}) => ({
  ...{ name: 'Conference', amount_rub: '300', credit_days: 30, max_uses: 100 },
  ...{ expires_at: new Date(t.clock.now() + 60 * DAY).toISOString(), ...more },
})
const codeOf = ({ status, body }: Awaited<ReturnType<Call>>) => [status, body.code ?? body.error_code]
const balanceOf = async ({ call }: { call: Call }) => (await call('GET', '/account/balance')).body.balance

/** The amounts of an account's entries that are no charges, oldest first. */
async function booked({ call }: { call: Call }): Promise<string[]> {
  const { items } = (await call('GET', '/account/transactions?limit=100')).body
  return items
    .filter(({ type }: { type: string }) => type !== 'charge')
    .map(({ amount }: { amount: string }) => amount)
    .reverse()
}

/** A shop, and an account without money that has redeemed a code of 300 rubles for 30 days. */
async function withCredit(more: object = {}) {
  const { t, shop } = await withShop({ balance: '0' })
  const { body } = await shop('POST', CODES, terms(t, more))
  const redeem = (call = t.call, code = body.code) => call('POST', PATH, { code })
  const first = await redeem()
  expect(first.status).toBe(201)
  const other = async () => {
    const accountId = await t.makeAccount('0')
    return { accountId, call: t.callAs(await t.makeToken(['read', 'write'], { accountId })) }
  }
  const credits = async () => (await t.call('GET', PATH)).body.items
  const work = async (ms: number) => {
    t.clock.advance(ms)
    await t.app.billing.look()
  }
  return { t, shop, promo: body, redeem, first: first.body, other, credits, work }
}

test('a promo code is in the balance at once, once for each account, in any spelling', async () => {
  const { t, shop, promo, first, redeem, other } = await withCredit()
  expect(promo.code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/)
  expect(first).toMatchObject({
    source: 'promo_code',
    amount_rub: '300.00',
    left_rub: '300.00',
    ended_at: null,
  })
  expect(Date.parse(first.expires_at)).toBe(t.clock.now() + 30 * DAY)
  expect(await balanceOf(t)).toBe('300.00')
  expect(codeOf(await redeem())).toEqual([409, 'promo_code_redeemed'])
  const theirs = await other()
  expect((await redeem(theirs.call, promo.code.toLowerCase().replaceAll('-', ' '))).status).toBe(201)
  const { body: shown } = await shop('GET', `${CODES}/${promo.promo_code_id}`)
  expect(shown).toMatchObject({ uses: 2, max_uses: 100, amount_rub: '300.00' })
  expect(JSON.stringify([shown, await t.db.selectFrom('promo_codes').selectAll().execute()])).not.toContain(
    promo.code,
  )
  // Credit is no payment.
  const { body } = await shop('GET', `/operator/accounts/${t.accountId}`)
  expect(body).toMatchObject({ balance: '300.00', paid: '0.00' })
  const { items } = (await t.call('GET', '/account/audit')).body
  expect(items[0]).toMatchObject({ action: 'redeemPromoCode', amount: '300.00' })
})

test('a repeat with its key finds the first redemption', async () => {
  const { t, shop } = await withShop({ balance: '0' })
  const { body } = await shop('POST', CODES, terms(t))
  const send = () => t.call('POST', PATH, { code: body.code }, { 'idempotency-key': 'once' })
  const [first, again] = [await send(), await send()]
  expect([first.status, again.body]).toEqual([201, first.body])
  expect(await booked(t)).toEqual(['300.00'])
})

test('codes that are forged, expired, revoked or used up give nothing, and say why', async () => {
  const { t, shop, redeem, other } = await withCredit({ max_uses: 1 })
  const theirs = await other()
  const why = async (code: string) => {
    const { status, body } = await redeem(theirs.call, code)
    return [status, body.code, body.detail]
  }
  const refusal = (detail: string) => [409, 'promo_code_invalid', expect.stringContaining(detail)]
  const made = async (more: object = {}) => (await shop('POST', CODES, terms(t, more))).body
  const [short, revoked] = [
    await made({ expires_at: new Date(t.clock.now() + HOUR).toISOString() }),
    await made(),
  ]
  t.clock.advance(HOUR)
  const path = `${CODES}/${revoked.promo_code_id}/revoke`
  const [once, twice] = [await shop('POST', path), await shop('POST', path)]
  expect([once.body.revoked_at, twice.body]).toEqual([new Date(t.clock.now()).toISOString(), once.body])
  const { items } = (await shop('GET', CODES)).body
  expect(items).toHaveLength(3)
  expect(await why('AAAA-BBBB-CCCC-DDDD')).toEqual(refusal('No such code'))
  expect(await why(short.code)).toEqual(refusal('It expired at'))
  expect(await why(revoked.code)).toEqual(refusal('revoked'))
  const { code } = await made({ max_uses: 1 })
  expect((await redeem(t.call, code)).status).toBe(201)
  expect(await why(code)).toEqual(refusal('as often as it may be'))
  expect(issues((await redeem(theirs.call, 'short')).body)).toEqual([['/code', 'invalid_format']])
  expect(await balanceOf(theirs)).toBe('0.00')
  await shop('POST', `/operator/accounts/${theirs.accountId}/close`, { reason: 'They left' })
  expect(codeOf(await redeem(theirs.call, (await made()).code))).toEqual([403, 'account_suspended'])
  expect(codeOf(await shop('GET', `${CODES}/${NOBODY}`))).toEqual([404, 'promo_code_not_found'])
})

test('a suspended account can redeem, as it can pay', async () => {
  const { t, shop, promo, redeem, other } = await withCredit()
  const theirs = await other()
  await shop('POST', `/operator/accounts/${theirs.accountId}/suspend`, { reason: 'Debt' })
  expect((await redeem(theirs.call, promo.code)).status).toBe(201)
  expect(await booked(theirs)).toEqual(['300.00'])
  expect(await booked(t)).toEqual(['300.00'])
})

test('if two accounts take the last use at the same moment, one gets it, and an account gets a code once', async () => {
  const { t, shop, redeem, other } = await withCredit()
  const { body } = await shop('POST', CODES, terms(t, { max_uses: 1 }))
  const all = [await other(), await other(), await other()]
  const replies = await Promise.all(all.map(({ call }) => redeem(call, body.code)))
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  expect((await Promise.all(all.map(balanceOf))).sort()).toEqual(['0.00', '0.00', '300.00'])
  const { body: wide } = await shop('POST', CODES, terms(t))
  const same = await Promise.all([1, 2, 3, 4].map(() => redeem(t.call, wide.code)))
  expect(same.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  expect(await booked(t)).toEqual(['300.00', '300.00'])
  expect((await shop('GET', `${CODES}/${wide.promo_code_id}`)).body.uses).toBe(1)
})

test('wrong codes are counted for each account; right ones and other accounts are not held up', async () => {
  const { t, shop, redeem, other } = await withCredit()
  const guess = (n: number) => redeem(t.call, `GUESS-${String(n).padStart(8, '0')}`)
  for (let n = 0; n < 10; n += 1) expect(codeOf(await guess(n))).toEqual([409, 'promo_code_invalid'])
  const { status, headers } = await guess(10)
  expect([status, headers['retry-after']]).toEqual([429, '600'])
  const { body } = await shop('POST', CODES, terms(t))
  expect((await redeem(t.call, body.code)).status).toBe(429)
  expect((await redeem((await other()).call, body.code)).status).toBe(201)
  t.clock.advance(600_000)
  expect((await redeem(t.call, body.code)).status).toBe(201)
})

test('an operator sends a code of their own, so that a repeat finds the first one', async () => {
  const { t, shop, redeem } = await withCredit()
  const own = terms(t, { code: 'SUMMER-SCHOOL-2027' })
  const [first, again] = [await shop('POST', CODES, own), await shop('POST', CODES, own)]
  expect([first.status, again.status, again.body]).toEqual([201, 200, first.body])
  expect(codeOf(await shop('POST', CODES, { ...own, amount_rub: '500' }))).toEqual([409, 'promo_code_exists'])
  const twice = await Promise.all(
    [1, 2].map(() => shop('POST', CODES, { ...own, code: 'AT-THE-SAME-MOMENT' })),
  )
  expect(twice.map(({ status }) => status).sort()).toEqual([200, 201])
  expect((await redeem(t.call, 'summerschool2027')).status).toBe(201)
  const wrong = async (more: object) => issues((await shop('POST', CODES, terms(t, more))).body)
  expect(await wrong({ expires_at: new Date(t.clock.now()).toISOString() })).toEqual([
    ['/expires_at', 'below_minimum'],
  ])
  expect(await wrong({ amount_rub: '0' })).toEqual([['/amount_rub', 'invalid_format']])
  expect(await wrong({ credit_days: 0, max_uses: 0 })).toHaveLength(2)
  expect(await wrong({ code: 'SALE2027' })).toEqual([['/code', 'invalid_format']])
})

test('a code ends at a moment that exists: no leap second, nor the year 10000', async () => {
  const { t, shop } = await withShop()
  for (const expires_at of ['2030-12-31T23:59:60Z', '2030-01-01T00:00:00+01', '9999-12-31T23:59:59-23:59']) {
    const { status, body } = await shop('POST', CODES, terms(t, { expires_at }))
    expect([expires_at, status, issues(body)]).toEqual([expires_at, 422, [['/expires_at', 'invalid_format']]])
  }
})

test('charges use credit first, and what is left expires by an entry of its own, once', async () => {
  const { t, shop, credits, work } = await withCredit()
  await shop('POST', `/operator/accounts/${t.accountId}/credit`, {
    ...{ amount: '1000', type: 'payment', reason: 'Cash', reference: 'cash-1' },
  })
  await make(t)
  await work(15 * DAY)
  const [half] = await credits()
  const spent = 1300 - Number(await balanceOf(t))
  expect(spent).toBeGreaterThan(10)
  expect(Number(half.left_rub)).toBeCloseTo(300 - spent, 2)
  await work(15 * DAY)
  const [ended] = await credits()
  expect(ended).toMatchObject({ left_rub: '0.00', ended_at: new Date(t.clock.now()).toISOString() })
  const last = (await booked(t)).at(-1)
  expect(last).toBe(`-${ended.expired_rub}`)
  const used = 300 - Number(ended.expired_rub)
  const charged = 1300 - Number(ended.expired_rub) - Number(await balanceOf(t))
  expect(used).toBeCloseTo(charged, 0)
  await work(DAY)
  await work(DAY)
  expect((await booked(t)).filter((amount) => amount === last)).toHaveLength(1)
  const { items } = (await t.call('GET', '/events?limit=100')).body
  const types = items.map(({ type }: { type: string }) => type)
  expect(types.filter((type: string) => type.startsWith('credit.'))).toEqual([
    'credit.granted',
    'credit.expired',
  ])
})

test('of several credits the one that ends first is used first', async () => {
  const { t, shop, redeem, credits, work } = await withCredit({ amount_rub: '10' })
  t.clock.advance(HOUR / 2)
  const { body } = await shop('POST', CODES, terms(t, { amount_rub: '500', credit_days: 5 }))
  await redeem(t.call, body.code)
  await post(t.db, t.clock, { accountId: t.accountId, type: 'payment', amount: 10_000_000, description: '' })
  await make(t)
  await work(2 * DAY)
  const [short, long] = await credits()
  expect([Number(short.left_rub) < 500, long.left_rub]).toEqual([true, '10.00'])
  await work(3 * DAY)
  // The hour in which it ends is charged first.
  expect((await credits())[0].ended_at).toBeNull()
  await work(HOUR)
  const [ended, next] = await credits()
  expect(ended.ended_at).not.toBeNull()
  expect(next.ended_at).toBeNull()
})

test('expiring credit takes no balance below zero, and a debt is paid first', async () => {
  const { t, shop, redeem, other, credits, work } = await withCredit()
  const debit = { amount: '250', type: 'correction', reason: 'Correction', reference: 'debit-1' }
  await shop('POST', `/operator/accounts/${t.accountId}/debit`, debit)
  expect((await credits())[0].left_rub).toBe('50.00')
  const theirs = await other()
  const owing = { ...debit, amount: '100', reference: 'debit-2' }
  await shop('POST', `/operator/accounts/${theirs.accountId}/debit`, owing)
  const { body } = await shop('POST', CODES, terms(t))
  expect((await redeem(theirs.call, body.code)).body.left_rub).toBe('200.00')
  await work(30 * DAY)
  expect([await booked(t), await balanceOf(t)]).toEqual([['300.00', '-250.00', '-50.00'], '0.00'])
  expect(await booked(theirs)).toEqual(['-100.00', '300.00', '-200.00'])
})

test('what a debit takes of credit is used: money that is paid later does not expire in its place', async () => {
  const { t, shop, credits, work } = await withCredit()
  const debit = { amount: '250', type: 'correction', reason: 'Correction', reference: 'debit-1' }
  await shop('POST', `/operator/accounts/${t.accountId}/debit`, debit)
  await post(t.db, t.clock, { accountId: t.accountId, type: 'payment', amount: 5_000_000, description: '' })
  expect((await credits())[0].left_rub).toBe('50.00')
  await work(30 * DAY)
  expect([await booked(t), await balanceOf(t)]).toEqual([['300.00', '-250.00', '500.00', '-50.00'], '500.00'])
})

test('a service that dies while credit ends books it once, and looks at the same moment do', async () => {
  let dies = 0
  const { t, shop } = await withShop({
    balance: '0',
    afterStatement: () => {
      dies -= 1
      if (dies === 0) throw new Error('killed')
    },
  })
  for (let statement = 1; statement <= 14; statement += 1) {
    const { body } = await shop('POST', CODES, terms(t))
    dies = statement
    await t.call('POST', PATH, { code: body.code })
    dies = 0
    if ((await t.call('POST', PATH, { code: body.code })).status === 429) t.clock.advance(DAY)
  }
  const given = (await t.call('GET', `${PATH}?limit=100`)).body.items
  const whole = (3 * given.length).toFixed(0)
  expect(await balanceOf(t)).toBe(`${whole}00.00`)
  t.clock.advance(40 * DAY)
  for (let statement = 1; statement <= 60; statement += 1) {
    dies = statement
    await t.app.billing.look()
    dies = 0
  }
  await Promise.all([t.app.billing.look(), t.app.billing.look()])
  expect(await balanceOf(t)).toBe('0.00')
  expect(await booked(t)).toHaveLength(2 * given.length)
})

test('a person who signs up gets the trial credit, once for an address', async () => {
  const t = await testApp({ balance: '0', trialCredit: { amount: 2_000_000, days: 14 } })
  const ann = await signUp(t, 'ann@example.com')
  const [trial] = (await ann.call('GET', PATH)).body.items
  expect(trial).toMatchObject({ source: 'trial', amount_rub: '200.00', left_rub: '200.00' })
  expect(await balanceOf(ann)).toBe('200.00')
  expect((await t.call('GET', PATH)).body.items).toEqual([])
  expect((await ann.call('POST', '/person/delete', { password: PASSWORD })).status).toBe(204)
  const again = await signUp(t, 'ann@example.com')
  expect([(await again.call('GET', PATH)).body.items, await balanceOf(again)]).toEqual([[], '0.00'])
})

test.each([
  ['name+tag', 'bob@example.com', 'bob+2@example.com'],
  ['a last dot', 'bob@example.com', 'bob@example.com.'],
  ['letters of the domain', 'bob@bücher.example', 'bob@xn--bcher-kva.example'],
])('another spelling of a mailbox gets no second trial: %s', async (_, first, second) => {
  const t = await testApp({ balance: '0', trialCredit: { amount: 2_000_000, days: 14 } })
  expect(await balanceOf(await signUp(t, first))).toBe('200.00')
  expect(await balanceOf(await signUp(t, second))).toBe('0.00')
})
