import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { timeouts } from '../../../api/http/limits/connections.ts'
import { type TestApp, testApp } from '../../harness/app.ts'

async function listening(t: TestApp, soon = false): Promise<number> {
  const { server } = t.app.http
  if (soon)
    Object.assign(server, { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 50 })
  return Number(new URL(await t.app.http.listen({ port: 0, host: '127.0.0.1' })).port)
}

function connect(port: number, bytes = ''): { socket: Socket; text: Promise<string> } {
  const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write(bytes))
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  socket.on('error', () => {})
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.once('close', () => resolve(text))
  return { socket, text: promise }
}

test('idle connections, a head that is too slow, and a body that stalls are disconnected', async () => {
  expect(timeouts).toMatchObject({ headersTimeout: 15_000, requestTimeout: 30_000 })
  const t = await testApp()
  expect(t.app.http.server).toMatchObject({ headersTimeout: 15_000, requestTimeout: 30_000 })
  const port = await listening(t, true)
  const head = `POST /v1/account/projects HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${t.token}\r\n`
  const stalled = [
    '',
    'GET /v1/zones HTTP/1.1\r\nhost: a\r\n',
    `${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  ].map((bytes) => connect(port, bytes).text)
  for (const text of await Promise.all(stalled)) expect(text).toMatch(/^$|^HTTP\/1\.1 408 /)
})

test('a refused body of up to 1 MiB is read to its end, so that the refusal arrives; one that stalls is ended', async () => {
  const t = await testApp()
  const port = await listening(t, true)
  const length = 300 * 1024
  const head = `POST /v1/account/projects HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${t.token}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  const sender = connect(port, head)
  const [refusal] = await once(sender.socket, 'data')
  expect(refusal).toMatch(/^HTTP\/1\.1 413 /)
  sender.socket.write(' '.repeat(length))
  sender.socket.write('GET /v1/openapi.json HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  expect(await sender.text).toMatch(/^HTTP\/1\.1 413 [\s\S]*HTTP\/1\.1 200 /)
  expect(await connect(port, head).text).toMatch(/^HTTP\/1\.1 413 /)
})

test('an address holds at most 256 connections open, and a neighbour is answered', async () => {
  const t = await testApp()
  const port = await listening(t)
  const held = Array.from({ length: 256 }, () => connect(port))
  await Promise.all(held.map(({ socket }) => once(socket, 'connect')))
  const request = 'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
  expect(await connect(port, request).text).toBe('')
  const neighbour = createConnection({ host: '127.0.0.1', port, localAddress: '127.0.0.2' })
  onTestFinished(() => void neighbour.destroy())
  neighbour.write(request)
  expect(String((await once(neighbour, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
})

test('a proxy that is trusted holds as many connections as it has callers', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1/32'] })
  const port = await listening(t)
  const held = Array.from({ length: 300 }, () => connect(port))
  await Promise.all(held.map(({ socket }) => once(socket, 'connect')))
  const request = 'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
  expect(await connect(port, request).text).toMatch(/^HTTP\/1\.1 200 /)
})

const DESCRIPTION = 'GET /v1/openapi.json HTTP/1.1\r\nhost: a\r\n'

/** How often each status is in what came. */
function statusesOf(text: string): Record<string, number> {
  const statuses: Record<string, number> = {}
  for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d+) /g))
    statuses[status] = (statuses[status] ?? 0) + 1
  return statuses
}

test('replies that a client does not read fill no memory, and others still get theirs', async () => {
  const t = await testApp()
  const port = await listening(t)
  const silent = connect(port, `${DESCRIPTION}\r\n`.repeat(200))
  silent.socket.pause()
  // A neighbour, who reads, is served; by then all of these have been replied to.
  const reader = createConnection({ host: '127.0.0.1', port, localAddress: '127.0.0.2' })
  onTestFinished(() => void reader.destroy())
  reader.setEncoding('utf8').write(`${DESCRIPTION}connection: close\r\n\r\n`)
  let read = ''
  for await (const part of reader) read += part
  expect(statusesOf(read)).toEqual({ 200: 1 })
  silent.socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  silent.socket.resume()
  const { 200: served = 0, 429: refused = 0 } = statusesOf(await silent.text)
  expect(served + refused).toBe(201)
  // 16 MiB of a megabyte each, and what the system's own buffers took.
  expect(served).toBeGreaterThan(10)
  expect(refused).toBeGreaterThan(100)
  const after = connect(port, `${DESCRIPTION}connection: close\r\n\r\n`)
  expect(statusesOf(await after.text)).toEqual({ 200: 1 })
})

test('a client that reads a reply very slowly is disconnected when its time is up', async () => {
  const t = await testApp()
  const port = await listening(t)
  const slow = connect(port, `${DESCRIPTION}\r\n`.repeat(40))
  slow.socket.pause()
  const reader = createConnection({ host: '127.0.0.1', port, localAddress: '127.0.0.2' })
  onTestFinished(() => void reader.destroy())
  // Requests begin in rounds: when these have been answered, each of the others has begun.
  reader.write(
    `${'GET /v1/nothing HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(40)}${DESCRIPTION}connection: close\r\n\r\n`,
  )
  for await (const _ of reader);
  const closed = once(slow.socket, 'close')
  const drop = async () => {
    slow.socket.resume()
    await once(slow.socket, 'data')
    slow.socket.pause()
  }
  for (let drops = 0; drops < 11; drops++) {
    t.clock.advance(10_000)
    await drop()
  }
  t.clock.advance(timeouts.replyTimeout - 110_000)
  // Bytes in the system's buffers still arrive; then the connection ends.
  slow.socket.resume()
  await closed
  expect(statusesOf(await slow.text)[200]).toBeLessThan(40)
})

test('unread bytes of a closed connection no longer count against its sender', async () => {
  const t = await testApp()
  const port = await listening(t)
  for (let round = 0; round < 3; round++) {
    const silent = connect(port, `${DESCRIPTION}\r\n`.repeat(100))
    await once(silent.socket, 'readable')
    silent.socket.destroy()
    await silent.text
  }
  const after = connect(port, `${DESCRIPTION}connection: close\r\n\r\n`)
  expect(statusesOf(await after.text)).toEqual({ 200: 1 })
})
