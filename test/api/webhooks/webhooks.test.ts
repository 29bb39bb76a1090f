import { expect, test } from 'vitest'
import { BACKOFF_MS } from '../../../api/webhooks/worker.ts'
import { testApp } from '../../harness/app.ts'
import {
  deliver,
  deliverAll,
  deliveries,
  endpoint,
  hook,
  LOOPBACK,
  namesOf,
  project,
  verifiedHook,
  verify,
} from '../harness/endpoint.ts'
import { issues } from '../harness/ordering.ts'

test('an event is posted as the API shows it, signed by Standard Webhooks', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint((_, reply) => reply.end('thanks'))
  const made = await hook(t, `${url}/in?a=b`, ['project.created'])
  expect(made).toMatchObject({ status: 201, body: { name: 'mine', is_enabled: true, disabled_reason: null } })
  const { secret, ...shown } = made.body
  expect((await t.call('GET', `/webhooks/${shown.webhook_id}`)).body).toEqual(shown)
  expect((await t.call('GET', '/webhooks')).body).toEqual({ items: [shown], total: 1 })
  await deliverAll(t)
  await project(t, 'Shop')
  await deliverAll(t)
  const event = (await t.call('GET', '/events?limit=200')).body.items.at(-1)
  expect(received).toHaveLength(1)
  const [{ headers, body, path } = { headers: {}, body: '', path: '' }] = received
  expect([path, JSON.parse(body)]).toEqual(['/in?a=b', event])
  expect(headers['webhook-id']).toBe(event.event_id)
  const now = { 'webhook-timestamp': String(Math.floor(t.clock.now() / 1000)) }
  expect(headers).toMatchObject(now)
  expect(verify(t, { headers, body }, secret)).toEqual(event)
  expect(() => verify(t, { headers, body: `${body} ` }, secret)).toThrow()
  expect(() => verify(t, { headers, body }, `whsec_${Buffer.alloc(32).toString('base64')}`)).toThrow()
  expect(await deliveries(t, shown.webhook_id)).toMatchObject([
    {
      event_id: event.event_id,
      event_type: 'project.created',
      status: 'succeeded',
      attempts: [{ reply_status: 200, reply: 'thanks', error: null }],
    },
  ])
})

test('a webhook is changed, tested and deleted, and its events lack its secret', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint((_, reply) => reply.end())
  const { webhook_id: id, secret } = await verifiedHook(t, url, ['project.created'])
  const path = `/webhooks/${id}`
  await t.call('PATCH', path, { is_enabled: false, name: 'renamed' })
  await project(t, 'unseen')
  const tested = await t.call('POST', `${path}/test`)
  expect(tested.status).toBe(202)
  await deliverAll(t)
  expect(received.map(({ body }) => JSON.parse(body))).toMatchObject([
    { event_id: tested.body.event_id, type: 'webhook.test', data: { webhook_id: id, name: 'renamed' } },
  ])
  await t.call('PATCH', path, { is_enabled: true, event_types: ['project.deleted'] })
  expect((await t.call('DELETE', path)).status).toBe(204)
  expect((await t.call('GET', path)).body.code).toBe('webhook_not_found')
  const events = (await t.call('GET', '/events?limit=200')).body.items
  expect(
    events.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith('webhook')),
  ).toEqual([
    'webhook.created',
    'webhook.updated',
    'webhook.updated',
    'webhook.test',
    'webhook.updated',
    'webhook.deleted',
  ])
  expect(JSON.stringify(events)).not.toContain(secret.slice(6))
  const own = t.db.selectFrom('audit').select('action').where('object_id', '=', id)
  const rows = await own.orderBy('audit_id').execute()
  expect(rows.map(({ action }) => action)).toEqual([
    'createWebhook',
    'updateWebhook',
    'testWebhook',
    'updateWebhook',
    'deleteWebhook',
  ])
})

