import { expect, test } from 'vitest'
import { type Call, type TestApp, testApp } from '../../harness/app.ts'

const SCOPES = ['account:read', 'account:write', 'servers:read']

async function child(call: Call, more: Record<string, unknown> = {}) {
  const reply = await call('POST', '/account/tokens', { name: 'child', scopes: SCOPES, ...more })
  expect(reply.status).toBe(201)
  return reply.body
}

const statusOf = async (t: TestApp, token: string) => (await t.callAs(token)('GET', '/account/me')).status

test('a token that is about to expire makes none that outlives it', async () => {
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
  const events = (await t.call('GET', '/events?type=token.revoked')).body.items
  expect(events.length === 0 || events.length >= 8).toBe(true)
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
