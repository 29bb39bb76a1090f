import { expect, test } from 'vitest'
import { type Call, type TestApp, testApp } from '../../harness/app.ts'

const SCOPES = ['account:read', 'account:write', 'servers:read']

async function child(call: Call, more: Record<string, unknown> = {}) {
  const reply = await call('POST', '/account/tokens', { name: 'child', scopes: SCOPES, ...more })
  expect(reply.status).toBe(201)
  return reply.body
}

const statusOf = async (t: TestApp, token: string) => (await t.callAs(token)('GET', '/account/me')).status

test('a token that is about to expire creates none that outlives it', async () => {
  const t = await testApp()
  const expiresAt = t.clock.now() + 20_000
  const short = t.callAs(await t.makeToken(['account:read', 'account:write', 'servers:read'], { expiresAt }))
  const heir = await child(short)
  expect(Date.parse(heir.expires_at)).toBe(expiresAt)
  const later = new Date(expiresAt + 1).toISOString()
  const refused = await short('POST', '/account/tokens', { name: 'x', scopes: SCOPES, expires_at: later })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: 'above_maximum' }] } })
  const sooner = new Date(expiresAt - 10_000).toISOString()
  expect((await child(short, { expires_at: sooner })).expires_at).toBe(sooner)
  t.clock.advance(20_000)
  expect(await statusOf(t, heir.token)).toBe(401)
})

test('a token is revoked with the one that it was created with, however long the chain', async () => {
  const t = await testApp()
  const first = await child(t.call)
  const chain = [first]
  while (chain.length < 8) chain.push(await child(t.callAs(chain.at(-1)?.token ?? '')))
  expect(chain.slice(1).map((token) => token.parent_token_id)).toEqual(
    chain.slice(0, -1).map((token) => token.token_id),
  )
  const other = await child(t.call)
  expect((await t.call('DELETE', `/account/tokens/${first.token_id}`)).status).toBe(204)
  for (const { token } of chain) expect(await statusOf(t, token)).toBe(401)
  expect(await statusOf(t, other.token)).toBe(200)
  const { items } = (await t.call('GET', '/events?limit=200')).body
  const revoked = items.filter(({ type }: { type: string }) => type === 'token.revoked')
  expect(revoked).toHaveLength(chain.length)
})

test('for a rotation the tokens of a revoked one are kept, as those of its parent', async () => {
  const t = await testApp()
  const old = await child(t.call)
  const next = await child(t.callAs(old.token))
  const path = `/account/tokens/${old.token_id}`
  expect((await t.callAs(next.token)('DELETE', `${path}?keep_children=true`)).status).toBe(204)
  expect(await statusOf(t, old.token)).toBe(401)
  expect(await statusOf(t, next.token)).toBe(200)
  const { items } = (await t.call('GET', '/account/tokens')).body
  const kept = items.find((token: { token_id: string }) => token.token_id === next.token_id)
  expect(kept.parent_token_id).toBe(old.parent_token_id)
  // The root still takes it along.
  expect((await t.call('DELETE', `/account/tokens/${old.parent_token_id}`)).status).toBe(204)
  expect(await statusOf(t, next.token)).toBe(401)
})

test('a token revokes itself, and none that can do more', async () => {
  const t = await testApp()
  const clerk = await child(t.call, { scopes: ['account:write'] })
  const root = (await t.call('GET', '/account/me')).body.token.token_id
  const refused = await t.callAs(clerk.token)('DELETE', `/account/tokens/${root}`)
  expect(refused).toMatchObject({
    status: 403,
    body: { code: 'insufficient_scope', required_scope: 'account:read' },
  })
  expect((await t.call('GET', '/account/me')).status).toBe(200)
  expect((await t.callAs(clerk.token)('DELETE', `/account/tokens/${clerk.token_id}`)).status).toBe(204)
})

test('a token revokes none that lasts longer or may be used from elsewhere: a short-lived one locks nobody out', async () => {
  const t = await testApp()
  const root = (await t.call('GET', '/account/me')).body.token.token_id
  const lasting = await child(t.call)
  const at = (seconds: number) => new Date(t.clock.now() + seconds * 1000).toISOString()
  const scopes = ['account:read', 'account:write', 'servers:read', 'servers:write']
  const short = await child(t.call, { scopes, expires_at: at(60) })
  const [sibling, longer] = [
    await child(t.call, { expires_at: at(60) }),
    await child(t.call, { expires_at: at(61) }),
  ]
  const bound = await child(t.call, { scopes, cidrs: ['127.0.0.0/8'] })
  const narrow = await child(t.call, { cidrs: ['127.0.0.1'] })
  const outside = await child(t.call, { cidrs: ['127.0.0.1', '10.0.0.1'] })
  const revoke = async (by: { token: string }, id: string) => {
    const { status, body } = await t.callAs(by.token)('DELETE', `/account/tokens/${id}`)
    return status === 204 ? 204 : body.code
  }
  for (const { token_id } of [{ token_id: root }, lasting, longer])
    expect(await revoke(short, token_id)).toBe('token_not_revocable')
  for (const { token_id } of [{ token_id: root }, lasting, outside])
    expect(await revoke(bound, token_id)).toBe('token_not_revocable')
  expect(await revoke(bound, narrow.token_id)).toBe(204)
  const heir = await child(t.callAs(short.token))
  for (const { token_id } of [heir, sibling, short]) expect(await revoke(short, token_id)).toBe(204)
  expect(await revoke(bound, bound.token_id)).toBe(204)
  expect(await statusOf(t, lasting.token)).toBe(200)
})