test('a webhook’s creator needs the scopes to see the events that it sends', async () => {
  const t = await testApp()
  const body = (event_types: string[]) => ({ name: 'x', url: 'https://example.com', event_types })
  const blind = t.callAs(await t.makeToken(['account:write']))
  expect((await blind('POST', '/webhooks', body(['project.created']))).body).toMatchObject({
    code: 'insufficient_scope',
    required_scope: 'account:read',
  })
  const ask = t.callAs(await t.makeToken(['account:write', 'account:read']))
  expect((await ask('POST', '/webhooks', body(['*']))).body.required_scope).toBe('servers:read')
  const { webhook_id } = (await ask('POST', '/webhooks', body(['project.created']))).body
  const path = `/webhooks/${webhook_id}`
  expect((await ask('PATCH', path, { event_types: ['server.created'] })).status).toBe(403)
  expect((await blind('PATCH', path, { url: 'https://example.org' })).status).toBe(403)
  expect((await blind('PATCH', path, { name: 'renamed' })).status).toBe(200)
})

test('an account has up to 20 webhooks, and none leads to an address of this host', async () => {
  const t = await testApp()
  for (const url of [
    'ftp://example.com',
    'https://',
    'https://user:secret@example.com/',
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:169.254.169.254]/latest',
    'http://169.254.169.254/latest',
    'http://168.63.129.16/machine',
    'http://localhost/',
    'http://metadata.google.internal/',
    'http://example.com:25/',
    'nonsense',
  ])
    expect([url, issues((await hook(t, url)).body)]).toEqual([url, [['/url', 'invalid_format']]])
  const path = `/webhooks/${(await hook(t, 'https://example.com')).body.webhook_id}`
  const moved = await t.call('PATCH', path, { url: 'http://db.local./' })
  expect([moved.status, issues(moved.body)]).toEqual([422, [['/url', 'invalid_format']]])
  expect((await t.call('DELETE', path)).status).toBe(204)
  for (let count = 0; count < 20; count++) expect((await hook(t, 'https://example.com')).status).toBe(201)
  expect((await hook(t, 'https://example.com')).body).toMatchObject({
    code: 'quota_exceeded',
    quota: { name: 'webhooks', limit: 20, used: 20, requested: 1 },
  })
})

test('each endpoint gets its events in order, also when one of them fails for a while', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  let failures = 3
  const { received, url } = await endpoint((_, reply) => {
    reply.statusCode = failures-- > 0 ? 503 : 200
    reply.end('busy')
  })
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  for (const name of ['a', 'b', 'c']) await project(t, name)
  await deliverAll(t)
  expect(namesOf(received)).toEqual(['a', 'a', 'a', 'a', 'b', 'c'])
  const ids = received.slice(0, 4).map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(1)
  const [, , first] = await deliveries(t, webhook_id)
  expect(first.attempts.map((attempt: { error: string }) => attempt.error)).toEqual([
    ...Array(3).fill('The status was 503.'),
    null,
  ])
})

test('an endpoint that fails for a day is disabled, with an event; one that says 410 at once', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  let status = 500
  const { received, url } = await endpoint((_, reply) => {
    reply.statusCode = status
    reply.end()
  })
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  const begun = t.clock.now()
  for (const name of ['a', 'b']) await project(t, name)
  await deliverAll(t)
  expect(received).toHaveLength(BACKOFF_MS.length + 1)
  expect((t.clock.now() - begun) / 3600_000).toBeCloseTo(24, 0)
  expect(await t.call('GET', `/webhooks/${webhook_id}`)).toMatchObject({
    body: { is_enabled: false, disabled_reason: 'failing' },
  })
  expect((await deliveries(t, webhook_id)).map((each: { status: string }) => each.status)).toEqual([
    'failed',
    'failed',
  ])
  expect((await t.call('GET', '/events?limit=200')).body.items.at(-1)).toMatchObject({
    type: 'webhook.disabled',
    data: { webhook_id, disabled_reason: 'failing' },
  })
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true })
  status = 410
  await project(t, 'c')
  await deliverAll(t)
  expect(received).toHaveLength(BACKOFF_MS.length + 2)
  expect((await t.call('GET', `/webhooks/${webhook_id}`)).body.disabled_reason).toBe('gone')
})

