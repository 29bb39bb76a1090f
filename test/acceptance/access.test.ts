import { expect, test } from 'vitest'
import type { Call } from '../harness/app.ts'
import { add, call, callAs, fresh, holderOf, NOBODY, schema, send } from './harness/client.ts'

/** The interface's own table: which scope each route takes. */
const scopes: Record<string, string> = {
  'GET /account/projects': 'account:read',
  'POST /account/projects': 'account:write',
  'PATCH /account/projects/{project_id}': 'account:write',
  'DELETE /account/projects/{project_id}': 'account:write',
  'GET /account/ssh_keys': 'account:read',
  'POST /account/ssh_keys': 'account:write',
  'GET /account/me': 'account:read',
  'GET /account/balance': 'account:read',
  'GET /zones': 'servers:read',
  'GET /templates': 'servers:read',
  'GET /pricing/presets': 'servers:read',
  'GET /pricing/limits': 'servers:read',
  'GET /pricing/capacity': 'servers:read',
  'POST /pricing/quote': 'servers:read',
  'GET /servers': 'servers:read',
  'POST /servers': 'servers:write',
  'GET /servers/{server_id}': 'servers:read',
  'GET /servers/{server_id}/details': 'servers:read',
  'GET /servers/{server_id}/stats': 'servers:read',
  'GET /servers/{server_id}/metrics': 'servers:read',
  'PATCH /servers/{server_id}': 'servers:write',
  'DELETE /servers/{server_id}': 'servers:write',
  'POST /servers/{server_id}/start': 'servers:write',
  'POST /servers/{server_id}/stop': 'servers:write',
  'POST /servers/{server_id}/reboot': 'servers:write',
  'GET /servers/{server_id}/operations': 'servers:read',
  'GET /servers/{server_id}/operations/{operation_id}': 'servers:read',
}
/** Codes that Berth adds to the seed's. */
const added: Record<string, string> = {
  'GET /operations': 'servers:read',
  'GET /operations/{operation_id}': 'servers:read',
  'GET /account/projects/{project_id}': 'account:read',
  'GET /account/ssh_keys/{ssh_key_id}': 'account:read',
  'PATCH /account/ssh_keys/{ssh_key_id}': 'account:write',
  'DELETE /account/ssh_keys/{ssh_key_id}': 'account:write',
  'GET /account/tokens': 'account:read',
  'POST /account/tokens': 'account:write',
  'GET /account/tokens/{token_id}': 'account:read',
  'DELETE /account/tokens/{token_id}': 'account:write',
  'GET /account/transactions': 'account:read',
  'GET /account/usage': 'account:read',
  'GET /account/usage.csv': 'account:read',
  'GET /account/audit': 'account:read',
  'GET /account/members': 'account:read',
  'PATCH /account/members/{member_id}': 'account:write',
  'DELETE /account/members/{member_id}': 'account:write',
  'GET /account/invitations': 'account:read',
  'POST /account/invitations': 'account:write',
  'DELETE /account/invitations/{invitation_id}': 'account:write',
  'GET /webhooks': 'account:read',
  'POST /webhooks': 'account:write',
  'GET /webhooks/{webhook_id}': 'account:read',
  'PATCH /webhooks/{webhook_id}': 'account:write',
  'DELETE /webhooks/{webhook_id}': 'account:write',
  'POST /webhooks/{webhook_id}/test': 'account:write',
  'POST /webhooks/{webhook_id}/rotate-secret': 'account:write',
  'GET /webhooks/{webhook_id}/deliveries': 'account:read',
}
/** Routes that show what the token may see accept any read scope. */
const mixed = ['GET /events', 'GET /events/stream']
const reading = ['account:read', 'read', 'servers:read']
const table = Object.entries({ ...scopes, ...added })
const every = ['account:read', 'account:write', 'servers:read', 'servers:write', 'read', 'write']
const alternative = (scope: string) => scope.split(':')[1] ?? ''

