import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { record } from '../../../api/events/outbox.ts'
import { Streams } from '../../../api/events/streams.ts'
import { eventScopes } from '../../../api/features.ts'
import type { Actor } from '../../../api/http/contract/auth.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { NOBODY } from '../harness/ordering.ts'
import { streamer } from '../harness/sse.ts'

const project = (t: TestApp, name: string) => t.call('POST', '/account/projects', { name })

test('a stream brings what happens as it does, each event once and in the order of the list', async () => {
  const t = await testApp()
  const open = await streamer(t)
  await project(t, 'before')
  const { reply, listener } = await open(await t.makeToken(['read']))
  expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(reply.headers.get('cache-control')).toBe('no-store')
  for (const name of ['a', 'b', 'c']) {
    await project(t, name)
    await t.app.events.look()
  }
  const messages = await listener.take(3)
  const { items } = (await t.call('GET', '/events')).body
  expect(messages.map(({ event }) => event)).toEqual(items.slice(-3))
  expect(messages.map(({ id }) => id)).toEqual(
    items.slice(-3).map(({ event_id }: { event_id: string }) => event_id),
  )
})

test('a reader that returns with Last-Event-ID continues where it was, and so does the parameter after', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const token = await t.makeToken(['read'])
  const { items } = (await t.call('GET', '/events')).body
  for (let count = 0; count < 250; count++)
    await t.db
      .transaction()
      .execute((tx) =>
        record(tx, [{ accountId: t.accountId, type: 'balance.low', data: { count }, at: t.clock.now() }]),
      )
  const id = items.at(-1).event_id
  const first = await open(token, { 'last-event-id': id })
  const messages = await first.listener.take(120)
  first.hangUp()
  const second = await open(token, {}, `?after=${messages.at(-1)?.id}`)
  messages.push(...(await second.listener.take(130)))
  expect(messages.map(({ event }) => event.data.count)).toEqual(Array.from({ length: 250 }, (_, at) => at))
  const wrong = await open(token, { 'last-event-id': NOBODY })
  expect(wrong.reply.status).toBe(422)
  expect(await wrong.reply.json()).toMatchObject({ errors: [{ in: 'header', field: 'last-event-id' }] })
})

test('a stream on which nothing happens has a heartbeat, and shows a token only what it may read', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const { listener } = await open(await t.makeToken(['servers:read']))
  const next = listener.next()
  await t.app.events.look()
  await expect
    .poll(() => {
      t.clock.advance(15_000)
      return listener.heartbeats
    })
    .toBeGreaterThan(1)
  await project(t, 'not for servers:read')
  await t.db
    .transaction()
    .execute((tx) =>
      record(tx, [{ accountId: t.accountId, type: 'server.updated', data: {}, at: t.clock.now() }]),
    )
  await t.app.events.look()
  expect((await next)?.event.type).toBe('server.updated')
})

test('a reader disconnected before its first event gets everything since when it reconnects', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const token = await t.makeToken(['read'])
  const cutOff = async () => {
    const { listener, hangUp } = await open(token)
    const ended = listener.next().catch(() => null)
    await expect.poll(() => listener.lastId).not.toBe('')
    hangUp()
    expect(await ended).toBeNull()
    return listener.lastId
  }
  const since = async (id: string) => (await (await open(token, { 'last-event-id': id })).listener.take(1))[0]
  const { items } = (await t.call('GET', '/events')).body
  const seen = await cutOff()
  expect(seen).toBe(items.at(-1).event_id)
  await project(t, 'first')
  expect((await since(seen))?.event.data.name).toBe('first')
  // An account whose events are all forgotten has none to name.
  t.clock.advance(31 * 24 * 3600_000)
  await t.app.events.clean()
  const none = await cutOff()
  expect(none).toBe('00000000-0000-0000-0000-000000000000')
  await project(t, 'second')
  expect((await since(none))?.event.data.name).toBe('second')
  expect((await t.call('GET', `/events?after=${none}`)).body.items).toMatchObject([
    { data: { name: 'second' } },
  ])
})

test('a stream moves on, and has its heartbeat, while all that happens is hidden from its token', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const token = await t.makeToken(['servers:read'])
  const { listener, hangUp } = await open(token)
  const ended = listener.next().catch(() => null)
  await expect
    .poll(async () => {
      await project(t, 'hidden')
      await t.app.events.look()
      t.clock.advance(5_000)
      return listener.heartbeats
    })
    .toBeGreaterThan(1)
  hangUp()
  expect(await ended).toBeNull()
  const { items } = (await t.call('GET', '/events?limit=200')).body
  const at = items.findIndex(({ event_id }: { event_id: string }) => event_id === listener.lastId)
  expect(items[at]).toMatchObject({ type: 'project.created', data: { name: 'hidden' } })
  const back = await open(token, { 'last-event-id': listener.lastId })
  expect(back.reply.status).toBe(200)
})

