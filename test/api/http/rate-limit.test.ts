import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { signUp } from '../harness/browser.ts'
import { order } from '../harness/ordering.ts'

const rateLimits = { reads: 3, writes: 2, anonymous: 2 }

test('an account has its reads and its writes a minute, and gets them back evenly', async () => {
  const t = await testApp({ rateLimits })
  for (const left of [2, 1, 0]) {
    const { status, headers } = await t.call('GET', '/zones')
    expect([status, headers['ratelimit-policy'], headers.ratelimit]).toEqual([
      200,
      '"reads";q=3;w=60',
      `"reads";r=${left};t=${(3 - left) * 20}`,
    ])
  }
  const refused = await t.call('GET', '/zones')
  expect(refused).toMatchObject({
    status: 429,
    body: { code: 'rate_limited' },
    headers: { 'retry-after': '20' },
  })
  expect((await t.call('POST', '/account/projects', { name: 'a' })).status).toBe(201)
  t.clock.advance(20_000)
  expect((await t.call('GET', '/zones')).status).toBe(200)
  expect((await t.call('GET', '/zones')).status).toBe(429)
})

test('a quote counts as a read, as it changes nothing', async () => {
  const t = await testApp({ rateLimits })
  const { status, headers } = await t.call('POST', '/pricing/quote', {})
  expect([status, headers.ratelimit]).toEqual([422, '"reads";r=2;t=20'])
})

test('callers without a valid token share the limit of their address, on every path', async () => {
  const t = await testApp({ rateLimits })
  const stranger = t.callAs(null)
  expect((await stranger('GET', '/servers')).status).toBe(401)
  expect((await stranger('GET', '/nothing')).status).toBe(404)
  expect((await stranger('GET', '/openapi.json')).status).toBe(429)
  expect((await t.callAs('berth_wrong')('GET', '/servers')).status).toBe(429)
  expect((await t.call('GET', '/servers')).status).toBe(200)
})

test('callers behind a trusted proxy have their own limits, and cannot forge new ones', async () => {
  const stranger = async (trustProxy: string[]) => {
    const call = (await testApp({ rateLimits, trustProxy })).callAs(null)
    return async (from: string) =>
      (await call('GET', '/servers', undefined, { 'x-forwarded-for': from })).status
  }
  const trusted = await stranger(['127.0.0.1/32'])
  expect([await trusted('192.0.2.1'), await trusted('192.0.2.1'), await trusted('192.0.2.1')]).toEqual([
    401, 401, 429,
  ])
  expect(await trusted('192.0.2.2')).toBe(401)
  expect(await trusted('192.0.2.3, 192.0.2.1')).toBe(429)
  // A value that is no address counts as the proxy's own request.
  expect([await trusted('a'), await trusted('192.0.2.4:5'), await trusted('192.0.2.4:6')]).toEqual([
    401, 401, 429,
  ])
  const other = await stranger([])
  expect([await other('192.0.2.1'), await other('192.0.2.2'), await other('192.0.2.3')]).toEqual([
    401, 401, 429,
  ])
})

test('the tokens of an account share its requests, and a further token adds none', async () => {
  const t = await testApp({ rateLimits })
  const other = t.callAs(await t.makeToken(['read']))
  expect((await t.call('GET', '/zones')).headers.ratelimit).toBe('"reads";r=2;t=20')
  expect((await other('GET', '/zones')).headers.ratelimit).toBe('"reads";r=1;t=40')
  expect((await t.call('GET', '/zones')).status).toBe(200)
  expect((await other('GET', '/zones')).status).toBe(429)
  expect((await t.callAs(await t.makeToken(['read']))('GET', '/zones')).status).toBe(429)
  const neighbour = t.callAs(await t.makeToken(['read'], { accountId: await t.makeAccount() }))
  expect((await neighbour('GET', '/zones')).status).toBe(200)
})

