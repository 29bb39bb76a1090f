import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { messagesOf } from '../../sdk/events.ts'
import { Berth, type BerthEvent } from '../../sdk/index.ts'
import { listen } from './harness/listener.ts'

type Answer = (reply: ServerResponse, request: IncomingMessage) => void

/** A client of a stream that answers each connection in its own way; the last one also all that follow. */
async function streaming(
  ...answers: Answer[]
): Promise<{ berth: Berth; asked: IncomingMessage[]; pauses: number[] }> {
  const asked: IncomingMessage[] = []
  const pauses: number[] = []
  const baseUrl = await listen((request, reply) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)]
    asked.push(request)
    answer?.(reply, request)
  })
  const sleep = async (ms: number) => void pauses.push(ms)
  const berth = new Berth({
    baseUrl,
    token: 't',
    sleep,
    random: () => 1,
    retries: 0,
  })
  return { berth, asked, pauses }
}

const head = (reply: ServerResponse) =>
  reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
const happened = (event_id: string) => ({
  event_id,
  type: 'server.updated',
  created_at: '2026-11-20T12:00:00.000Z',
  data: { name: 'web-1' },
})
const block = (id: number) => `id: ${id}\ndata: ${JSON.stringify(happened(`${id}`))}\n\n`

async function take(stream: AsyncIterable<BerthEvent>, count: number): Promise<BerthEvent[]> {
  const taken: BerthEvent[] = []
  for await (const event of stream) if (taken.push(event) === count) break
  return taken
}

test('events come as they happen, with their id, type and what the API showed', async () => {
  const { berth, asked } = await streaming((reply) => head(reply).write(`:hello\n\n${block(1)}${block(2)}`))
  expect(await take(berth.events(), 2)).toEqual([happened('1'), happened('2')])
  expect(asked[0]?.url).toBe('/v1/events/stream')
  expect(asked[0]?.headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer t' })
  expect(asked[0]?.headers).not.toHaveProperty('last-event-id')
})

test('a stream that breaks is taken up behind the last event that came whole', async () => {
  const { berth, asked } = await streaming(
    (reply) => head(reply).write(`${block(7)}id: 8\ndata: {"hal`, () => reply.destroy()),
    (reply) => reply.writeHead(503).end(),
    (reply) => reply.destroy(),
    (reply) => head(reply).write(block(8)),
  )
  const states: boolean[] = []
  const events = await take(berth.events({ after: '6', onConnection: (isOpen) => states.push(isOpen) }), 2)
  expect(events.map(({ event_id }) => event_id)).toEqual(['7', '8'])
  expect(states).toEqual([true, false, false, false, true])
  expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual(['6', '7', '7', '7'])
})

test('a stream that breaks before its first event is taken up where the service said that it began', async () => {
  const { berth, asked } = await streaming(
    (reply) => head(reply).write('retry: 2000\nid: 6\n\n', () => reply.destroy()),
    (reply) => head(reply).write(':\nid: 7\n\n', () => reply.destroy()),
    (reply) => head(reply).write(block(8)),
  )
  await take(berth.events(), 1)
  expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '6', '7'])
})

test('pauses grow while nothing comes, and the service may ask for longer ones', async () => {
  const { berth, pauses } = await streaming(
    (reply) => head(reply).end(`retry: 400\n\n${block(1)}`),
    (reply) => head(reply).end(),
    (reply) => head(reply).end(),
    (reply) => head(reply).write(block(2)),
  )
  await take(berth.events(), 2)
  expect(pauses).toEqual([400, 500, 1000])
})

test('a refusal ends the stream, at its start and later', async () => {
  const refuse: Answer = (reply) =>
    reply
      .writeHead(401, { 'content-type': 'application/problem+json' })
      .end('{"status":401,"code":"token_revoked","detail":"It was ended.","request_id":"r"}')
  const first = await streaming(refuse)
  await expect(take(first.berth.events(), 1)).rejects.toMatchObject({ code: 'token_revoked' })
  const later = await streaming((reply) => head(reply).end(block(1)), refuse)
  await expect(take(later.berth.events(), 2)).rejects.toMatchObject({ code: 'token_revoked' })
})

test('a stream that never connects reports an error', async () => {
  const { berth } = await streaming((reply) => reply.destroy())
  await expect(take(berth.events(), 1)).rejects.toThrow("can't be reached")
  const page = await streaming((reply) => reply.setHeader('content-type', 'text/html').end('<h1>'))
  await expect(take(page.berth.events(), 1)).rejects.toMatchObject({ code: 'unexpected_reply' })
})

test('a stream ends when its signal is aborted, and the connection with it', async () => {
  const closed = Promise.withResolvers<void>()
  const { berth } = await streaming((reply) => {
    reply.on('close', closed.resolve)
    head(reply).write(block(1))
  })
  const caller = new AbortController()
  const seen: string[] = []
  const reading = (async () => {
    for await (const { event_id } of berth.events({ signal: caller.signal })) {
      seen.push(event_id)
      caller.abort(new Error('enough'))
    }
  })()
  await expect(reading).rejects.toThrow('enough')
  expect(seen).toEqual(['1'])
  await closed.promise
})

test('a stream that is left closes its connection', async () => {
  const closed = Promise.withResolvers<void>()
  const { berth } = await streaming((reply) => {
    reply.on('close', closed.resolve)
    head(reply).write(block(1))
  })
  await take(berth.events(), 1)
  await closed.promise
})

test('the format is read however it is cut into chunks', async () => {
  const text =
    '\uFEFFid: 1\r\nevent: a\r\ndata: é\r\ndata:two\r\n\r\n:ping\n\nid\ndata\n\nretry: x\rdata:  3\r\rdata: lost'
  const bytes = new TextEncoder().encode(text)
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
        controller.close()
      },
    })
    const messages: unknown[] = []
    for await (const message of messagesOf(body)) messages.push(message)
    expect(messages).toEqual([{ id: '1', data: 'é\ntwo' }, { id: '', data: '' }, { data: ' 3' }])
  }
})
