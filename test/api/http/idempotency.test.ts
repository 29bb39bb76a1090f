import { expect, test, vi } from 'vitest'
import { Unreachable } from '../../../api/database/postgres-driver.ts'
import { Idempotency } from '../../../api/http/server/idempotency.ts'
import { testApp } from '../../harness/app.ts'
import { order } from '../harness/ordering.ts'

test('a repeated key gets the first reply, and makes nothing twice', async () => {
  const t = await testApp()
  const body = await order(t.call)
  const key = { 'idempotency-key': 'first' }
  const first = await t.call('POST', '/servers', body, key)
  await t.finish()
  const second = await t.call('POST', '/servers', body, key)
  expect(second).toMatchObject({
    status: 202,
    body: first.body,
    headers: { 'idempotency-replayed': 'true', location: first.headers.location },
  })
  expect(first.headers['idempotency-replayed']).toBeUndefined()
  expect((await t.call('GET', '/servers')).body.total).toBe(1)
})

test('a key is good for one body, one path and one account', async () => {
  const t = await testApp()
  const key = { 'idempotency-key': 'k' }
  expect((await t.call('POST', '/account/projects', { name: 'a' }, key)).status).toBe(201)
  expect(await t.call('POST', '/account/projects', { name: 'b' }, key)).toMatchObject({
    status: 422,
    body: { code: 'idempotency_key_reused' },
  })
  expect((await t.call('POST', '/servers', await order(t.call), key)).status).toBe(202)
  const other = t.callAs(await t.makeToken(['write'], { accountId: await t.makeAccount() }))
  expect((await other('POST', '/account/projects', { name: 'b' }, key)).status).toBe(201)
  expect(
    (await t.call('POST', '/account/projects', { name: 'c' }, { 'idempotency-key': 'x'.repeat(256) })).body
      .code,
  ).toBe('bad_request')
})

test('two requests with one key at the same instant make one server', async () => {
  const t = await testApp()
  const body = await order(t.call)
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => t.call('POST', '/servers', body, { 'idempotency-key': 'same' })),
  )
  expect((await t.call('GET', '/servers')).body.total).toBe(1)
  for (const reply of replies) expect([202, 409]).toContain(reply.status)
  for (const reply of replies.filter(({ status }) => status === 409))
    expect(reply.body.code).toBe('idempotency_key_in_use')
  expect(new Set(replies.filter(({ status }) => status === 202).map(({ body }) => body.server_id)).size).toBe(
    1,
  )
})

test('refusals of the request are kept; those of the token, the moment or ourselves are not', async () => {
  const t = await testApp()
  const key = { 'idempotency-key': 'k' }
  const invalid = await t.call('POST', '/account/projects', { name: '' }, key)
  expect((await t.call('POST', '/account/projects', { name: '' }, key)).headers['idempotency-replayed']).toBe(
    'true',
  )
  expect(invalid.status).toBe(422)
  await t.db
    .updateTable('accounts')
    .set({ quotas: '{"projects":1}' })
    .where('account_id', '=', t.accountId)
    .execute()
  const again = { 'idempotency-key': 'again' }
  expect((await t.call('POST', '/account/projects', { name: 'a' }, again)).body.code).toBe('quota_exceeded')
  await t.db.updateTable('accounts').set({ quotas: '{}' }).where('account_id', '=', t.accountId).execute()
  expect((await t.call('POST', '/account/projects', { name: 'a' }, again)).status).toBe(201)
})

test('a secret that is shown once is kept sealed, and shown again to who repeats the request', async () => {
  const t = await testApp()
  const body = { name: 'ci', scopes: ['servers:read'] }
  const key = { 'idempotency-key': 'token' }
  const { token } = (await t.call('POST', '/account/tokens', body, key)).body
  expect((await t.call('POST', '/account/tokens', body, key)).body.token).toBe(token)
  const rows = await t.db.selectFrom('idempotency_keys').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain(token)
})

test('a token with fewer rights does not get the reply of one with more', async () => {
  const t = await testApp()
  const key = { 'idempotency-key': 'k' }
  const body = { name: 'ci', scopes: ['account:read', 'servers:write'] }
  const { token } = (await t.call('POST', '/account/tokens', body, key)).body
  const lesser = t.callAs(await t.makeToken(['account:write']))
  const refused = await lesser('POST', '/account/tokens', body, key)
  expect(refused).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
  expect(JSON.stringify(refused.body)).not.toContain(token)
  // Rotating a token between two tries, in whatever words its scopes are, changes nothing.
  const project = (await t.call('POST', '/account/projects', { name: 'a' }, key)).body
  const same = t.callAs(await t.makeToken(['write', 'read']))
  expect((await same('POST', '/account/projects', { name: 'a' }, key)).body).toEqual(project)
})

test('a token that expires does not get the token that one without expiry has created', async () => {
  const t = await testApp()
  const key = { 'idempotency-key': 'deploy' }
  const body = { name: 'deploy', scopes: ['read', 'write'] }
  const { token } = (await t.call('POST', '/account/tokens', body, key)).body
  const expiring = await t.makeToken(['read', 'write'], { expiresAt: t.clock.now() + 60_000 })
  const refused = await t.callAs(expiring)('POST', '/account/tokens', body, key)
  expect(refused).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
  expect(JSON.stringify(refused.body)).not.toContain(token)
})

test('a key is forgotten after a day', async () => {
  const t = await testApp()
  const key = { 'idempotency-key': 'old' }
  await t.call('POST', '/account/projects', { name: 'a' }, key)
  t.clock.advance(24 * 3600_000)
  expect((await t.call('POST', '/account/projects', { name: 'b' }, key)).status).toBe(201)
})

test('wherever the database is lost during a request, the reply is a problem document of the contract', async () => {
  const t = await testApp()
  const key = { 'idempotency-key': 'k' }
  const lost = () => Promise.reject(new Unreachable('connect ECONNREFUSED 10.0.0.1:5432'))
  const send = (call = t.call) => call('POST', '/account/projects', { name: 'a' }, key)
  const unavailable = { status: 503, body: { code: 'backend_unavailable', request_id: expect.any(String) } }

  for (const method of ['begin', 'finish'] as const) {
    vi.spyOn(Idempotency.prototype, method).mockImplementationOnce(lost)
    const reply = await send()
    expect(reply, method).toMatchObject(unavailable)
    expect(reply.headers['content-type']).toContain('application/problem+json')
    expect(reply.headers.location).toBeUndefined()
    expect(JSON.stringify(reply.body)).not.toContain('10.0.0.1')
  }
  // The project was made, and its repeat finds it.
  t.clock.advance(61_000)
  expect((await send()).status).toBe(201)
  expect((await t.call('GET', '/account/projects')).body.total).toBe(2)

  // A refusal stands although its key could not be freed.
  vi.spyOn(Idempotency.prototype, 'giveUp').mockImplementationOnce(lost)
  const weak = t.callAs(await t.makeToken(['account:write']))
  expect(await weak('POST', '/account/tokens', { name: 'b', scopes: ['write'] }, key)).toMatchObject({
    status: 403,
    body: { code: 'insufficient_scope', request_id: expect.any(String) },
  })
})
