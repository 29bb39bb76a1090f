import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { timeouts } from '../../../api/http/connections.ts'
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

test('connections on which nothing comes, a head that ends too late, and a body that stalls are ended', async () => {
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

test('a request with two Host headers is refused', async () => {
  const t = await testApp()
  const port = await listening(t)
  const reply = await connect(
    port,
    'GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\nhost: b\r\nconnection: close\r\n\r\n',
  ).text
  expect(reply).toMatch(/^HTTP\/1\.1 400 /)
  expect(reply).toContain('"code":"bad_request"')
})

test('every reply tells browsers to keep it out of frames, scripts and referrers; of TLS only a trusted proxy is believed', async () => {
  const https = { 'x-forwarded-proto': 'https' }
  const [plain, proxied] = [await testApp(), await testApp({ trustProxy: ['127.0.0.1/32'] })]
  for (const path of ['/zones', '/nothing', '/openapi.json', '/docs', '/servers/%zz']) {
    const { headers } = await plain.call('GET', path, undefined, https)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    })
    expect(headers['strict-transport-security']).toBeUndefined()
    // What the router can't read has no caller yet.
    if (path.includes('%')) continue
    const secured = await proxied.call('GET', path, undefined, https)
    expect([path, secured.headers['strict-transport-security']]).toEqual([path, 'max-age=31536000'])
  }
})

test('a Link header stays short enough for every client', async () => {
  const t = await testApp()
  const long = (length: number) => encodeURIComponent('ж'.repeat(length))
  expect((await t.call('GET', `/servers?name=${long(2_000)}`)).status).toBe(422)
  expect((await t.call('GET', `/servers?zone_slug=${long(2_000)}`)).status).toBe(422)
  // The longest that a client may ask for, in letters that a URL writes as three.
  const selector = `a=${'ж'.repeat(190)}`
  expect((await t.call('GET', `/servers?label=${long(2_000)}`)).status).toBe(422)
  const { status, headers } = await t.call(
    'GET',
    `/servers?name=${long(63)}&zone_slug=${long(64)}&label=${encodeURIComponent(selector)}&offset=1`,
  )
  expect(status).toBe(200)
  expect(headers.link?.length).toBeLessThan(8_192)
})
