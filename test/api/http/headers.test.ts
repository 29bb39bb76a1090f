import { createConnection } from 'node:net'
import { expect, test } from 'vitest'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make, NOBODY } from '../harness/ordering.ts'

const PROTECTIVE = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
}
const HSTS = 'strict-transport-security'

/** The service's reply to raw bytes. */
function answer(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write(bytes))
    socket.setEncoding('utf8').on('data', (part) => (text += part))
    socket.once('close', () => resolve(text))
    socket.once('error', reject)
  })
}

async function listening(t: TestApp): Promise<number> {
  return Number(new URL(await t.app.http.listen({ port: 0, host: '127.0.0.1' })).port)
}

interface Ask {
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE' | 'OPTIONS' | 'PUT'
  url: string
  status: number
  token?: string
  body?: string
  headers?: Record<string, string>
}

/** A request for each way in which something is answered. */
async function everyKind(t: TestApp): Promise<Ask[]> {
  const { token } = t
  const reader = await t.makeToken(['account:read'])
  const first = await t.call('GET', '/account/me')
  const server = await make(t)
  const { headers } = await t.call('GET', `/servers/${server}`)
  expect(first.status).toBe(200)
  return [
    ...['/healthz', '/readyz', '/v1/openapi.json', '/v1/docs/'].map((url) => ok(url)),
    { method: 'HEAD', url: '/healthz', status: 200 },
    { method: 'GET', url: '/', status: 302 },
    { method: 'GET', url: '/v1/docs', status: 301 },
    { method: 'GET', url: '/v1/docs/js/scalar.js', status: 200 },
    { method: 'GET', url: '/v1/docs/nothing/here', status: 404 },
    { method: 'GET', url: '/nothing', status: 404 },
    { method: 'GET', url: '/favicon.ico', status: 404 },
    ...['/%zz', '/v1/servers/%', '/v1/%E0%A4%A?a=1', '/*%ff'].map(
      (url): Ask => ({ method: 'GET', url, status: 400 }),
    ),
    { method: 'PUT', url: '/v1/zones', status: 405 },
    { method: 'OPTIONS', url: '/v1/zones', status: 405 },
    { method: 'GET', url: '/v1/zones', status: 401 },
    { method: 'GET', url: '/v1/zones', token, status: 200 },
    { method: 'HEAD', url: '/v1/zones', token, status: 200 },
    { method: 'GET', url: '/v1/zones', token: reader, status: 403 },
    { method: 'GET', url: `/v1/servers/${server}`, token, status: 304, headers: seen(headers.etag) },
    { method: 'GET', url: `/v1/servers/${NOBODY}`, token, status: 404 },
    { method: 'POST', url: '/v1/account/projects', token, body: '{"name":"x"}', status: 201 },
    { method: 'POST', url: '/v1/account/projects', token, body: '{', status: 400 },
    { method: 'POST', url: '/v1/account/projects', token, body: '{}', status: 422 },
    { method: 'POST', url: '/v1/account/projects', token, body: ' '.repeat(300_000), status: 413 },
    { method: 'DELETE', url: `/v1/servers/${server}`, token, status: 202 },
  ]
}

const ok = (url: string): Ask => ({ method: 'GET', url, status: 200 })
const seen = (etag = '') => ({ 'if-none-match': etag })

async function headersOf(
  t: TestApp,
  { method, url, token, body, headers = {}, status }: Ask,
  more: object = {},
) {
  const reply = await t.app.http.inject({
    method,
    url,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...headers,
      ...more,
    },
    ...(body ? { payload: body } : {}),
  })
  expect([method, url, reply.statusCode]).toEqual([method, url, status])
  return reply.headers
}

