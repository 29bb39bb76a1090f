import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ScopeName } from '../../../api/http/contract/auth.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { make, NOBODY } from '../harness/ordering.ts'

interface Described {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  scopes: ScopeName[]
}

/** Every route of the running app that tokens open, as it describes itself. */
async function routes(t: TestApp): Promise<Described[]> {
  const { paths } = (await t.callAs(null)('GET', '/openapi.json')).body
  return Object.entries(paths as Record<string, Record<string, { security: { token?: [ScopeName] }[] }>>)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { security }]) => ({
        method: method.toUpperCase() as Described['method'], // keys of an OpenAPI path are methods in lower case
        path: path.replace(/\{\w+\}/g, NOBODY),
        scopes: security.flatMap(({ token = [] }) => token),
      })),
    )
    .filter(({ scopes }) => scopes.length > 0)
}

/** Routes that show what the token may see accept any read scope. */
const isMixed = ({ path }: Described) => path.startsWith('/events')

test('without a valid token nothing is answered, and the answer says why', async () => {
  const t = await testApp()
  const { tokenId, value } = await tokenOf(t)
  const say = async (authorization: string | null) => {
    const reply = await t.callAs(null)(
      'GET',
      '/account/me',
      undefined,
      authorization === null ? {} : { authorization },
    )
    if (reply.status === 401) expect(reply.headers['www-authenticate']).toBe('Bearer')
    return reply.body.code ?? reply.status
  }
  expect(await say(null)).toBe('missing_token')
  expect(await say('')).toBe('missing_token')
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
    expect(await say(`${scheme} ${value}`)).toBe(200)
  expect(await say(`Bearer   ${value}`)).toBe(200)
  // One letter changed, in the secret and in the checksum.
  const swap = (at: number) => `${value.slice(0, at)}${value[at] === 'a' ? 'b' : 'a'}${value.slice(at + 1)}`
  const malformed = [
    `Basic ${value}`,
    'Bearer',
    'Bearer ',
    value,
    `Bearer ${value} x`,
    `Bearer ${value}x`,
    `Bearer ${value.slice(0, -1)}`,
  ]
  for (const header of [
    ...malformed,
    'Bearer null',
    `Bearer ${swap(20)}`,
    `Bearer ${swap(50)}`,
    `Token ${value}`,
    `Bearer "${value}"`,
  ])
    expect([header, await say(header)]).toEqual([header, 'invalid_token'])
  // Well formed, with a right checksum, but nobody's.
  expect(await say(`Bearer ${withChecksum('0'.repeat(43))}`)).toBe('invalid_token')
  expect((await t.callAs(null)('GET', `/account/me?token=${value}&access_token=${value}`)).body.code).toBe(
    'missing_token',
  )

  const expiring = await t.makeToken(['read'], { expiresAt: t.clock.now() + 1_000 })
  expect((await t.callAs(expiring)('GET', '/account/me')).body.token.expires_at).toBe(
    '2026-11-20T12:00:01.000Z',
  )
  t.clock.advance(1_000)
  expect((await t.callAs(expiring)('GET', '/account/me')).body.code).toBe('token_expired')
  await t.db
    .updateTable('tokens')
    .set({ revoked_at: t.clock.now() })
    .where('token_id', '=', tokenId)
    .execute()
  expect(await say(`Bearer ${value}`)).toBe('token_revoked')
})

async function tokenOf(t: TestApp) {
  const value = await t.makeToken(['read', 'write'])
  const hash = createHash('sha256').update(value).digest('hex')
  const row = await t.db.selectFrom('tokens').selectAll().where('hash', '=', hash).executeTakeFirstOrThrow()
  // The token itself is nowhere in the database.
  expect(JSON.stringify(row)).not.toContain(value.slice(6, 40))
  return { tokenId: row.token_id, value }
}

/** The checksum as the contract says it: of the SHA-256 over the token so far. */
function withChecksum(secret: string): string {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let rest = createHash('sha256').update(`berth_${secret}`).digest().readUInt32BE(0)
  let sum = ''
  for (; sum.length < 6; rest = Math.floor(rest / 62)) sum = alphabet[rest % 62] + sum
  return `berth_${secret}${sum}`
}

test('a header of the wrong form and a mistyped token are told apart', async () => {
  const t = await testApp()
  const { value } = await tokenOf(t)
  const detailOf = async (authorization: string) =>
    (await t.callAs(null)('GET', '/account/me', undefined, { authorization })).body.detail
  expect(await detailOf(value)).toContain('Bearer berth_…')
  const mistyped = value.slice(0, -1) + (value.endsWith('a') ? 'b' : 'a')
  for (const token of [mistyped, value.slice(0, -1), 'berth_'])
    expect(await detailOf(`Bearer ${token}`)).toContain('mistyped or incomplete')
})

