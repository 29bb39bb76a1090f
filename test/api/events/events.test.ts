import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { record } from '../../../api/events/outbox.ts'
import { numberEvents } from '../../../api/events/store.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'

// biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the assertion that made it
type Event = any

/** All events of the test's account, read page by page. */
async function all(t: TestApp, limit = 200): Promise<Event[]> {
  const events: Event[] = []
  for (;;) {
    const after = events.length > 0 ? `&after=${events.at(-1).event_id}` : ''
    const { status, body } = await t.call('GET', `/events?limit=${limit}${after}`)
    if (status !== 200) throw new Error(JSON.stringify(body))
    if (body.items.length === 0) return events
    events.push(...body.items)
  }
}

const ids = ({ items }: { items: Event[] }): string[] => items.map(({ event_id }) => event_id)

const told = (events: Event[]) =>
  events.map(({ type, data }) => (data.new_status ? `${data.old_status} → ${data.new_status}` : type))

test('the life of a server is reported event by event, each with the server as the API showed it', async () => {
  const t = await testApp()
  const before = (await all(t)).length
  const id = await make(t)
  const shown = (await t.call('GET', `/servers/${id}`)).body
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  await t.call('PATCH', `/servers/${id}`, { name: 'renamed' })
  await t.call('PATCH', `/servers/${id}`, { cpu: 2, ram_mb: 2048, disk_gb: 40 })
  await t.finish()
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const events = (await all(t)).slice(before)
  expect(told(events)).toEqual([
    'server.created',
    'creating → running',
    'operation.succeeded',
    'running → stopping',
    'stopping → stopped',
    'operation.succeeded',
    'server.updated',
    'stopped → resizing',
    'resizing → stopped',
    'server.updated',
    'operation.succeeded',
    'stopped → deleting',
    'server.deleted',
    'operation.succeeded',
  ])
  const [created, running] = events
  expect(created.data).toMatchObject({
    server_id: id,
    status: 'creating',
    current_operation: { type: 'create' },
  })
  // Where it is reached is the installation's affair, not part of its row.
  const { ssh: _, ...row } = shown
  expect(running.data).toEqual({ ...row, old_status: 'creating', new_status: 'running' })
  expect(events[9].data).toMatchObject({ name: 'renamed', cpu: 2, disk_gb: 40 })
})

test('changes without a request are events too: a crash, a guest that shuts down, an empty balance', async () => {
  const t = await testApp({ balance: '100' })
  const id = await make(t)
  const statuses = async (since: number) =>
    told((await all(t)).slice(since)).filter((line) => line.includes('→'))
  let seen = (await all(t)).length
  t.driver.turnsOffByItself(id, 'crashed')
  await t.app.reconciler.look()
  await t.finish()
  t.driver.turnsOffByItself(id, 'guest_shutdown')
  await t.app.reconciler.look()
  expect(await statuses(seen)).toEqual(['running → starting', 'starting → running', 'running → stopped'])
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  seen = (await all(t)).length
  // Past the end of the balance, but owing less than was paid: the time of grace begins.
  t.clock.advance(300 * 3600_000)
  await t.app.billing.look()
  t.clock.advance(25 * 3600_000)
  await t.app.billing.look()
  await t.finish()
  expect(await statuses(seen)).toEqual(['running → stopping', 'stopping → suspended'])
  expect(told((await all(t)).slice(seen))).toContain('balance.depleted')
  seen = (await all(t)).length
  await post(t.db, t.clock, { accountId: t.accountId, type: 'payment', amount: 10_000_000, description: '' })
  await t.app.billing.look()
  await t.finish()
  expect(told((await all(t)).slice(seen))).toEqual([
    'balance.topped_up',
    'suspended → starting',
    'starting → running',
    'operation.succeeded',
  ])
})

