import { expect, test } from 'vitest'
import { record } from '../../../api/events/outbox.ts'
import { FINISHED_KEPT } from '../../../api/webhooks/deliveries.ts'
import { claimWebhooks } from '../../../api/webhooks/store.ts'
import { CLEAR_AT_ONCE } from '../../../api/webhooks/worker.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { deliver, deliveries, endpoint, hook, LOOPBACK } from '../harness/endpoint.ts'

const MANY = 2 * CLEAR_AT_ONCE + 100

const events = (t: TestApp, count: number) =>
  t.db.transaction().execute((tx) =>
    record(
      tx,
      Array.from({ length: count }, (_, n) => ({
        accountId: t.accountId,
        type: 'balance.low' as const,
        data: { n },
        at: t.clock.now(),
      })),
    ),
  )

/** A webhook of an endpoint that is down, with very much that waits for it. */
async function waiting(t: TestApp, url: string): Promise<string> {
  const { webhook_id } = (await hook(t, url, ['balance.low'])).body
  for (let left = MANY; left > 0; left -= 1_000) await events(t, Math.min(left, 1_000))
  await t.app.events.relay()
  return webhook_id
}

const count = async (t: TestApp, status: 'pending' | 'failed') =>
  (await t.db.selectFrom('deliveries').select('delivery_id').where('status', '=', status).execute()).length

/** One look for what is due; a process that dies in the middle of it has done none of it. */
async function step(t: TestApp): Promise<void> {
  const by = { owner: 'dies', now: t.clock.now(), leaseMs: 60_000, limit: 10, perAccount: 10 }
  expect(await claimWebhooks(t.db, by)).toHaveLength(1)
  t.clock.advance(60_000)
  expect(await t.app.webhooks.tick()).toBe(1)
  await t.app.webhooks.settled()
}

test('deliveries that a webhook gives up fail at once, and are recorded in short steps', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint((_, reply) => reply.end())
  const id = await waiting(t, url)
  await t.call('PATCH', `/webhooks/${id}`, { is_enabled: false })
  const statuses = async () => new Set((await deliveries(t, id)).map((one: { status: string }) => one.status))
  expect([await statuses(), await count(t, 'failed')]).toEqual([new Set(['failed']), 0])
  await step(t)
  expect(await count(t, 'failed')).toBe(CLEAR_AT_ONCE)
  // Events after it form another queue.
  await t.call('PATCH', `/webhooks/${id}`, { is_enabled: true })
  await events(t, 1)
  await t.app.events.relay()
  await step(t)
  expect([await count(t, 'failed'), await count(t, 'pending'), received.length]).toEqual([
    2 * CLEAR_AT_ONCE,
    101,
    0,
  ])
  await deliver(t)
  expect([await count(t, 'pending'), received.length]).toEqual([0, 1])
  expect(await statuses()).toEqual(new Set(['failed', 'succeeded']))
})

test('a deleted webhook is gone at once, and its deliveries follow in short steps', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint((_, reply) => reply.end())
  const id = await waiting(t, url)
  expect((await t.call('DELETE', `/webhooks/${id}`)).status).toBe(204)
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ] as const)
    expect((await t.call(method, `/webhooks/${id}${path}`, method === 'PATCH' ? {} : undefined)).status).toBe(
      404,
    )
  expect((await t.call('GET', '/webhooks')).body).toEqual({ items: [], total: 0 })
  const another = { name: 'x', url, event_types: ['project.created'], is_enabled: false }
  for (let made = 0; made < 20; made++) expect((await t.call('POST', '/webhooks', another)).status).toBe(201)
  await events(t, 1)
  await t.app.events.relay()
  expect(await count(t, 'pending')).toBe(MANY)
  await step(t)
  expect(await count(t, 'pending')).toBe(MANY - CLEAR_AT_ONCE)
  await deliver(t)
  expect([await count(t, 'pending'), received.length]).toEqual([0, 0])
  const rows = await t.db.selectFrom('webhooks').select('webhook_id').execute()
  expect(rows.map((row) => row.webhook_id)).not.toContain(id)
})

test('a webhook keeps its newest thousand finished deliveries', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { url } = await endpoint((_, reply) => reply.end())
  const { webhook_id } = (await hook(t, url, ['balance.low'])).body
  await events(t, FINISHED_KEPT + 20)
  await t.app.events.relay()
  await t.db.updateTable('deliveries').set({ status: 'failed' }).execute()
  await events(t, 1)
  await deliver(t)
  const { total, items } = (await t.call('GET', `/webhooks/${webhook_id}/deliveries?limit=2`)).body
  expect(total).toBe(FINISHED_KEPT)
  expect(items.map(({ status }: { status: string }) => status)).toEqual(['succeeded', 'failed'])
})

test('a webhook that is deleted or disabled during an attempt stays so, whatever its result', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  let change = async () => {}
  const { received, url } = await endpoint(async (_, reply) => {
    await change()
    reply.writeHead(410).end()
  })
  const disabled = `/webhooks/${(await hook(t, url, ['balance.low'])).body.webhook_id}`
  change = async () => void (await t.call('PATCH', disabled, { is_enabled: false }))
  await events(t, 2)
  await deliver(t)
  expect((await t.call('GET', disabled)).body).toMatchObject({ is_enabled: false, disabled_reason: null })
  const deleted = `/webhooks/${(await hook(t, url, ['balance.low'])).body.webhook_id}`
  change = async () => void (await t.call('DELETE', deleted))
  await events(t, 2)
  await deliver(t)
  expect(received).toHaveLength(2)
  expect(await count(t, 'pending')).toBe(0)
  const types = (await t.call('GET', '/events?limit=200')).body.items.map((one: { type: string }) => one.type)
  expect(types).not.toContain('webhook.disabled')
  expect(types.at(-1)).toBe('webhook.deleted')
})