/** A request of a route that changes nothing: it names what nobody has, or its body lacks what is required. */
function harmless(ask: Call, route: string) {
  const [method = '', path = ''] = route.split(' ')
  const body = method === 'POST' || method === 'PATCH' ? {} : undefined
  return ask(method as Parameters<Call>[0], path.replace(/\{\w+\}/g, NOBODY), body) // the tables above name methods
}

test('every path of the interface is there, and openapi.json names the scope and its alternative', () => {
  const documented = Object.entries(schema.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]): [string, string[]] => [
      `${method.toUpperCase()} ${path}`,
      security.flatMap((way) => Object.values(way).flat()),
    ]),
  )
  const known = new Map(documented)
  for (const [route, scope] of table)
    expect([route, known.get(route)]).toEqual([route, [scope, alternative(scope)]])
})

test.for(every)('a token with %s alone opens just the routes that accept it', async (held, t) => {
  const ask = await holderOf(t, [held])
  for (const [route, scope] of table) {
    const reply = await harmless(ask, route)
    const accepted = [scope, alternative(scope)]
    if (accepted.includes(held)) expect([route, reply.status]).not.toEqual([route, 403])
    else
      expect([route, reply]).toMatchObject([
        route,
        {
          status: 403,
          body: { code: 'insufficient_scope', required_scope: scope, accepted_scopes: accepted },
        },
      ])
  }
})

test('events are shown to every token that may read something, each those of its areas', async (t) => {
  // A stream has no end, but one that begins after an event that nobody knows does not begin.
  const routes = mixed.map((route) => `${route}?after=${NOBODY}`)
  for (const held of every) {
    const ask = await holderOf(t, [held])
    for (const route of routes)
      expect([held, route, (await harmless(ask, route)).status]).toEqual([
        held,
        route,
        reading.includes(held) ? 422 : 403,
      ])
  }
  for (const route of routes) expect((await harmless(callAs(null), route)).status).toBe(401)
  for (const route of mixed)
    expect(
      schema.document.paths[route.slice(4)]?.get?.security.flatMap((way) => Object.values(way).flat()),
    ).toEqual(reading)
})

test('every route of the interface needs a token', async () => {
  for (const [route] of table)
    expect([route, await harmless(callAs(null), route)]).toMatchObject([
      route,
      { status: 401, headers: { 'www-authenticate': 'Bearer' }, body: { code: 'missing_token' } },
    ])
})

test('a token is sent as Authorization: Bearer, in any case of the scheme, and never in the query', async (t) => {
  const { token } = await add(t, 'tokens', { name: fresh('scheme'), scopes: ['account:read'] })
  const nobody = callAs(null)
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
    expect(
      (await nobody('GET', '/account/me', undefined, { authorization: `${scheme} ${token}` })).status,
    ).toBe(200)
  for (const query of [`token=${token}`, `access_token=${token}`, `authorization=Bearer%20${token}`])
    expect((await nobody('GET', `/account/me?${query}`)).body.code).toBe('missing_token')
})

test('GET /account/tokens/{token_id} shows a token without its value, until it is revoked', async (t) => {
  const { token, ...shown } = await add(t, 'tokens', { name: fresh('shown'), scopes: ['account:read'] })
  const path = `/account/tokens/${shown.token_id}`
  expect(await call('GET', path)).toMatchObject({ status: 200, body: shown })
  expect(Object.keys((await call('GET', path)).body)).not.toContain('token')
  expect((await call('DELETE', path)).status).toBe(204)
  expect(await call('GET', path)).toMatchObject({ status: 404, body: { code: 'token_not_found' } })
})

