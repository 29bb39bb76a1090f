import type { ServerResponse } from 'node:http'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { CHALLENGE_BACKOFF_MS } from '../../../api/webhooks/worker.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { certificates } from '../harness/certificates.ts'
import {
  deliver,
  deliverAll,
  deliveries,
  endpoint,
  hook,
  LOOPBACK,
  namesOf,
  project,
  type Received,
  verifiedHook,
  verify,
} from '../harness/endpoint.ts'

const ok = (_: Received, reply: ServerResponse) => void reply.end()
const refuse = (_: string, reply: ServerResponse) => void reply.writeHead(401).end('who are you?')
const shown = async (t: TestApp, id: string) => (await t.call('GET', `/webhooks/${id}`)).body

test('nothing is sent to an endpoint before it has answered a challenge, and then all that happened since', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  let isReady = false
  const { received, challenges, url } = await endpoint(ok, (value, reply) =>
    isReady ? void reply.end(value) : refuse(value, reply),
  )
  const { secret, ...made } = (await hook(t, url, ['project.created', 'webhook.updated'])).body
  expect(made).toMatchObject({ is_enabled: true, verification: { status: 'pending', checked_at: null } })
  await project(t, 'early')
  const at = new Date(t.clock.now()).toISOString()
  await deliver(t)
  expect((await shown(t, made.webhook_id)).verification).toEqual({
    status: 'pending',
    checked_at: at,
    error: 'The status was 401.',
  })
  expect([challenges.length, received]).toEqual([1, []])
  expect(await deliveries(t, made.webhook_id)).toMatchObject([{ status: 'pending', attempts: [] }])
  isReady = true
  t.clock.advance(CHALLENGE_BACKOFF_MS[0])
  for (const _ of ['the challenge', 'what it changed']) await deliver(t)
  expect((await shown(t, made.webhook_id)).verification).toMatchObject({ status: 'verified', error: null })
  expect(received.map(({ body }) => JSON.parse(body))).toMatchObject([
    { type: 'project.created', data: { name: 'early' } },
    { type: 'webhook.updated', data: { verification: { status: 'verified' } } },
  ])
  // Signed as events are, each with an id and a value of its own.
  const messages = challenges.map((one) => verify(t, one, secret) as { type: string; data: object }) // JSON that we sent
  expect(messages[1]).toMatchObject({
    type: 'webhook.challenge',
    data: { webhook_id: made.webhook_id, challenge: expect.stringMatching(/^[\w-]{43}$/) },
  })
  expect(messages[0]).not.toEqual(messages[1])
  expect(challenges[0]?.headers['webhook-id']).not.toBe(challenges[1]?.headers['webhook-id'])
})

test.each([
  ['the value', (value: string) => value, true],
  ['the value with a line end', (value: string) => `${value}\r\n`, true],
  ['the value as JSON', (value: string) => JSON.stringify(value), true],
  ['a JSON object of the value', (value: string) => JSON.stringify({ challenge: value }), true],
  ['nothing', () => '', false],
  ['another value', () => 'x'.repeat(43), false],
  ['a page that has the value in it', (value: string) => `<p>No such thing: ${value}</p>`, false],
  ['what was sent', (_: string, { body }: Received) => body, false],
  ['what was sent, as JSON with more', (_: string, { body }: Received) => `{"json":${body}}`, false],
  ['the data that was sent', (_: string, { body }: Received) => JSON.stringify(JSON.parse(body).data), false],
])('whether an endpoint that replies %s has answered: %#', async (_, replyTo, isAnswer) => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { url } = await endpoint(ok, (value, reply, one) => void reply.end(replyTo(value, one)))
  const { webhook_id } = (await hook(t, url)).body
  await deliver(t)
  expect((await shown(t, webhook_id)).verification).toMatchObject(
    isAnswer
      ? { status: 'verified', error: null }
      : { status: 'pending', error: 'The reply was not the challenge.' },
  )
})

