import { expect, test } from 'vitest'
import { make, NOBODY } from '../harness/ordering.ts'
import { DAY_MS, makeOperatorToken, withShop } from './harness/shop.ts'

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]
const reason = { reason: 'Asked for it' }

test('an operator keeps name, external id, tags and notes of an account, and finds it by a tag', async () => {
  const { t, shop } = await withShop()
  const path = `/operator/accounts/${t.accountId}`
  const change = {
    name: 'Ann Lee',
    external_id: 'crm-7',
    tags: ['reseller', 'vip_1'],
    notes: 'Calls on Mondays',
  }
  expect(await shop('PATCH', path, change)).toMatchObject({ status: 200, body: change })
  expect((await shop('PATCH', path, { notes: null })).body).toMatchObject({ ...change, notes: null })
  const found = async (tag: string) => (await shop('GET', `/operator/accounts?tag=${tag}`)).body.total
  expect([await found('reseller'), await found('vip_1'), await found('vipx1'), await found('sell')]).toEqual([
    1, 1, 0, 0,
  ])
  const other = `/operator/accounts/${await t.makeAccount()}`
  expect(codeOf(await shop('PATCH', other, { external_id: 'crm-7' }))).toEqual([409, 'account_exists'])
  expect((await shop('PATCH', path, { external_id: null })).body.external_id).toBe(null)
  expect((await shop('PATCH', other, { external_id: 'crm-7' })).status).toBe(200)
  for (const wrong of [{ tags: ['A b'] }, { tags: ['a', 'a'] }, { name: ' ' }, { notes: 'x'.repeat(2001) }])
    expect([wrong, (await shop('PATCH', path, wrong)).status]).toEqual([wrong, 422])
  expect(codeOf(await shop('PATCH', `/operator/accounts/${NOBODY}`, change))).toEqual([
    404,
    'account_not_found',
  ])

  const seen = JSON.stringify([
    (await t.call('GET', '/account/me')).body,
    (await t.call('GET', '/account/audit')).body,
  ])
  expect(seen).toContain("updateOperatedAccount, by the operator's token shop")
  expect(seen).toContain('Ann Lee')
  expect(seen).not.toMatch(/reseller|Mondays/)
})

test('a shop closes an account and reopens it within 7 days, and its servers are as before', async () => {
  const { t, shop } = await withShop()
  const id = await make(t, { name: 'web-1', delete_protection: true })
  const path = `/operator/accounts/${t.accountId}`
  const look = async () => {
    await t.app.billing.look()
    await t.finish()
    await t.app.billing.look()
  }
  expect(codeOf(await shop('POST', `${path}/close`, reason))).toEqual([409, 'delete_protected'])
  const closed = await shop('POST', `${path}/close`, { ...reason, force: true })
  expect(closed).toMatchObject({ status: 200, body: { status: 'closed', status_reason: 'Asked for it' } })
  expect(codeOf(await shop('POST', `${path}/close`, { ...reason, force: true }))).toEqual([
    409,
    'account_status_conflict',
  ])
  await look()
  const read = async () => (await t.call('GET', `/servers/${id}`)).body
  expect(await read()).toMatchObject({ status: 'suspended', delete_at: expect.any(String) })
  t.clock.advance(6 * DAY_MS)
  const later = t.callAs((await makeOperatorToken(t, ['operator:write'])).value)
  expect((await later('POST', `${path}/resume`, reason)).body.status).toBe('active')
  expect((await read()).delete_at).toBe(null)
  t.clock.advance(2 * DAY_MS)
  await look()
  expect(await read()).toMatchObject({ status: 'running', delete_at: null })
})

test('a debit is booked once for its reference, even below zero and from a closed account', async () => {
  const { t, shop } = await withShop()
  const path = `/operator/accounts/${t.accountId}`
  const back = { amount: '12000.50', type: 'payment', reason: 'Chargeback', reference: 'back-1' }
  expect(await shop('POST', `${path}/debit`, back)).toMatchObject({
    status: 200,
    body: { balance: '-2000.50', paid: '-2000.50' },
  })
  expect((await shop('POST', `${path}/debit`, back)).body.balance).toBe('-2000.50')
  expect(codeOf(await shop('POST', `${path}/credit`, back))).toEqual([409, 'reference_taken'])
  await shop('POST', `${path}/close`, reason)
  const rest = { amount: '1', type: 'correction', reason: 'Fee', reference: 'fee-1' }
  expect((await shop('POST', `${path}/debit`, rest)).body.balance).toBe('-2001.50')
  expect(codeOf(await shop('POST', `${path}/credit`, { ...rest, reference: 'fee-2' }))).toEqual([
    409,
    'account_status_conflict',
  ])
})

test('a shop creates a token of an account, which its customer sees and can revoke', async () => {
  const { t, shop } = await withShop()
  const path = `/operator/accounts/${t.accountId}/tokens`
  const wanted = { name: 'shop', scopes: ['read', 'write'], cidrs: ['127.0.0.1'] }
  const { status, body } = await shop('POST', path, wanted)
  expect([status, body.cidrs]).toEqual([201, ['127.0.0.1/32']])
  const agent = t.callAs(body.token)
  expect((await agent('GET', '/account/me')).body.account_id).toBe(t.accountId)
  const { items } = (await t.call('GET', '/account/audit')).body
  expect(items[0]).toMatchObject({
    action: "createAccountToken, by the operator's token shop",
    object_type: 'token',
    object_id: body.token_id,
    address: null,
  })
  const wide = { ...wanted, scopes: ['operator:read'] }
  expect((await shop('POST', path, wide)).status).toBe(422)
  expect((await t.call('DELETE', `/account/tokens/${body.token_id}`)).status).toBe(204)
  expect(codeOf(await agent('GET', '/account/me'))).toEqual([401, 'token_revoked'])
  // As a process leaves a request that dies between the change and its reply.
  const once = { 'idempotency-key': 'once' }
  const first = (await shop('POST', path, wanted, once)).body
  await t.db.updateTable('idempotency_keys').set({ reply: null }).execute()
  t.clock.advance(61_000)
  const again = (await shop('POST', path, wanted, once)).body
  expect((await t.callAs(again.token)('GET', '/account/me')).status).toBe(200)
  expect(codeOf(await t.callAs(first.token)('GET', '/account/me'))).toEqual([401, 'token_revoked'])
})

test('a HEAD request of an operator’s token counts as a read', async () => {
  const { shop } = await withShop({ rateLimits: { reads: 3, writes: 2, anonymous: 2 } })
  const { status, headers } = await shop('HEAD', '/operator/accounts')
  expect([status, headers['ratelimit-policy']]).toEqual([200, '"reads";q=3;w=60'])
})