test('an account waits for at most 50 operations at once, with whichever of its tokens', async () => {
  const t = await testApp()
  const { server_id, current_operation } = (await t.call('POST', '/servers', await order(t.call))).body
  const path = `/servers/${server_id}/operations/${current_operation.operation_id}`
  const other = t.callAs(await t.makeToken(['read']))
  const replies = Array.from({ length: 51 }, (_, at) =>
    (at % 2 === 0 ? t.call : other)('GET', `${path}?wait=60`),
  )
  const refused = await Promise.race(replies)
  expect(refused).toMatchObject({
    status: 429,
    body: { code: 'rate_limited' },
    headers: { 'retry-after': '5' },
  })
  expect((await other('GET', path)).status).toBe(200)
  await t.finish()
  const statuses = (await Promise.all(replies)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(50)
  expect((await other('GET', `${path}?wait=60`)).status).toBe(200)
})

test('a malformed request counts like any other, and its reply shows the limit', async () => {
  const t = await testApp({ rateLimits })
  const stranger = t.callAs(null)
  for (const left of [1, 0]) {
    const { status, headers } = await stranger('GET', '/servers/%zz')
    expect([status, headers.ratelimit]).toEqual([400, `"anonymous";r=${left};t=${(2 - left) * 30}`])
  }
  expect(await stranger('GET', '/servers/%zz')).toMatchObject({
    status: 429,
    body: { code: 'rate_limited' },
    headers: { 'retry-after': '30' },
  })
})

test('a stolen token that may only read uses up no writes of its account, and can be revoked', async () => {
  const t = await testApp({ rateLimits })
  const token = (await t.call('POST', '/account/tokens', { name: 'ci', scopes: ['read'] })).body
  const thief = t.callAs(token.token)
  const replies = []
  for (let n = 0; n < 4; n += 1) replies.push((await thief('POST', '/servers', {})).status)
  expect(replies).toEqual([403, 403, 429, 429])
  expect((await thief('POST', '/servers', {})).headers['ratelimit-policy']).toBe('"refused";q=2;w=60')
  const { status, headers } = await t.call('POST', '/account/projects', { name: 'a' })
  expect([status, headers.ratelimit]).toEqual([201, '"writes";r=0;t=60'])
  expect((await t.call('DELETE', `/account/tokens/${token.token_id}`)).status).toBe(204)
  expect((await thief('GET', '/zones')).status).toBe(401)
})

test('a request that a token has no right to holds no place of its account, not even while it waits', async () => {
  const t = await testApp({ rateLimits: { ...rateLimits, writes: 6 } })
  const thief = t.callAs(await t.makeToken(['read']))
  const refused = [
    ['POST', '/servers'],
    ['POST', '/nothing'],
    ['DELETE', '/zones'],
    ['POST', '/sign-in'],
    ['POST', `/operator/accounts/${randomUUID()}/suspend`],
    ['POST', '/person/account'],
  ] as const
  const replies = refused.map(([method, path]) => thief(method, path, {}))
  const own = await t.call('POST', '/account/projects', { name: 'a' })
  expect([own.status, own.headers.ratelimit]).toEqual([201, '"writes";r=5;t=10'])
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([403, 404, 405, 422, 403, 403])
})

test('a stolen token that uses up all requests of the tokens leaves people theirs, and tokens can be looked up', async () => {
  const t = await testApp({ rateLimits: { reads: 3, writes: 5, anonymous: 100 } })
  const { call } = await signUp(t, 'ann@example.com')
  const made = await call('POST', '/account/tokens', { name: 'ci', scopes: ['read', 'write'] })
  const thief = t.callAs(made.body.token)
  while ((await thief('GET', '/zones')).status !== 429);
  while ((await thief('POST', '/account/projects', {})).status !== 429);
  expect((await thief('GET', '/account/tokens')).status).toBe(200)
  expect((await call('GET', '/servers')).headers.ratelimit).toBe('"reads";r=2;t=20')
  expect((await call('POST', '/account/projects', { name: 'a' })).status).toBe(201)
})

test('a stolen token that uses up all writes of its account can still be revoked', async () => {
  const t = await testApp({ rateLimits })
  const token = (await t.call('POST', '/account/tokens', { name: 'ci', scopes: ['write'] })).body
  const thief = t.callAs(token.token)
  while ((await thief('POST', '/account/projects', {})).status !== 429);
  expect((await t.call('POST', '/account/projects', { name: 'a' })).status).toBe(429)
  expect((await t.call('DELETE', `/account/tokens/${token.token_id}`)).status).toBe(204)
})

test('requests about a person’s own settings count by person, whatever their accounts do', async () => {
  const t = await testApp({ rateLimits: { reads: 1, writes: 5, anonymous: 100 } })
  const browser = await signUp(t, 'ann@example.com')
  const own = async () => {
    const { status, headers } = await browser.call('GET', '/account/sessions')
    return [status, headers.ratelimit?.split(';')[0]]
  }
  for (let n = 0; n < 3; n += 1) await browser.call('GET', '/zones')
  expect((await browser.call('GET', '/zones')).status).toBe(429)
  expect(await own()).toEqual([200, '"own"'])
})
