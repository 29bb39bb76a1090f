import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { record } from '../../../api/events/outbox.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import {
  deliver,
  deliverAll,
  endpoint,
  hook,
  LOOPBACK,
  project,
  type Received,
  verifiedHook,
} from '../harness/endpoint.ts'

const ok = (_: Received, reply: ServerResponse) => void reply.end()
const refuse = (_: string, reply: ServerResponse) => void reply.writeHead(404).end()
const MINUTE = 60_000

async function another(t: TestApp): Promise<TestApp> {
  const accountId = await t.makeAccount()
  const call = t.callAs(await t.makeToken(['read', 'write'], { accountId }))
  return { ...t, accountId, call }
}

/** Events of an account, as many as it likes. */
async function happen(t: TestApp, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({
    accountId: t.accountId,
    type: 'balance.low' as const,
    data: { n },
    at: t.clock.now(),
  }))
  await t.db.transaction().execute((tx) => record(tx, events))
}

test('73 writes with 20 webhooks to a stranger cause 20 requests, and then a few a minute', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, challenges, url } = await endpoint(ok, refuse)
  const ids: string[] = []
  for (let count = 0; count < 20; count++) ids.push((await hook(t, url, ['*'])).body.webhook_id)
  for (let count = 0; count < 26; count++) {
    await project(t, `${count}`)
    for (const id of ids.slice(0, 2)) await t.call('PATCH', `/webhooks/${id}`, { is_enabled: true })
    await deliver(t)
  }
  expect([challenges.length, received.length]).toEqual([20, 0])
  // However often all are asked for, an account has one a minute.
  for (let minute = 0; minute < 30; minute++) {
    for (const id of ids) await t.call('PATCH', `/webhooks/${id}`, { is_enabled: true })
    t.clock.advance(MINUTE)
    await deliver(t)
  }
  expect(challenges.length).toBeLessThanOrEqual(20 + 31)
  expect(received).toEqual([])
})

test('one address gets few challenges, however many accounts and names lead to it', async () => {
  const t = await testApp({
    webhookAllow: LOOPBACK,
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
  })
  const { challenges, port } = await endpoint(ok, refuse)
  for (let account = 0; account < 12; account++) {
    const other = await another(t)
    for (let count = 0; count < 20; count++)
      await hook(other, `http://h${account}-${count}.example:${port}/`, ['*'])
    await deliver(t)
  }
  // 100 of the address, which the accounts divide among them as they come: 20 each, then 16, 14, … 8.
  const first = challenges.length
  expect(first).toBeLessThanOrEqual(180)
  t.clock.advance(MINUTE)
  await deliver(t)
  // 30, and turns that were given before the last ones came.
  expect(challenges.length - first).toBeLessThanOrEqual(60)
})

test('names are resolved for challenges no more often than challenges are sent', async () => {
  let lookups = 0
  const t = await testApp({
    lookup: async () => {
      lookups += 1
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    },
  })
  const { webhook_id } = (await hook(t, 'https://nobody.example/')).body
  for (let count = 0; count < 60; count++) {
    await t.call('PATCH', `/webhooks/${webhook_id}`, { url: `https://n${count}.example/`, is_enabled: true })
    await deliver(t)
  }
  expect(lookups).toBe(20)
})

test('deliveries beyond a destination’s limit arrive later, complete and in order', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { received, url } = await endpoint(ok)
  for (let count = 0; count < 5; count++) await verifiedHook(t, `${url}/${count}`, ['balance.low'])
  await happen(t, 100)
  await deliver(t)
  expect(received).toHaveLength(200)
  const begun = t.clock.now()
  await deliverAll(t)
  expect((t.clock.now() - begun) / 1000).toBeGreaterThan(29)
  expect((t.clock.now() - begun) / 1000).toBeLessThan(40)
  expect(received).toHaveLength(500)
  for (let count = 0; count < 5; count++) {
    const told = received
      .filter(({ path }) => path === `/${count}`)
      .map(({ body }) => JSON.parse(body).data.n)
    expect(told).toEqual(Array.from({ length: 100 }, (_, n) => n))
  }
})

test('an account that sends too much to a destination delays no other account, there or elsewhere', async () => {
  const t = await testApp({
    webhookAllow: LOOPBACK,
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
  })
  const { received, port } = await endpoint(ok)
  const shared = `http://shared.example:${port}`
  for (let count = 0; count < 5; count++) await verifiedHook(t, `${shared}/greedy`, ['balance.low'])
  const other = await another(t)
  await verifiedHook(other, `${shared}/honest`, ['balance.low'])
  await verifiedHook(other, `http://own.example:${port}/own`, ['balance.low'])
  await verifiedHook(t, `http://own.example:${port}/greedy-own`, ['webhook.updated'])
  await happen(t, 200)
  for (let count = 0; count < 5; count++) {
    await deliver(t)
    t.clock.advance(1_000)
  }
  await happen(other, 20)
  await deliver(t)
  const count = (path: string) => received.filter((one) => one.path === path).length
  expect([count('/honest'), count('/own')]).toEqual([20, 20])
  expect(count('/greedy')).toBeLessThan(300)
})

test('endpoints that hang take their account’s share of a destination, and other accounts keep theirs', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const held: ServerResponse[] = []
  const { received, url } = await endpoint(({ path }, reply) =>
    path === '/honest' ? void reply.end() : void held.push(reply),
  )
  const accounts = [t, await another(t), await another(t), await another(t)]
  for (const account of accounts)
    for (let count = 0; count < 8; count++) await verifiedHook(account, `${url}/hangs`, ['balance.low'])
  const honest = await another(t)
  await verifiedHook(honest, `${url}/honest`, ['balance.low'])
  for (const account of accounts) await happen(account, 1)
  await t.app.events.relay()
  await t.app.webhooks.tick()
  await expect.poll(() => held.length).toBeGreaterThan(0)
  await happen(honest, 1)
  await t.app.events.relay()
  await t.app.webhooks.tick()
  await expect.poll(() => received.some(({ path }) => path === '/honest')).toBe(true)
  expect(held.length).toBeLessThanOrEqual(8 + 8 + 5 + 4)
  for (const reply of held) reply.end()
})