test('a stream ends when its token is revoked or expires, before anything that happens later', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const made = (await t.call('POST', '/account/tokens', { name: 'short', scopes: ['read'] })).body
  const revoked = await open(made.token)
  const expiring = await open(await t.makeToken(['read'], { expiresAt: t.clock.now() + 60_000 }))
  const lasting = await open(await t.makeToken(['read']))
  await t.app.events.look()
  await t.call('DELETE', `/account/tokens/${made.token_id}`)
  t.clock.advance(60_000)
  await project(t, 'later')
  await t.app.events.look()
  expect(await lasting.listener.take(2)).toMatchObject([
    { event: { type: 'token.revoked' } },
    { event: { data: { name: 'later' } } },
  ])
  for (const { listener } of [revoked, expiring])
    for (let last = await listener.next(); last; last = await listener.next())
      expect(last.event.type).toBe('token.created')
})

test('a token holds five streams; a sixth is refused until one is closed', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const token = await t.makeToken(['read'])
  const streams = []
  for (let count = 0; count < 5; count++) streams.push(await open(token))
  const sixth = await open(token)
  expect(sixth.reply.status).toBe(429)
  expect(sixth.reply.headers.get('retry-after')).toBe('5')
  expect(await sixth.reply.json()).toMatchObject({ code: 'rate_limited' })
  streams[0]?.hangUp()
  await expect.poll(async () => (await open(token)).reply.status).toBe(200)
})

test('an account that has never paid holds two streams, and many such accounts keep nobody from a first one', async () => {
  const t = await testApp({ balance: '0' })
  const open = await streamer(t)
  for (const status of [200, 200, 429]) {
    const { reply } = await open(await t.makeToken(['read']))
    expect(reply.status).toBe(status)
    if (status === 429)
      expect(await reply.json()).toMatchObject({ detail: expect.stringContaining('2 open streams') })
  }

  const { db, clock } = t
  const streams = new Streams({
    ...{ db, clock, log: pino({ level: 'silent' }), eventScopes },
    access: { stillValid: async (actors) => new Set(actors) },
    hasPaid: async (accountId) => accountId === 'payer',
  })
  onTestFinished(() => streams.stop())
  const actorOf = (accountId: string, n: number): Actor => ({
    ...{ accountId, accountStatus: 'active', scopes: ['read'], tokenId: `${accountId}-${n}` },
    ...{
      projectId: null,
      isFrozen: false,
      person: null,
      statusReason: null,
      statusSince: null,
      terms: { percent: 0, presets: {} },
    },
  })
  const enter = (accountId: string, n = 0) =>
    streams.open(actorOf(accountId, n), undefined, new AbortController().signal)
  const crowd: Readable[] = []
  for (let n = 0; n < 1_000; n++) crowd.push(await enter(`free-${Math.floor(n / 2)}`, n))
  await expect(enter('free-0', 1_000)).rejects.toThrow('never paid can have 2')
  const payer = await enter('payer')
  const loser = crowd.at(-1)
  expect(await loser?.toArray()).toEqual([])
  for (const stream of [...crowd, payer]) stream.resume()
})

test('a client that does not read is disconnected, and nobody else waits for it', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const token = await t.makeToken(['read'])
  const address = t.app.http.server.address()
  if (typeof address !== 'object' || !address) throw new Error('the server has no address')
  const slow = connect(address.port, '127.0.0.1')
  onTestFinished(() => void slow.destroy())
  slow.pause()
  slow.write(`GET /v1/events/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`)
  const quick = await open(token)
  const other = await open(token)
  expect(other.reply.status).toBe(200)
  // More than the buffers between two processes hold.
  const data = { text: 'x'.repeat(20_000) }
  const event = { accountId: t.accountId, type: 'balance.low' as const, data, at: t.clock.now() }
  for (let round = 0; round < 10; round++)
    await t.db.transaction().execute((tx) =>
      record(
        tx,
        Array.from({ length: 100 }, () => event),
      ),
    )
  await t.app.events.look()
  expect(await quick.listener.take(1000)).toHaveLength(1000)
  const connections = () =>
    new Promise<number>((resolve) => t.app.http.server.getConnections((_, count) => resolve(count)))
  const before = await connections()
  t.clock.advance(31_000)
  await t.app.events.look()
  // The slow one, and `other`, which nobody reads from either.
  await expect.poll(connections).toBeLessThan(before)
  await project(t, 'after')
  await t.app.events.look()
  expect((await quick.listener.next())?.event.type).toBe('project.created')
})

test('the end of the service ends its streams cleanly', async () => {
  const t = await testApp()
  const open = await streamer(t)
  const { listener } = await open(await t.makeToken(['read']))
  await project(t, 'last')
  await t.app.events.look()
  expect((await listener.take(1))[0]?.event.data.name).toBe('last')
  await t.app.events.stop()
  expect(await listener.next()).toBeNull()
})