test('changes of projects, SSH keys, tokens and balances are events, which contain no token value', async () => {
  const t = await testApp()
  const project = (await t.call('POST', '/account/projects', { name: 'Shop' })).body
  await t.call('PATCH', `/account/projects/${project.project_id}`, { name: 'Store' })
  await t.call('DELETE', `/account/projects/${project.project_id}`)
  const key = (await t.call('POST', '/account/ssh_keys', { name: 'k', public_key: ed25519() })).body
  await t.call('DELETE', `/account/ssh_keys/${key.ssh_key_id}`)
  const token = (await t.call('POST', '/account/tokens', { name: 'ci', scopes: ['read'] })).body
  await t.call('DELETE', `/account/tokens/${token.token_id}`)
  const events = await all(t)
  expect(told(events)).toEqual([
    'project.created',
    'balance.topped_up',
    'token.created',
    'project.created',
    'project.updated',
    'project.deleted',
    'ssh_key.created',
    'ssh_key.deleted',
    'token.created',
    'token.revoked',
  ])
  expect(events[4].data).toMatchObject({ project_id: project.project_id, name: 'Store' })
  expect(events[7].data).toEqual(key)
  expect(JSON.stringify(events)).not.toContain(token.token)
})

test('a request that fails or changes nothing makes no event', async () => {
  const t = await testApp()
  const id = await make(t)
  const before = (await all(t)).length
  await t.call('POST', `/servers/${id}/start`)
  await t.call('POST', '/servers', await order(t.call, { cpu: 1 }))
  await t.call('POST', '/account/projects', { name: '' })
  await t.call('POST', '/pricing/quote', await order(t.call))
  await t.call('PATCH', `/servers/${id}`, { labels: {} })
  expect((await all(t)).slice(before)).toEqual([])
})

test('a token sees the events of the areas that it may read, and never those of another account', async () => {
  const t = await testApp()
  await make(t)
  const types = async (...scopes: Parameters<TestApp['makeToken']>) => {
    const { body } = await t.callAs(await t.makeToken(...scopes))('GET', '/events')
    return [...new Set<string>(body.items.map(({ type }: Event) => type.split('.')[0]))].sort()
  }
  expect(await types(['account:read'])).toEqual(['balance', 'project', 'token'])
  expect(await types(['servers:read'])).toEqual(['operation', 'server'])
  expect(await types(['read'])).toEqual(['balance', 'operation', 'project', 'server', 'token'])
  const accountId = await t.makeAccount()
  expect(await types(['servers:read'], { accountId })).toEqual([])
  const writer = t.callAs(await t.makeToken(['account:write', 'servers:write']))
  expect((await writer('GET', '/events')).body).toMatchObject({
    code: 'insufficient_scope',
    accepted_scopes: ['account:read', 'read', 'servers:read'],
  })
})

test('pages follow each other by the last event that was seen, and Link leads to the next', async () => {
  const t = await testApp()
  for (let count = 0; count < 7; count++) await t.call('POST', '/account/projects', { name: `p${count}` })
  const events = await all(t)
  expect(await all(t, 2)).toEqual(events)
  const first = await t.call('GET', '/events?limit=4')
  expect(first.body.total).toBe(events.length)
  const next = /<\/v1([^>]*)>; rel="next"/.exec(first.headers.link ?? '')?.[1] ?? ''
  const second = await t.call('GET', next)
  expect(second.body).toEqual({ items: events.slice(4, 8), total: events.length - 4 })
  const unknown = await t.call('GET', `/events?after=${NOBODY}`)
  expect(unknown).toMatchObject({ status: 422, body: { errors: [{ field: 'after', code: 'not_found' }] } })
  const other = t.callAs(await t.makeToken(['read'], { accountId: await t.makeAccount() }))
  expect((await other('GET', `/events?after=${events[0].event_id}`)).status).toBe(422)
})

test('the newest events come first on request, and their pages lead back to the oldest', async () => {
  const t = await testApp()
  const other = t.callAs(
    await t.makeToken(['account:read', 'account:write'], { accountId: await t.makeAccount() }),
  )
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    await t.call('POST', '/account/projects', { name })
    await other('POST', '/account/projects', { name })
  }
  const oldestFirst = ids((await t.call('GET', '/events')).body)
  const found: string[] = []
  let next: string | undefined = '/events?order=desc&limit=2'
  for (let left = oldestFirst.length; next; left -= 2) {
    const { body, headers } = await t.call('GET', next)
    expect([body.total, body.items.length]).toEqual([left, Math.min(2, left)])
    found.push(...ids(body))
    // Events during the reading move no page.
    await t.call('POST', '/account/projects', { name: `while ${left}` })
    expect(headers.link).toContain('</v1/events?limit=2&order=desc>; rel="first"')
    next = /<\/v1([^>]+)>; rel="next"/.exec(headers.link ?? '')?.[1]
  }
  expect(found).toEqual(oldestFirst.toReversed())
  expect((await t.call('GET', '/events?order=newest')).status).toBe(422)
  expect(ids((await t.call('GET', `/events?order=asc&after=${oldestFirst[0]}&limit=1`)).body)).toEqual([
    oldestFirst[1],
  ])
})

