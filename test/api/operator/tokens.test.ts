import { expect, test } from 'vitest'
import { revokeOperatorToken } from '../../../api/operator/tokens.ts'
import { setOperator } from '../../../api/people/person/people.ts'
import { linkTo, openBrowser, signUp } from '../harness/browser.ts'
import { NOBODY } from '../harness/ordering.ts'
import { DAY_MS, makeOperatorToken, withShop } from './harness/shop.ts'

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

test('an operator’s token opens what its scopes allow, from its addresses, until it expires or is revoked', async () => {
  const { t, tokenId, value, shop } = await withShop()
  expect(value).toMatch(/^berthop_[0-9A-Za-z]{49}$/)
  expect((await shop('GET', '/operator/accounts')).status).toBe(200)
  const reader = t.callAs((await makeOperatorToken(t, ['operator:read'])).value)
  expect((await reader('GET', `/operator/accounts/${t.accountId}`)).body.account_id).toBe(t.accountId)
  const suspend = await reader('POST', `/operator/accounts/${t.accountId}/suspend`, { reason: 'Spam' })
  expect(codeOf(suspend)).toEqual([403, 'insufficient_scope'])
  expect(suspend.body.required_scope).toBe('operator:write')
  const writer = t.callAs((await makeOperatorToken(t, ['operator:read', 'operator:write'])).value)
  const credit = { amount: '1', type: 'payment', reason: 'Card', reference: 'card-1' }
  const refused = await writer('POST', `/operator/accounts/${t.accountId}/credit`, credit)
  expect(codeOf(refused)).toEqual([403, 'insufficient_scope'])
  const elsewhere = t.callAs((await makeOperatorToken(t, ['operator:read'], ['192.0.2.0/24'])).value)
  expect(codeOf(await elsewhere('GET', '/operator/accounts'))).toEqual([403, 'address_not_allowed'])

  t.clock.advance(DAY_MS)
  expect(codeOf(await shop('GET', '/operator/accounts'))).toEqual([401, 'token_expired'])
  await revokeOperatorToken(t.db, t.clock, tokenId)
  expect(codeOf(await shop('GET', '/operator/accounts'))).toEqual([401, 'token_revoked'])
  const mistyped = t.callAs(value.replace('berthop_', 'berth_'))
  expect(codeOf(await mistyped('GET', '/operator/accounts'))).toEqual([401, 'invalid_token'])
})

test('an operator’s token opens nothing of a customer or a person, and a customer’s token nothing of the operator', async () => {
  const { t, shop } = await withShop()
  for (const path of ['/servers', '/account/me', '/events', '/person'])
    expect([path, ...codeOf(await shop('GET', path))]).toEqual([path, 403, 'account_token_required'])
  const minted = await shop('POST', '/account/tokens', { name: 'x', scopes: ['read'] })
  expect(codeOf(minted)).toEqual([403, 'account_token_required'])
  expect(codeOf(await t.call('GET', '/operator/accounts'))).toEqual([403, 'person_required'])
})

test('a shop opens an account once, finds it by its own id, sets its limits and credits it', async () => {
  const { t, shop } = await withShop()
  const wanted = { email: 'Ann@Example.com', name: 'Ann', external_id: 'shop-1' }
  const opened = await shop('POST', '/operator/accounts', wanted)
  expect(opened).toMatchObject({
    status: 201,
    body: { email: 'ann@example.com', name: 'Ann', external_id: 'shop-1', balance: '0.00' },
  })
  const { account_id } = opened.body
  expect(await shop('POST', '/operator/accounts', wanted)).toMatchObject({
    status: 200,
    body: { account_id },
  })
  const taken = [
    { email: 'ann@example.com' },
    { email: 'ann@example.com', external_id: 'shop-2' },
    { email: 'bob@example.com', external_id: 'shop-1' },
  ]
  for (const body of taken)
    expect(codeOf(await shop('POST', '/operator/accounts', body))).toEqual([409, 'account_exists'])
  const found = (await shop('GET', '/operator/accounts?external_id=shop-1')).body
  expect((await shop('GET', '/operator/accounts?search=ANN')).body).toMatchObject({ items: [{ account_id }] })
  expect(found).toMatchObject({ total: 1, items: [{ account_id }] })
  expect((await shop('GET', '/operator/accounts?external_id=shop-2')).body.total).toBe(0)
  const path = `/operator/accounts/${account_id}`
  const limits = { limits: { servers: 3, cpu: null }, reason: 'Plan S' }
  expect((await shop('POST', `${path}/limits`, limits)).status).toBe(200)
  for (const wrong of [{ servers: -1 }, { horses: 1 }, {}])
    expect((await shop('POST', `${path}/limits`, { ...limits, limits: wrong })).status).toBe(422)
  const credit = { amount: '100', type: 'payment', reason: 'Card', reference: 'shop-pay-1' }
  expect((await shop('POST', `${path}/credit`, credit)).body.balance).toBe('100.00')
  expect(codeOf(await shop('GET', `/operator/accounts/${NOBODY}`))).toEqual([404, 'account_not_found'])

  const token = await t.makeToken(['account:read'], { accountId: account_id })
  const customer = t.callAs(token)
  expect((await customer('GET', '/account/me')).body.quotas.servers.limit).toBe(3)
  const { items } = (await customer('GET', '/account/audit')).body
  const by = "by the operator's token shop"
  expect(items.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining([
      `creditAccount, ${by}`,
      `setAccountLimits, ${by}`,
      `createOperatedAccount, ${by}`,
    ]),
  )
})