test('an endpoint that never answers gets nine challenges in a day, and its webhook is disabled until it is enabled', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  let isReady = false
  const { received, challenges, url } = await endpoint(ok, (value, reply) =>
    isReady ? void reply.end(value) : refuse(value, reply),
  )
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  const begun = t.clock.now()
  await project(t, 'lost')
  await deliverAll(t)
  expect([challenges.length, received]).toEqual([CHALLENGE_BACKOFF_MS.length + 1, []])
  expect((t.clock.now() - begun) / 3600_000).toBeGreaterThan(22)
  expect((t.clock.now() - begun) / 3600_000).toBeLessThan(24)
  expect(await shown(t, webhook_id)).toMatchObject({
    is_enabled: false,
    disabled_reason: 'unverified',
    verification: { status: 'failed', error: 'The status was 401.' },
  })
  expect((await t.call('GET', '/events?limit=200')).body.items.at(-1)).toMatchObject({
    type: 'webhook.disabled',
    data: { webhook_id, disabled_reason: 'unverified' },
  })
  expect(await deliveries(t, webhook_id)).toMatchObject([{ status: 'failed', attempts: [] }])
  await project(t, 'unseen')
  isReady = true
  const enabled = await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true })
  expect(enabled.body).toMatchObject({ disabled_reason: null, verification: { status: 'pending' } })
  await project(t, 'seen')
  await deliver(t)
  expect((await shown(t, webhook_id)).verification.status).toBe('verified')
  expect(namesOf(received)).toEqual(['seen'])
})

test('another address has to answer a challenge of its own, and gets what waited', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const first = await endpoint(ok)
  const victim = await endpoint(ok, refuse)
  const next = await endpoint(ok)
  const path = `/webhooks/${(await hook(t, first.url, ['project.created'])).body.webhook_id}`
  await project(t, 'a')
  await deliver(t)
  const moved = (await t.call('PATCH', path, { url: victim.url })).body
  expect(moved.verification).toEqual({ status: 'pending', checked_at: null, error: null })
  await project(t, 'b')
  await deliver(t)
  expect([victim.challenges.length, victim.received]).toEqual([1, []])
  expect((await t.call('PATCH', path, { url: next.url })).body.verification.checked_at).toBeNull()
  await deliver(t)
  expect([namesOf(first.received), namesOf(next.received)]).toEqual([['a'], ['b']])
})

test('a webhook that is disabled is not asked until it is enabled; one that says 410 is not asked again', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { challenges, url } = await endpoint(ok, (_, reply) => void reply.writeHead(410).end())
  const body = { name: 'mine', url, event_types: ['*'], is_enabled: false }
  const { webhook_id } = (await t.call('POST', '/webhooks', body)).body
  await deliver(t)
  expect(challenges).toHaveLength(0)
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true })
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: false })
  await deliver(t)
  expect(challenges).toHaveLength(0)
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true })
  await deliverAll(t)
  expect(challenges).toHaveLength(1)
  expect(await shown(t, webhook_id)).toMatchObject({ is_enabled: false, verification: { status: 'failed' } })
})

test('an endpoint that was verified and says 410 has to answer again before it is sent anything', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, challenges, url } = await endpoint((_, reply) => void reply.writeHead(410).end())
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  await project(t, 'a')
  await deliver(t)
  expect(await shown(t, webhook_id)).toMatchObject({
    disabled_reason: 'gone',
    verification: { status: 'failed', error: 'The status was 410.' },
  })
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true })
  await deliver(t)
  expect([challenges.length, received.length]).toEqual([2, 1])
})

test('a test is sent to verified endpoints only', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint(ok, refuse)
  const { webhook_id } = (await hook(t, url)).body
  await deliver(t)
  expect((await t.call('POST', `/webhooks/${webhook_id}/test`)).body).toMatchObject({
    status: 409,
    code: 'webhook_not_verified',
    detail: expect.stringContaining('The status was 401.'),
  })
  await deliver(t)
  expect(received).toEqual([])
})

test('an unverified webhook never shows the endpoint’s reply', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { url } = await endpoint(ok, (_, reply) => void reply.end('a secret of somebody else'))
  const { webhook_id } = (await hook(t, url)).body
  await deliver(t)
  const all = [await shown(t, webhook_id), await deliveries(t, webhook_id), await t.call('GET', '/events')]
  expect(JSON.stringify(all)).not.toContain('somebody else')
})