test('a token that is being revoked leaves no child behind', async () => {
  const t = await testApp()
  const parent = await child(t.call)
  const call = t.callAs(parent.token)
  const mint = () => call('POST', '/account/tokens', { name: 'late', scopes: ['account:read'] })
  const [, ...minted] = await Promise.all([
    t.call('DELETE', `/account/tokens/${parent.token_id}`),
    ...Array.from({ length: 10 }, mint),
  ])
  for (const { status, body } of minted) {
    expect([201, 401]).toContain(status)
    if (status === 201) expect(await statusOf(t, body.token)).toBe(401)
  }
})

test('a token with a list of addresses is refused from anywhere else, and its owner is told from where it came', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1/32'] })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const cidrs = ['203.0.113.0/24', '2001:DB8::/32', '198.51.100.7', '198.51.100.7/32']
  const { token, token_id, ...made } = await child(t.call, { cidrs })
  expect(made.cidrs).toEqual(['203.0.113.0/24', '2001:db8::/32', '198.51.100.7/32'])
  expect((await t.call('GET', `/account/tokens/${token_id}`)).body.cidrs).toEqual(made.cidrs)
  const call = t.callAs(token)
  const ask = (address: string) => call('GET', '/account/me', undefined, from(address))
  for (const address of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8::1', '198.51.100.7']) {
    const { status, body } = await ask(address)
    expect([address, status, body.token?.cidrs]).toEqual([address, 200, made.cidrs])
  }
  const used = (await t.call('GET', `/account/tokens/${token_id}`)).body.last_used_at
  t.clock.advance(120_000)
  for (const address of ['203.0.112.9', '2001:db9::1', '198.51.100.8', 'unknown', '203.0.113.9, 192.0.2.1']) {
    const { status, body, headers } = await ask(address)
    expect([address, status, body.code]).toEqual([address, 403, 'address_not_allowed'])
    expect(body.detail).toContain(address === 'unknown' ? '127.0.0.1' : address.split(', ').at(-1))
    expect(JSON.stringify([body, headers])).not.toMatch(/203\.0\.113\.0|2001:db8|198\.51\.100\.7/)
  }
  expect((await t.call('GET', `/account/tokens/${token_id}`)).body.last_used_at).toBe(used)
})

test('a stolen token that is used from elsewhere takes nothing of the requests that its account has', async () => {
  const t = await testApp({
    trustProxy: ['127.0.0.1/32'],
    rateLimits: { reads: 3, writes: 9, anonymous: 2 },
  })
  const { token } = await child(t.call, { cidrs: ['203.0.113.0/24'] })
  const ask = async (address: string) => {
    const { status } = await t.callAs(token)('GET', '/zones', undefined, { 'x-forwarded-for': address })
    return status
  }
  const stolen = await Promise.all(Array.from({ length: 5 }, () => ask('192.0.2.1')))
  expect(stolen.toSorted()).toEqual([403, 403, 429, 429, 429])
  for (let n = 0; n < 3; n++) expect(await ask('203.0.113.9')).toBe(200)
})

test('a token creates none that may be used from more addresses than itself', async () => {
  const t = await testApp()
  const { token, cidrs } = await child(t.call, { cidrs: ['127.0.0.0/8', '10.0.0.0/9'] })
  const call = t.callAs(token)
  for (const own of [{}, { cidrs: null }, { cidrs: [] }])
    expect((await child(call, own)).cidrs).toEqual(cidrs)
  const grandchild = await child(call, { cidrs: ['127.0.0.1'] })
  expect(grandchild.cidrs).toEqual(['127.0.0.1/32'])
  for (const wider of ['0.0.0.0/0', '10.0.0.0/8', '127.0.0.0/7', '::/0', '192.0.2.1', '::ffff:0:0/96']) {
    const body = { name: 'wider', scopes: SCOPES, cidrs: ['127.0.0.1', wider] }
    const refused = await call('POST', '/account/tokens', body)
    expect([wider, refused.status]).toEqual([wider, 422])
    expect(['above_maximum', 'invalid_format']).toContain(refused.body.errors[0].code)
    expect(refused.body.errors[0].pointer).toBe('/cidrs/1')
  }
  // Nor when those between are revoked, and it becomes one of their parent's.
  const path = `/account/tokens/${(await call('GET', '/account/me')).body.token.token_id}?keep_children=true`
  expect((await t.call('DELETE', path)).status).toBe(204)
  expect((await t.callAs(grandchild.token)('GET', '/account/me')).body.token.cidrs).toEqual(['127.0.0.1/32'])
})

test('a token with invalid or too many addresses and ranges is refused', async () => {
  const t = await testApp()
  const ask = (cidrs: unknown) => t.call('POST', '/account/tokens', { name: 'x', scopes: SCOPES, cidrs })
  for (const wrong of ['', 'example.com', '10.0.0.1/8', '10.0.0.0/33', 'fe80::1%eth0', '1.2.3', '*', '\n'])
    expect([wrong, await ask([wrong])]).toMatchObject([
      wrong,
      { status: 422, body: { errors: [{ pointer: '/cidrs/0', code: 'invalid_format' }] } },
    ])
  expect((await ask(['10.0.0.1/8'])).body.detail).toContain('10.0.0.0/8')
  for (const wrong of ['10.0.0.0/8', [8], [null], [[]], { 0: '10.0.0.0/8' }, ['1'.repeat(65)]])
    expect((await ask(wrong)).status).toBe(422)
  const many = (count: number) => Array.from({ length: count }, (_, n) => `10.0.0.${n}`)
  expect((await ask(many(21))).status).toBe(422)
  expect((await ask(many(20))).body.cidrs).toHaveLength(20)
})