test('a reader misses nothing of transactions that end in another order than they began', async () => {
  const t = await testApp()
  const writers = 20
  const seen: string[] = []
  const look = async () => {
    const after = seen.length > 0 ? `&after=${seen.at(-1)}` : ''
    const { items } = (await t.call('GET', `/events?limit=200${after}`)).body
    seen.push(...items.map(({ event_id }: Event) => event_id))
  }
  const event = { accountId: t.accountId, type: 'balance.low' as const, data: {}, at: 0 }
  const write = async (round: number) => {
    const entered = Promise.withResolvers<void>()
    const written = t.db.transaction().execute(async (tx) => {
      await record(tx, [event, event])
      entered.resolve()
      // Held open for as long as a few turns of the loop, longer for some than for others.
      for (let turn = 0; turn < (round * 7) % 23; turn++) await new Promise(setImmediate)
    })
    await entered.promise
    await written
  }
  let isOver = false
  const reading = (async () => {
    while (!isOver) await look()
  })()
  const others = (async () => {
    // Another process that gives out positions at the same time.
    while (!isOver) await numberEvents(t.db, async () => {})
  })()
  await Promise.all(
    Array.from({ length: writers }, async (_, at) => {
      for (let round = 0; round < 5; round++) await write(at + round)
    }),
  )
  isOver = true
  await Promise.all([reading, others])
  await look()
  const rows = await t.db
    .selectFrom('events')
    .select('event_id')
    .where('account_id', '=', t.accountId)
    .execute()
  expect(rows.length).toBeGreaterThanOrEqual(writers * 10)
  expect(new Set(seen).size).toBe(seen.length)
  expect([...seen].sort()).toEqual(rows.map((row) => row.event_id).sort())
})

test('events keep the order of the changes although a clock was set back between them', async () => {
  const t = await testApp()
  await t.app.events.relay()
  // Their ids are in the order of the clock, which is set back an hour after each change.
  const eventIds = ['3', '2', '1'].map((hour) => `0${hour}a1fb44-5997-73df-a23c-ea72e7720849`)
  for (const eventId of eventIds)
    await record(t.db, [{ eventId, accountId: t.accountId, type: 'balance.low', data: {}, at: 0 }])
  await t.app.events.relay()
  expect(ids((await t.call('GET', '/events')).body).slice(-3)).toEqual(eventIds)
})

test('events from while the clock was ahead do not keep others from being forgotten', async () => {
  const t = await testApp()
  const day = 24 * 3600_000
  const write = (count: number, at: number) =>
    record(
      t.db,
      Array.from({ length: count }, () => ({ accountId: t.accountId, type: 'balance.low', data: {}, at })),
    )
  await t.app.events.relay()
  t.clock.advance(31 * day)
  await t.app.events.clean()
  await write(600, t.clock.now() + 365 * day)
  await t.app.events.relay()
  await write(700, t.clock.now())
  await t.app.events.relay()
  t.clock.advance(31 * day)
  await t.app.events.clean()
  expect((await t.call('GET', '/events')).body.total).toBe(600)
})

test('events are kept for 30 days, then deleted in small steps', async () => {
  const t = await testApp()
  const day = 24 * 3600_000
  const event = { accountId: t.accountId, type: 'balance.low' as const, data: {}, at: t.clock.now() }
  await t.db.transaction().execute((tx) =>
    record(
      tx,
      Array.from({ length: 1200 }, () => event),
    ),
  )
  await t.app.events.relay()
  t.clock.advance(29 * day)
  await t.call('POST', '/account/projects', { name: 'later' })
  await t.app.events.relay()
  await t.app.events.clean()
  expect((await t.call('GET', '/events')).body.total).toBeGreaterThan(1200)
  t.clock.advance(2 * day)
  await t.app.events.clean()
  expect(told((await t.call('GET', '/events')).body.items)).toEqual(['project.created'])
})