test('without TLS a name that leads to another address is sent nothing there until that one has answered too', async () => {
  let address = '127.0.0.1'
  let isWilling = false
  const lookup = async () => [{ address, family: 4 }]
  const t = await testApp({ webhookAllow: LOOPBACK, lookup })
  const { received, challenges, port } = await endpoint(ok, (value, reply) =>
    address === '127.0.0.1' || isWilling ? void reply.end(value) : refuse(value, reply),
  )
  const { webhook_id } = (await hook(t, `http://mine.example:${port}/`, ['project.created'])).body
  await project(t, 'a')
  await deliver(t)
  // The test's own receiver listens on one address: who is called at another one gets no connection.
  address = '127.0.0.2'
  await project(t, 'b')
  await deliver(t)
  expect([challenges.length, namesOf(received)]).toEqual([1, ['a']])
  const [delivery] = await deliveries(t, webhook_id)
  expect(delivery.attempts).toMatchObject([
    { reply_status: null, reply: '', error: 'At the address 127.0.0.2: No reply: ECONNREFUSED.' },
  ])
  expect((await shown(t, webhook_id)).verification.status).toBe('verified')
  // Back at the one that has answered, it is not asked again.
  address = '127.0.0.1'
  isWilling = true
  t.clock.advance(5_000)
  await deliver(t)
  expect([challenges.length, namesOf(received)]).toEqual([1, ['a', 'b']])
})

test('of a name’s several addresses, deliveries go to one that has answered the challenge', async () => {
  let addresses = ['127.0.0.1']
  const lookup = async () => addresses.map((address) => ({ address, family: 4 }))
  const t = await testApp({ webhookAllow: LOOPBACK, lookup })
  const { received, challenges, port } = await endpoint(ok)
  await verifiedHook(t, `http://mine.example:${port}/`, ['project.created'])
  addresses = ['127.0.0.2', '127.0.0.1']
  await project(t, 'a')
  await deliver(t)
  expect([challenges.length, namesOf(received)]).toEqual([1, ['a']])
})

test('webhooks from before challenges stay as they are until their address changes', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, challenges, url } = await endpoint(ok, refuse)
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  // As the migration leaves them.
  const old = { verification: 'verified', verified_addresses: null } as const
  await t.db.updateTable('webhooks').set(old).execute()
  expect((await shown(t, webhook_id)).verification).toEqual({
    status: 'verified',
    checked_at: null,
    error: null,
  })
  await project(t, 'a')
  await deliver(t)
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true, name: 'renamed', url })
  await project(t, 'b')
  await deliver(t)
  expect([challenges.length, namesOf(received)]).toEqual([0, ['a', 'b']])
  await t.call('PATCH', `/webhooks/${webhook_id}`, { url: `${url}/other` })
  await deliver(t)
  expect([challenges.length, (await shown(t, webhook_id)).verification.status]).toEqual([1, 'pending'])
})

test('over https a name that leads to another host delivers nothing there: the certificate is checked each time', async () => {
  const usual = getCACertificates('default')
  onTestFinished(() => setDefaultCACertificates(usual))
  setDefaultCACertificates(Object.values(certificates).map(({ cert }) => cert))
  const [mine, others] = [certificates['hooks.example.com'], certificates['other.example.com']]
  const first = await endpoint(ok, undefined, { tls: mine })
  const { port } = first
  const stranger = await endpoint(ok, undefined, { host: '127.0.0.2', port, tls: others })
  const moved = await endpoint(ok, undefined, { host: '127.0.0.3', port, tls: mine })
  let address = '127.0.0.1'
  const t = await testApp({ webhookAllow: LOOPBACK, lookup: async () => [{ address, family: 4 }] })
  const { webhook_id } = await verifiedHook(t, `https://hooks.example.com:${port}/`, ['project.created'])
  await project(t, 'a')
  await deliver(t)
  address = '127.0.0.2'
  await project(t, 'b')
  await deliver(t)
  expect((await deliveries(t, webhook_id))[0]).toMatchObject({
    attempts: [{ error: 'No reply: ERR_TLS_CERT_ALTNAME_INVALID.' }],
  })
  address = '127.0.0.3'
  await deliverAll(t)
  expect([first, stranger, moved].map(({ received }) => namesOf(received))).toEqual([['a'], [], ['b']])
  expect([first, stranger, moved].map(({ challenges }) => challenges.length)).toEqual([1, 0, 0])
})