test('a shop signs a customer in by a link, once and for five minutes, and the customer owns the account', async () => {
  const { t, shop } = await withShop()
  const { account_id } = (await shop('POST', '/operator/accounts', { email: 'ann@example.com' })).body
  const login = () => shop('POST', `/operator/accounts/${account_id}/login`, {})
  const enter = async (url: string) => {
    const browser = openBrowser(t)
    const reply = await browser.call('POST', '/sign-in/link', { token: url.split('#')[1] })
    return { reply, call: browser.call }
  }
  const { status, body } = await login()
  expect(status).toBe(201)
  expect(body.url).toMatch(/\/sign-in#[\w-]{43}$/)
  const first = await enter(body.url)
  expect(first.reply.status).toBeLessThan(300)
  expect((await first.call('GET', '/account/me')).body).toMatchObject({ account_id })
  expect((await enter(body.url)).reply.status).toBeGreaterThanOrEqual(400)
  const second = (await login()).body
  // The owner sees who made each link, and that the first made them a member.
  const { items } = (await first.call('GET', '/account/audit')).body
  const by = "createLogin, by the operator's token shop"
  expect(items.slice(0, 2)).toMatchObject([
    { action: by, object_type: 'person' },
    { action: by, object_type: 'member' },
  ])
  t.clock.advance(5 * 60_000)
  expect((await enter(second.url)).reply.status).toBeGreaterThanOrEqual(400)
})

test('a shop opens an account with limits of its own, and reads which it has', async () => {
  const { t, shop } = await withShop()
  const wanted = { email: 'ann@example.com', quotas: { servers: 1, cpu: null } }
  const opened = await shop('POST', '/operator/accounts', wanted)
  expect(opened).toMatchObject({ status: 201, body: { quotas: { servers: 1 } } })
  const { account_id } = opened.body
  const customer = t.callAs(await t.makeToken(['account:read'], { accountId: account_id }))
  expect((await customer('GET', '/account/me')).body.quotas).toMatchObject({
    ...{ servers: { limit: 1 }, cpu: { limit: 8 } },
  })
  // A repeat changes nothing.
  const again = await shop('POST', '/operator/accounts', { ...wanted, quotas: { servers: 9 } })
  expect(again).toMatchObject({ status: 200, body: { account_id, quotas: { servers: 1 } } })
  const change = { limits: { servers: null, cpu: 4 }, reason: 'Plan S' }
  const changed = await shop('POST', `/operator/accounts/${account_id}/limits`, change)
  expect(changed.body.quotas).toEqual({ cpu: 4 })
  expect((await shop('GET', `/operator/accounts/${account_id}`)).body.quotas).toEqual({ cpu: 4 })
  for (const quotas of [{ servers: -1 }, { horses: 1 }, { servers: '1' }, []])
    expect((await shop('POST', '/operator/accounts', { email: 'bob@example.com', quotas })).status).toBe(422)
})

test('no link signs in an operator, or the person whose address somebody typed in a shop', async () => {
  const { t, shop } = await withShop()
  const olga = await signUp(t, 'olga@example.com')
  await setOperator(t.db, olga.person.person_id, true)
  const ofOperator = await shop('POST', `/operator/accounts/${olga.person.account_id}/login`, {})
  expect(codeOf(ofOperator)).toEqual([409, 'owner_unclear'])
  const ann = await signUp(t, 'ann@example.com')
  // Her account has another contact address meanwhile, so the shop can open one for hers.
  await t.db
    .updateTable('accounts')
    .set({ email: 'billing@example.com' })
    .where('account_id', '=', ann.person.account_id)
    .execute()
  const { account_id } = (await shop('POST', '/operator/accounts', { email: 'ann@example.com' })).body
  expect(codeOf(await shop('POST', `/operator/accounts/${account_id}/login`, {}))).toEqual([
    409,
    'owner_unclear',
  ])
})

test('a link signs in only the person with the address of the account, not an owner who was invited', async () => {
  const { t, shop } = await withShop()
  const ann = await signUp(t, 'ann@example.com')
  const { account_id } = ann.person
  const login = () => shop('POST', `/operator/accounts/${account_id}/login`, {})
  const bob = await signUp(t, 'bob@example.com')
  await ann.call('POST', '/account/invitations', { email: 'bob@example.com', role: 'owner' })
  const token = await linkTo(t, 'bob@example.com')
  expect((await bob.call('POST', '/invitations/accept', { token })).status).toBe(200)
  expect((await login()).body).toMatchObject({ email: 'ann@example.com' })

  // The shop would hand Ann a link that opens all accounts of Bob.
  const { items } = (await bob.call('GET', '/account/members')).body
  const { member_id } = items.find(({ email }: { email: string }) => email === 'ann@example.com')
  const demoted = await bob.call('PATCH', `/account/members/${member_id}`, { role: 'viewer' })
  expect(demoted.status).toBe(200)
  expect(codeOf(await login())).toEqual([409, 'owner_unclear'])
  expect((await bob.call('DELETE', `/account/members/${member_id}`)).status).toBe(204)
  expect(codeOf(await login())).toEqual([409, 'owner_unclear'])
})