test('redirects are not followed, and no more of a reply is read than is kept', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const secret = await endpoint((_, reply) => reply.end('secret'))
  const { received, url } = await endpoint(({ body }, reply) => {
    const isFirst = JSON.parse(body).data.name === 'redirect'
    if (isFirst && received.length === 1) return void reply.writeHead(302, { location: secret.url }).end()
    reply.end('x\0'.repeat(500_000))
  })
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  await project(t, 'redirect')
  await deliverAll(t)
  const [delivery] = await deliveries(t, webhook_id)
  expect(delivery.attempts).toMatchObject([
    { reply_status: 302, error: 'Redirects are not followed.' },
    { reply_status: 200, error: null },
  ])
  expect(delivery.attempts[1].reply).toBe('x\ufffd'.repeat(2048))
  expect(secret.received).toEqual([])
})

test('a name that leads to an address of this host is not called, even if it led elsewhere before', async () => {
  const { received, port } = await endpoint((_, reply) => reply.end())
  let answers: string[] = ['8.8.8.8']
  const asked: string[] = []
  const lookup = async (host: string) => {
    asked.push(host)
    return answers.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  const t = await testApp({ lookup })
  const { webhook_id } = (await hook(t, `http://rebound.example:${port}/`, ['project.created'])).body
  await t.db.updateTable('webhooks').set({ verification: 'verified', verified_addresses: null }).execute()
  await project(t, 'x')
  for (const next of [
    ['127.0.0.1'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['8.8.8.8', '127.0.0.1'],
    ['169.254.169.254'],
    [],
  ]) {
    answers = next
    await deliver(t)
    t.clock.advance(9 * 3600_000)
  }
  const [{ attempts }] = await deliveries(t, webhook_id)
  expect(attempts.map(({ error }: { error: string }) => error)).toEqual([
    ...Array(5).fill('The address of the host is not on the public internet.'),
    'The host has no address.',
  ])
  expect(received).toEqual([])
  // Once for each attempt: what was looked at is what is called.
  expect(asked).toHaveLength(6)
})

test('the connection goes to the address that was checked, under the requested name', async () => {
  const { received, port } = await endpoint((_, reply) => reply.end())
  let asked = 0
  // Replies after those to the challenge and the event differ, so a further request would be caught.
  const lookup = async () => [{ address: asked++ < 2 ? '127.0.0.1' : '203.0.113.1', family: 4 }]
  const t = await testApp({ lookup, webhookAllow: LOOPBACK })
  await hook(t, `http://shop.example:${port}/`, ['project.created'])
  await project(t, 'x')
  await deliverAll(t)
  expect([asked, received[0]?.headers.host]).toEqual([2, `shop.example:${port}`])
})

test('a secret is rotated without a gap: for a day what is sent is signed by the one before as well', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint((_, reply) => reply.end())
  const { secret: first, ...made } = (await hook(t, url, ['project.created'])).body
  const path = `/webhooks/${made.webhook_id}/rotate-secret`
  const rotate = async (key: string) =>
    (await t.call('POST', path, undefined, { 'idempotency-key': key })).body
  const { secret: second, ...shown } = await rotate('a')
  expect([shown, second]).toEqual([made, expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)])
  // A repeat is none more.
  expect(await rotate('a')).toEqual({ ...shown, secret: second })
  const signers = async (secrets: string[]) => {
    await project(t, `p${received.length}`)
    await deliverAll(t)
    const last = received.at(-1)
    if (!last) throw new Error('nothing came')
    return secrets.filter((secret) => {
      try {
        return verify(t, last, secret)
      } catch {
        return false
      }
    })
  }
  expect(await signers([first, second])).toEqual([first, second])
  t.clock.advance(24 * 3600_000 - 1)
  expect(await signers([first, second])).toEqual([first, second])
  t.clock.advance(1)
  expect(await signers([first, second])).toEqual([second])
  const { secret: third } = await rotate('b')
  const { secret: fourth } = await rotate('c')
  expect(await signers([first, second, third, fourth])).toEqual([third, fourth])
  const audit = await t.db.selectFrom('audit').select('action').where('object_type', '=', 'webhook').execute()
  expect(audit.filter(({ action }) => action === 'rotateWebhookSecret')).toHaveLength(3)
  const stranger = t.callAs(await t.makeToken(['write'], { accountId: await t.makeAccount() }))
  expect((await stranger('POST', path)).body.code).toBe('webhook_not_found')
})