test('every reply keeps browsers from framing it, sniffing in it, running it, and telling where they came from', async () => {
  const t = await testApp()
  for (const ask of await everyKind(t)) {
    const headers = await headersOf(t, ask)
    expect([ask, headers]).toMatchObject([ask, PROTECTIVE])
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toMatch(/default-src '(none|self)'/)
    if (!ask.url.startsWith('/v1/docs')) expect(policy).toContain("default-src 'none'")
    else expect(policy).not.toMatch(/script-src[^;]*(unsafe|\*|http)/)
    expect(headers[HSTS]).toBeUndefined()
    for (const name of ['server', 'x-powered-by', 'access-control-allow-origin', 'set-cookie'])
      expect(headers[name]).toBeUndefined()
  }
})

test('behind a trusted proxy with TLS every reply says to come by TLS only; nobody else can make it say so', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1/32'] })
  for (const ask of await everyKind(t))
    expect((await headersOf(t, ask, { 'x-forwarded-proto': 'https' }))[HSTS]).toBe('max-age=31536000')
  const zones: Ask = { method: 'GET', url: '/v1/zones', status: 401 }
  expect((await headersOf(t, zones, { 'x-forwarded-proto': 'http' }))[HSTS]).toBeUndefined()
  const open = await testApp()
  expect((await headersOf(open, zones, { 'x-forwarded-proto': 'https' }))[HSTS]).toBeUndefined()
})

test('requests that Node’s own parser refuses get these headers too', async () => {
  const t = await testApp()
  const port = await listening(t)
  for (const bytes of [
    'garbage\r\n\r\n',
    'BREW /v1/zones HTTP/1.1\r\nhost: a\r\n\r\n',
    'GET /v1/zones HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n',
    'POST /v1/servers HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n',
    `GET /v1/zones HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
  ]) {
    const [head = ''] = (await answer(port, bytes)).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 4\d\d /)
    for (const [name, value] of Object.entries(PROTECTIVE)) expect(head).toContain(`${name}: ${value}`)
    expect(head).toContain("content-security-policy: default-src 'none'; frame-ancestors 'none'")
  }
})

test('a request with two Host headers is refused on every path, whatever they say', async () => {
  const t = await testApp()
  const port = await listening(t)
  for (const path of ['/v1/zones', '/v1/openapi.json', '/v1/docs/', '/healthz', '/readyz', '/', '/nothing'])
    for (const hosts of ['host: a\r\nhost: b', 'host: a\r\nHOST: a', 'host: a\r\nhost:']) {
      const reply = await answer(port, `GET ${path} HTTP/1.1\r\n${hosts}\r\nconnection: close\r\n\r\n`)
      expect([path, hosts, reply.slice(0, 13)]).toEqual([path, hosts, 'HTTP/1.1 400 '])
      expect(reply).toContain('more than one Host header')
    }
})

test('no filter, however long it may be, makes a Link longer than a proxy takes', async () => {
  const t = await testApp()
  for (const name of ['web-1', 'web-2', 'web-3']) await make(t, { name })
  const lists = [
    '/servers',
    '/operations',
    '/account/projects',
    '/account/transactions',
    '/account/audit',
    '/webhooks',
  ]
  const longest = (char: string) => ({
    name: char.repeat(63),
    zone_slug: char.repeat(64),
    label: `!${char.repeat(150)}`,
    status: 'running',
  })
  for (const path of lists)
    for (const char of ['a', 'ж', '💾', '%', '&'])
      for (const repeats of [1, 300]) {
        const filters = Object.entries(longest(char)).map(
          ([key, text]) => `${key}=${encodeURIComponent(text)}`,
        )
        const query = [...filters, ...Array(repeats).fill('limit=1')].join('&')
        const { status, headers } = await t.call('GET', `${path}?${query}&offset=1`)
        expect([200, 422, 431]).toContain(status)
        expect([path, char, (headers.link ?? '').length]).toSatisfy(([, , length]) => length < 4_000)
      }
  // The remaining part of the header leads to the client's address.
  const filter = `label=${encodeURIComponent(Array.from({ length: 32 }, (_, n) => `!a${n}`).join(','))}`
  const { headers } = await t.call('GET', `/servers?limit=1&${filter}&name=`)
  expect(headers.link).toContain('rel="first"')
})