test('a missing, malformed, unknown or revoked token is a 401 with WWW-Authenticate', async (t) => {
  const made = await add(t, 'tokens', { name: fresh('short'), scopes: ['account:read'] })
  const revoked = callAs(made.token)
  expect((await revoked('GET', '/account/me')).status).toBe(200)
  expect((await call('DELETE', `/account/tokens/${made.token_id}`)).status).toBe(204)
  expect((await revoked('GET', '/account/me')).body.code).toBe('token_revoked')
  for (const [authorization, code] of [
    ['', 'missing_token'],
    ['Basic YTpi', 'invalid_token'],
    ['Bearer', 'invalid_token'],
    [`Bearer ${made.token.slice(0, -1)}`, 'invalid_token'],
    [`Bearer berth_${'A'.repeat(49)}`, 'invalid_token'],
    [`Bearer ${made.token} ${made.token}`, 'invalid_token'],
  ] as const) {
    const reply = await callAs(null)('GET', '/account/me', undefined, { authorization })
    expect([authorization, reply]).toMatchObject([
      authorization,
      { status: 401, headers: { 'www-authenticate': 'Bearer' }, body: { code } },
    ])
  }
})

test('a token that has expired is a 401 token_expired', async (t) => {
  const expires_at = new Date(Date.now() + 1_500).toISOString()
  const made = await add(t, 'tokens', { name: fresh('hasty'), scopes: ['account:read'], expires_at })
  expect(made.expires_at).toBe(expires_at)
  const ask = () => callAs(made.token)('GET', '/account/me')
  await expect.poll(async () => (await ask()).body.code).toBe('token_expired')
})

test('the value of a token is shown once: berth_, 43 characters and 6 of a checksum', async (t) => {
  const name = fresh('ci')
  const made = await add(t, 'tokens', { name, scopes: ['servers:read', 'account:read'] })
  expect(made).toMatchObject({ name, expires_at: null, last_used_at: null })
  expect(made.token).toMatch(/^berth_[0-9A-Za-z]{49}$/)
  expect(made.scopes.sort()).toEqual(['account:read', 'servers:read'])
  const { body } = await call('GET', '/account/tokens')
  expect(JSON.stringify(body)).not.toContain(made.token)
  expect(body.items.map(({ token_id }: { token_id: string }) => token_id)).toContain(made.token_id)
  await callAs(made.token)('GET', '/account/me')
  const used = (await call('GET', '/account/tokens')).body.items.find(
    ({ token_id }: { token_id: string }) => token_id === made.token_id,
  )
  expect(used.last_used_at).not.toBeNull()
})

test('a token cannot mint a scope that it lacks', async (t) => {
  const ask = await holderOf(t, ['account:write', 'servers:read'])
  const mint = (scopes: string[]) => ask('POST', '/account/tokens', { name: fresh('child'), scopes })
  for (const scopes of [['servers:write'], ['account:read'], ['write'], ['read'], ['servers:read', 'write']])
    expect([scopes, await mint(scopes)]).toMatchObject([
      scopes,
      { status: 403, body: { code: 'insufficient_scope' } },
    ])
  const minted = await mint(['servers:read', 'account:write'])
  expect(minted.status).toBe(201)
  expect((await call('DELETE', `/account/tokens/${minted.body.token_id}`)).status).toBe(204)
})

test('a token needs a name, scopes of the six, and an expiry that is to come', async () => {
  const good = { name: 'x', scopes: ['account:read'] }
  for (const body of [
    { scopes: ['account:read'] },
    { name: 'x' },
    { ...good, name: ' ' },
    { ...good, name: 'x'.repeat(65) },
    { ...good, scopes: [] },
    { ...good, scopes: ['account:read', 'account:read'] },
    { ...good, scopes: ['admin'] },
    { ...good, expires_at: '2020-01-01T00:00:00Z' },
    { ...good, expires_at: 'tomorrow' },
    // Valid times of RFC 3339 that would come out as none at all: such a token must not live for ever.
    { ...good, expires_at: '2090-12-31T23:59:60Z' },
    { ...good, expires_at: '2090-01-01T00:00:00+05' },
    { ...good, expires_at: '9999-12-31T23:59:59-23:59' },
  ])
    expect([body, (await call('POST', '/account/tokens', body)).status]).toEqual([body, 422])
})

test('the docs and the schema are there for all, also with a bad token', async () => {
  for (const authorization of ['', 'Bearer wrong'])
    expect((await send('GET', '/openapi.json', { headers: { authorization } })).status).toBe(200)
})
