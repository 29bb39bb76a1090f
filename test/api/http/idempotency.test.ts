import pino from 'pino'
import { expect, test } from 'vitest'
import type { ApiError } from '../../../api/http/contract/problem.ts'
import { Idempotency } from '../../../api/http/server/idempotency.ts'
import { Members } from '../../../api/processes/members.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { Secrets } from '../../../api/secrets.ts'
import { testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { make, order } from '../harness/ordering.ts'

const log = pino({ level: 'silent' })

test('a repeated key gets the first reply, and creates nothing twice', async () => {
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

test('two simultaneous requests with one key create one server', async () => {
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

test('a secret that is shown once is kept sealed, and shown again if its request is repeated', async () => {
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

test('a repeated DELETE with its key gets the first reply, although the object is gone', async () => {
  const t = await testApp()
  const serverId = await make(t)
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'a' })).body
  for (const path of [`/account/projects/${project_id}`, `/servers/${serverId}`]) {
    const key = { 'idempotency-key': path }
    const first = await t.call('DELETE', path, undefined, key)
    expect(first.status).toBeLessThan(300)
    await t.finish()
    expect((await t.call('GET', path)).status).toBe(404)
    const again = await t.call('DELETE', path, undefined, key)
    expect(again).toMatchObject({ status: first.status, body: first.body })
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' })
    // Another key is another request, which finds nothing and leaves nothing.
    expect((await t.call('DELETE', path, undefined, { 'idempotency-key': 'b' })).status).toBe(404)
  }
  const rows = await t.db.selectFrom('idempotency_keys').select('key').execute()
  expect(rows).toHaveLength(2)
})

test('a DELETE whose process died before it replied is reported as done, by whichever object it was', async () => {
  const t = await testApp()
  const serverId = await make(t)
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'a' })).body
  const { ssh_key_id } = (await t.call('POST', '/account/ssh_keys', { name: 'a', public_key: ed25519() }))
    .body
  for (const path of [
    `/account/projects/${project_id}`,
    `/account/ssh_keys/${ssh_key_id}`,
    `/servers/${serverId}`,
  ]) {
    const key = { 'idempotency-key': path }
    const first = await t.call('DELETE', path, undefined, key)
    await t.finish()
    await t.db.updateTable('idempotency_keys').set({ reply: null, owner: 'dead' }).execute()
    const again = await t.call('DELETE', path, undefined, key)
    expect([path, again.status]).toEqual([path, first.status])
    expect(again.body.operation_id).toBe(first.body.operation_id)
  }
})

test('a DELETE that was refused can be repeated with its key, and is carried out then', async () => {
  const t = await testApp()
  const path = `/servers/${await make(t, { delete_protection: true })}`
  const key = { 'idempotency-key': 'k' }
  expect((await t.call('DELETE', path, undefined, key)).body.code).toBe('delete_protected')
  await t.call('PATCH', path, { delete_protection: false })
  expect((await t.call('DELETE', path, undefined, key)).status).toBe(202)
})

test('the key of a process that is found dead is free at once; one that lives holds it for a minute, and repeats wait ever longer', async () => {
  const t = await testApp()
  const { living } = new Members({ ...t, log, role: 'all', bells: noPeers() })
  const join = async (process_id: string) => {
    const now = t.clock.now()
    const process = { process_id, role: 'all', host: 'h', pid: 1, started_at: now, seen_at: now } as const
    await t.db
      .insertInto('processes')
      .values({ ...process, takes_pools: 0 })
      .execute()
    return new Idempotency({ ...t, secrets: new Secrets(Buffer.alloc(32, 7)), owner: process_id, living })
  }
  const [first, second] = [await join('first'), await join('second')]
  const begin = (process: Idempotency, key: string) =>
    process.begin(
      { accountId: t.accountId, rights: [] },
      { path: 'POST /v1/account/projects', body: {} },
      key,
    )
  const refusal = (key: string) =>
    begin(second, key).then(
      () => null,
      (error: ApiError) => error.headers['retry-after'],
    )

  await begin(first, 'slow')
  const waits: unknown[] = []
  for (const ms of [0, 1_000, 4_000, 20_000, 30_000]) {
    t.clock.advance(ms)
    waits.push(await refusal('slow'))
  }
  expect(waits).toEqual(['1', '1', '5', '16', '5'])
  t.clock.advance(5_000)
  expect(await refusal('slow')).toBeNull()

  await begin(first, 'dead')
  expect(await refusal('dead')).toBe('1')
  await t.db.deleteFrom('processes').where('process_id', '=', 'first').execute()
  expect(await refusal('dead')).toBeNull()
})

test('a request whose key was taken over sends no reply of its own, but the one that repeats get', async () => {
  const t = await testApp()
  const idempotency = new Idempotency({ ...t, secrets: new Secrets(Buffer.alloc(32, 7)), living: null })
  const begin = () =>
    idempotency.begin({ accountId: t.accountId, rights: [] }, { path: 'POST /v1/servers', body: {} }, 'slow')
  const claim = async () => {
    const begun = await begin()
    return begun && 'claim' in begun ? begun.claim : expect.fail('the key was not free')
  }
  const reply = (body: string) => ({ status: 202, headers: {}, body })
  const first = await claim()
  t.clock.advance(61_000)
  const second = await claim()
  const isInUse = { type: { code: 'idempotency_key_in_use' } }
  await expect(idempotency.finish(first, reply('of the first'))).rejects.toMatchObject(isInUse)
  await idempotency.finish(second, reply('of the second'))
  await expect(idempotency.finish(first, reply('of the first'))).rejects.toMatchObject(isInUse)
  expect(await begin()).toMatchObject({ replay: { body: 'of the second' } })
})
