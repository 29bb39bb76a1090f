import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { BACKOFF_MS } from '../../../api/webhooks/worker.ts'
import { testApp } from '../../harness/app.ts'
import { deliver, deliveries, endpoint, hook, LOOPBACK, namesOf, project } from '../harness/endpoint.ts'

const HOUR = 3600_000

const refuse = (_: unknown, reply: ServerResponse) => void reply.writeHead(503).end()

test('a webhook that is enabled again does not wait because of earlier failures', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint(refuse)
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  await project(t, 'a')
  const until = t.clock.now() + HOUR
  for (await deliver(t); t.clock.now() < until; t.clock.advance(300_000)) await deliver(t)
  const count = received.length
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: false })
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true })
  await project(t, 'b')
  await deliver(t)
  expect(namesOf(received.slice(count))).toEqual(['b'])
})

test('failures of a webhook’s previous address do not count against the new one', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const next = await endpoint((_, reply) => reply.end())
  let path = ''
  const { received, url } = await endpoint(async (_, reply) => {
    await t.call('PATCH', path, { url: next.url })
    reply.writeHead(410).end()
  })
  path = `/webhooks/${(await hook(t, url, ['project.created'])).body.webhook_id}`
  await project(t, 'a')
  await deliver(t)
  expect((await t.call('GET', path)).body).toMatchObject({ is_enabled: true, disabled_reason: null })
  expect([namesOf(received), namesOf(next.received)]).toEqual([['a'], ['a']])
})

test('a test that is requested during an attempt does not wait for the next attempt', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  let path = ''
  const { received, url } = await endpoint(async (_, reply) => {
    if (received.length === 1) await t.call('POST', `${path}/test`)
    await t.app.events.relay()
    refuse(_, reply)
  })
  path = `/webhooks/${(await hook(t, url, ['project.created'])).body.webhook_id}`
  await project(t, 'a')
  await deliver(t)
  const types = received.map(({ body }) => JSON.parse(body).type)
  // Then what waits, at once as well.
  expect(types).toEqual(['project.created', 'webhook.test', 'project.created'])
})

test('however often it is tried within it, an event is tried for a day before its webhook is disabled', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint(refuse)
  const path = `/webhooks/${(await hook(t, url, ['project.created'])).body.webhook_id}`
  const shown = async () => (await t.call('GET', path)).body
  await project(t, 'a')
  const begun = t.clock.now()
  await deliver(t)
  for (let count = 0; count < 15; count++) {
    await t.call('POST', `${path}/test`)
    await deliver(t)
  }
  expect(received).toHaveLength(1 + 15 * 2)
  expect(await shown()).toMatchObject({ is_enabled: true })
  for (; (await shown()).is_enabled; t.clock.advance(300_000)) await deliver(t)
  expect((await shown()).disabled_reason).toBe('failing')
  expect((t.clock.now() - begun) / HOUR).toBeCloseTo(24, 0)
  const { attempts } = (await deliveries(t, (await shown()).webhook_id)).at(-1)
  expect(attempts).toHaveLength(BACKOFF_MS.length + 1)
  expect(Date.parse(attempts[0].attempted_at)).toBe(begun)
})

test('at another address, waiting deliveries start again with the first attempt', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const left = await endpoint(refuse)
  const { received, url } = await endpoint(refuse)
  const { webhook_id } = (await hook(t, left.url, ['project.created'])).body
  await project(t, 'a')
  const until = t.clock.now() + 12 * HOUR
  for (; t.clock.now() < until; t.clock.advance(300_000)) await deliver(t)
  expect(left.received.length).toBeGreaterThan(BACKOFF_MS.length - 3)
  await t.call('PATCH', `/webhooks/${webhook_id}`, { url })
  await deliver(t)
  for (const wait of BACKOFF_MS.slice(0, 3)) {
    t.clock.advance(wait)
    await deliver(t)
  }
  expect(received).toHaveLength(4)
  expect((await deliveries(t, webhook_id))[0].attempts).toHaveLength(4)
  // The same address again is no other one.
  await t.call('PATCH', `/webhooks/${webhook_id}`, { url })
  expect((await deliveries(t, webhook_id))[0].attempts).toHaveLength(4)
})
