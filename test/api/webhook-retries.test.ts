import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { testApp } from '../app.ts'
import { deliver, endpoint, hook, LOOPBACK, namesOf, project } from './endpoint.ts'

const HOUR = 3600_000

const refuse = (_: unknown, reply: ServerResponse) => void reply.writeHead(503).end()

test('a webhook that is enabled again does not wait for what it failed at before', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint(refuse)
  const { webhook_id } = (await hook(t, url, ['project.created'])).body
  await project(t, 'a')
  const until = t.clock.now() + HOUR
  for (await deliver(t); t.clock.now() < until; t.clock.advance(60_000)) await deliver(t)
  const count = received.length
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: false })
  await t.call('PATCH', `/webhooks/${webhook_id}`, { is_enabled: true })
  await project(t, 'b')
  await deliver(t)
  expect(namesOf(received.slice(count))).toEqual(['b'])
})

test('what an address says that was left meanwhile does not count against the next one', async () => {
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

test('a test that is asked for during an attempt does not wait for the next one', async () => {
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