test('every route refuses a token that is missing, malformed, not known, expired or revoked, and does nothing', async () => {
  const t = await testApp()
  const expired = await t.makeToken(['read', 'write'], { expiresAt: t.clock.now() + 1 })
  const revoked = await tokenOf(t)
  await t.call('DELETE', `/account/tokens/${revoked.tokenId}`)
  t.clock.advance(1)
  const bad: [token: string | null, code: string][] = [
    [null, 'missing_token'],
    ['berth_x', 'invalid_token'],
    [withChecksum('0'.repeat(43)), 'invalid_token'],
    [expired, 'token_expired'],
    [revoked.value, 'token_revoked'],
  ]
  for (const { method, path } of await routes(t))
    for (const [token, code] of bad) {
      const { status, body, headers } = await t.callAs(token)(method, path)
      expect([method, path, status, body.code, headers['www-authenticate']]).toEqual([
        method,
        path,
        401,
        code,
        'Bearer',
      ])
    }
})

test('every route takes its own scope or the coarse one, and no other', async () => {
  const t = await testApp()
  const all: readonly ScopeName[] = [
    'account:read',
    'account:write',
    'servers:read',
    'servers:write',
    'read',
    'write',
  ]
  const callers = new Map(
    await Promise.all(all.map(async (scope) => [scope, t.callAs(await t.makeToken([scope]))] as const)),
  )
  const list = await routes(t)
  expect(list.length).toBeGreaterThan(15)
  for (const { method, path, scopes } of list.filter((each) => !isMixed(each))) {
    const area = /^\/(account|announcements|webhooks)/.test(path) ? 'account' : 'servers'
    // A quote is asked for with a body, yet changes nothing.
    const kind = method === 'GET' || path === '/pricing/quote' ? 'read' : 'write'
    expect([method, path, scopes]).toEqual([method, path, [`${area}:${kind}`, kind]])
    expect((await t.callAs(null)(method, path)).body.code).toBe('missing_token')
    for (const [scope, call] of callers) {
      const reply = await call(method, path, method === 'POST' || method === 'PATCH' ? {} : undefined)
      const refusal = {
        code: 'insufficient_scope',
        required_scope: `${area}:${kind}`,
        accepted_scopes: scopes,
      }
      if (!scopes.includes(scope))
        expect([scope, reply.status, reply.body]).toMatchObject([scope, 403, refusal])
      else expect([scope, method, path, reply.body.code]).not.toContain('insufficient_scope')
    }
  }
})

test('the scope is looked at before the object, and the object before the body', async () => {
  const t = await testApp()
  const reader = t.callAs(await t.makeToken(['read']))
  expect((await reader('PATCH', `/servers/${NOBODY}`, '{')).body.code).toBe('insufficient_scope')
  expect((await t.callAs(null)('PATCH', `/servers/${NOBODY}`, '{')).body.code).toBe('missing_token')
  expect((await t.call('PATCH', `/servers/${NOBODY}`, '{')).body.code).toBe('server_not_found')
})

test('the documents need no token', async () => {
  const t = await testApp()
  const nobody = t.callAs(null)
  expect((await nobody('GET', '/openapi.json')).body.openapi).toBe('3.1.0')
  const docs = await nobody('GET', '/docs/')
  expect([docs.status, docs.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')])
  // Nothing of another host is loaded.
  expect(String(docs.body).match(/(?:src|href)="(?:https?:)?\/\/[^"]*"/g)).toBeNull()
})

test('every object of another account is a 404, on every route that names one', async () => {
  const t = await testApp()
  const server = await make(t)
  const [operation] = (await t.call('GET', `/servers/${server}/operations`)).body.items
  const { default_project_id } = (await t.call('GET', '/account/me')).body
  const ids: Record<string, string> = {
    server_id: server,
    operation_id: operation.operation_id,
    project_id: default_project_id,
    network_id: (
      await t.call('POST', '/networks', { name: 'x', zone_slug: 'local-1', ip_range: '10.1.0.0/24' })
    ).body.network_id,
    ssh_key_id: (await t.call('POST', '/account/ssh_keys', { name: 'x', public_key: ed25519() })).body
      .ssh_key_id,
    firewall_id: (await t.call('POST', '/firewalls', { name: 'x' })).body.firewall_id,
    token_id: (await t.call('GET', '/account/tokens')).body.items[0].token_id,
  }
  const stranger = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() }))
  const { paths } = (await t.callAs(null)('GET', '/openapi.json')).body
  let asked = 0
  for (const [path, methods] of Object.entries<Record<string, { security: object[] }>>(paths)) {
    if (!path.includes('{')) continue
    for (const [method, { security }] of Object.entries(methods)) {
      // Routes of a person belong to no account: people.test.ts covers them.
      if (!security.some((way) => 'token' in way)) continue
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? NOBODY)
      const upper = method.toUpperCase() as Described['method'] // as above
      const reply = await stranger(upper, url, upper === 'PATCH' ? { name: 'mine' } : undefined)
      expect([upper, url, reply.status, reply.body.code]).toEqual([
        upper,
        url,
        404,
        // The scope of the last object that the path names.
        /\{(\w+)_id\}[^{]*$/.exec(path)?.[1]?.concat('_not_found'),
      ])
      asked += 1
    }
  }
  expect(asked).toBeGreaterThan(10)
  expect((await t.call('GET', `/servers/${server}`)).body.status).toBe('running')
})
