import type { ServerResponse } from 'node:http'
import { setImmediate as breathe } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { record } from '../../../api/events/outbox.ts'
import { PER_ACCOUNT } from '../../../api/webhooks/worker.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { deliver, endpoint, hook, LOOPBACK, project, verifiedHook } from '../harness/endpoint.ts'

const EVENTS = 100
/** Two of each kind, so that a thousand deliveries are made. */
const KINDS = ['good', 'slow', 'flaky', 'redirect', 'hang'] as const

/** A reply that takes its time. */
async function later(reply: ServerResponse): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await breathe()
  reply.end()
}

/** When something is due next, once nothing is being sent but to endpoints that hang; null where nothing is. */
async function nextOf(t: TestApp, hanging: () => number): Promise<number | null> {
  for (;;) {
    const rows = await t.db
      .selectFrom('webhooks')
      .select(['url', 'next_run_at'])
      .where('next_run_at', 'is not', null)
      .orderBy('next_run_at')
      .execute()
    const busy = rows.filter((row) => (row.next_run_at ?? 0) <= t.clock.now())
    if (busy.length === hanging() && busy.every(({ url }) => url.includes('/hang')))
      return rows[0]?.next_run_at ?? null
    await breathe()
  }
}

/** @returns their ids by their paths */
async function makeHooks(t: TestApp, port: number): Promise<Map<string, string>> {
  const hooks = new Map<string, string>()
  for (const kind of KINDS)
    for (const number of [1, 2]) {
      const path = `/${kind}${number}`
      // Each at a host of its own: what one is sent at once has its limit.
      const url = `http://${kind}${number}.example:${port}${path}`
      const body = { name: path, url, event_types: ['balance.low'] }
      hooks.set(path, (await t.call('POST', '/webhooks', body)).body.webhook_id)
    }
  return hooks
}

async function pendingOf(t: TestApp, webhookIds: readonly string[]): Promise<number> {
  const { count } = await t.db
    .selectFrom('deliveries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('webhook_id', 'in', webhookIds)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow()
  return count
}

test('1,000 deliveries to endpoints that fail, hang and redirect are all accounted for, and hold up no other', async () => {
  const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
  const t = await testApp({ webhookAllow: LOOPBACK, lookup })
  const counts = new Map<string, number>()
  let hanging = 0
  const { received, port } = await endpoint(({ path }, reply) => {
    const count = (counts.get(path) ?? 0) + 1
    counts.set(path, count)
    if (path.startsWith('/hang')) {
      hanging += 1
      return void reply.once('close', () => (hanging -= 1))
    }
    if (path.startsWith('/slow')) return void later(reply)
    if (path.startsWith('/redirect')) return void reply.writeHead(307, { location: '/good1' }).end()
    if (path.startsWith('/flaky') && count % 3 === 1) return void reply.destroy()
    if (path.startsWith('/flaky') && count % 3 === 2) return void reply.writeHead(500).end()
    reply.end()
  })
  const hooks = await makeHooks(t, port)
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    accountId: t.accountId,
    type: 'balance.low' as const,
    data: { n },
    at: t.clock.now(),
  }))
  await t.db.transaction().execute((tx) => record(tx, events))
  await t.app.events.relay()
  await t.app.webhooks.start({ isAlone: true })
  const ids = [...hooks].filter(([path]) => /good|slow/.test(path)).map(([, id]) => id)
  // The clock stands still, and with it the patience with those that hang: nobody waits for them.
  await expect.poll(() => pendingOf(t, ids)).toBe(0)
  expect(await pendingOf(t, [...hooks.values()])).toBeGreaterThan(0)
  for (let due = await nextOf(t, () => hanging); due !== null; due = await nextOf(t, () => hanging)) {
    t.clock.advance(hanging > 0 ? 10_000 : Math.max(1, due - t.clock.now()))
    // Their connections end in a moment, while the clock must not run on: nobody has a lease for ever.
    for (let turn = 0; hanging > 0 && turn < 1_000; turn++) await breathe()
    // It may be just about to fall asleep.
    t.app.webhooks.wake()
  }

  const rows = await t.db.selectFrom('deliveries').selectAll().execute()
  expect(rows).toHaveLength(1_000)
  expect(rows.filter((row) => row.status === 'pending')).toEqual([])
  for (const [path, id] of hooks) {
    const own = rows.filter((row) => row.webhook_id === id)
    const isGood = !/hang|redirect/.test(path)
    expect([path, new Set(own.map((row) => row.status))]).toEqual([
      path,
      new Set([isGood ? 'succeeded' : 'failed']),
    ])
    const told = received.filter((one) => one.path === path).map((one) => JSON.parse(one.body).data.n)
    const all = Array.from({ length: EVENTS }, (_, n) => n)
    // In order, and nothing left out: what failed came again before anything else.
    if (isGood) expect([...new Set(told)]).toEqual(all)
    else expect(new Set(told)).toEqual(new Set([0]))
    if (isGood) expect(told).toEqual([...told].sort((a, b) => a - b))
    const { is_enabled } = (await t.call('GET', `/webhooks/${id}`)).body
    expect([path, is_enabled]).toEqual([path, isGood])
  }
}, 120_000)

test('an account whose endpoints all hang takes a few of the places, and leaves the others to others', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const held: ServerResponse[] = []
  const hanging = await endpoint((_, reply) => void held.push(reply))
  for (let count = 0; count < 20; count++) await hook(t, hanging.url, ['project.created'])
  await deliver(t)
  const other = {
    ...t,
    call: t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() })),
  }
  const good = await endpoint((_, reply) => reply.end())
  await verifiedHook(other, good.url, ['project.created'])
  await project(t, 'a')
  await project(other, 'b')
  await t.app.events.relay()
  expect(await t.app.webhooks.tick()).toBe(PER_ACCOUNT + 1)
  await expect.poll(() => [held.length, good.received.length]).toEqual([PER_ACCOUNT, 1])
  // A place that is free is taken by the next.
  t.clock.advance(1)
  for (const reply of held.splice(0)) reply.end()
  await t.app.webhooks.settled()
  await t.app.webhooks.tick()
  await expect.poll(() => held.length).toBe(PER_ACCOUNT)
})
