import { createConnection } from 'node:net'
import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { order } from '../harness/ordering.ts'

/** The service's reply to bytes that no HTTP client would send. */
function answer(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', (part) => {
      text += part
    })
    socket.once('close', () => resolve(text))
    socket.once('error', reject)
  })
}

test('bytes that are not HTTP are answered with a problem document and a request id', async () => {
  const t = await testApp()
  const { port } = new URL(await t.app.http.listen({ port: 0, host: '127.0.0.1' }))
  for (const bytes of [
    'garbage\r\n\r\n',
    'FOO /v1/zones HTTP/1.1\r\nhost: a\r\n\r\n',
    'POST /v1/servers HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n',
    `GET /v1/zones HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
  ]) {
    const [head = '', body = ''] = (await answer(Number(port), bytes)).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(head).toContain('content-type: application/problem+json')
    expect(head).toMatch(/x-request-id: [0-9a-f-]{36}/)
    expect(head).toContain('ratelimit-policy: "anonymous"')
    expect(JSON.parse(body)).toMatchObject({ code: 'bad_request', status: Number(head.slice(9, 12)) })
  }
})

test('a request of HTTP/1.1 without a Host is refused with a problem, and counted; one of 1.0 needs none', async () => {
  const t = await testApp()
  const { port } = new URL(await t.app.http.listen({ port: 0, host: '127.0.0.1' }))
  const ask = async (request: string) =>
    (await answer(Number(port), `${request}\r\nconnection: close\r\n\r\n`)).split('\r\n\r\n')
  for (const path of ['/v1/zones', '/v1/openapi.json', '/nothing']) {
    const [head = '', body = ''] = await ask(`GET ${path} HTTP/1.1`)
    expect(head).toMatch(/^HTTP\/1\.1 400 /)
    expect(head).toContain('content-type: application/problem+json')
    expect(head).toContain('ratelimit-policy: "anonymous"')
    expect(JSON.parse(body)).toMatchObject({ code: 'bad_request', status: 400, instance: path })
    expect(body).toContain('Host')
  }
  expect((await ask('GET /v1/openapi.json HTTP/1.1\r\nhost:'))[0]).toMatch(/^HTTP\/1\.1 200 /)
  expect((await ask('GET /v1/openapi.json HTTP/1.0'))[0]).toMatch(/^HTTP\/1\.1 200 /)
})

test('a request with an unknown Expect header is answered like any other', async () => {
  const t = await testApp()
  const { port } = new URL(await t.app.http.listen({ port: 0, host: '127.0.0.1' }))
  const request = 'GET /v1/zones HTTP/1.1\r\nhost: a\r\nexpect: more\r\nconnection: close\r\n\r\n'
  const reply = await answer(Number(port), request)
  expect(reply).toMatch(/^HTTP\/1\.1 401 /)
  expect(reply).toContain('"code":"missing_token"')
})

test('a Content-Type over 200 bytes is refused before anything parses it', async () => {
  const t = await testApp()
  const send = (path: string, type: string) => t.call('POST', path, '{"name":"x"}', { 'content-type': type })
  const slow = `application/json;${' '.repeat(15_500)}charset`
  const before = process.threadCpuUsage()
  for (const path of ['/account/projects', '/nothing'])
    expect(await send(path, slow)).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  const { user } = process.threadCpuUsage(before)
  expect(user / 1000).toBeLessThan(200)
  expect((await send('/account/projects', `application/json; charset=utf-8${' '.repeat(169)}`)).status).toBe(
    201,
  )
})

test('a body in thousands of tiny pieces is refused while it comes', async () => {
  const t = await testApp()
  const { port } = new URL(await t.app.http.listen({ port: 0, host: '127.0.0.1' }))
  const head = (size: number, count: number) =>
    `POST /v1/account/projects HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${t.token}\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${`${size.toString(16)}\r\n${' '.repeat(size)}\r\n`.repeat(count)}d\r\n{"name": "x"}\r\n0\r\n\r\n`
  expect(await answer(Number(port), head(1, 10_000))).toMatch(/^HTTP\/1\.1 400 /)
  expect(await answer(Number(port), head(1, 400))).toMatch(/^HTTP\/1\.1 201 /)
  expect(await answer(Number(port), head(64, 2_000))).toMatch(/^HTTP\/1\.1 201 /)
})

test('a client refused while still sending a long body is disconnected; one that has sent it is not', async () => {
  const t = await testApp()
  const { port } = new URL(await t.app.http.listen({ port: 0, host: '127.0.0.1' }))
  const ask = (length: number, body = '') =>
    answer(Number(port), `POST /v1/servers HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n${body}`)
  const early = await ask(2 * 1024 * 1024, '{')
  expect(early).toMatch(/^HTTP\/1\.1 401 /)
  expect(early).toMatch(/\r\nconnection: close\r\n/i)
  const last = 'GET /v1/zones HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
  expect((await ask(2, `{}${last}`)).match(/HTTP\/1\.1 401 /g)).toHaveLength(2)
})

test('ids in capitals name the same objects', async () => {
  const t = await testApp()
  const capitals = (id: string) => id.toUpperCase()
  const body = await order(t.call)
  const { body: me } = await t.call('GET', '/account/me')
  const reply = await t.call('POST', '/servers', {
    ...body,
    template_id: capitals(body.template_id),
    preset_id: capitals(body.preset_id),
    project_id: capitals(me.default_project_id),
  })
  expect(reply).toMatchObject({
    status: 202,
    body: { project_id: me.default_project_id, preset_id: body.preset_id },
  })
  expect((await t.call('GET', `/servers/${capitals(reply.body.server_id)}`)).status).toBe(200)
  expect((await t.call('GET', `/servers?project_id=${capitals(me.default_project_id)}`)).body.total).toBe(1)
})

test('if the database cannot be written, changes get 503 and reads continue', async () => {
  const t = await testApp()
  t.clock.advance(120_000)
  const full = Object.assign(new Error('database or disk is full'), { errcode: 13, code: 'ERR_SQLITE_ERROR' })
  const { transaction, updateTable } = t.db
  Object.assign(t.db, {
    updateTable: () => {
      throw full
    },
    transaction: () => {
      throw full
    },
  })
  try {
    expect((await t.call('GET', '/account/me')).status).toBe(200)
    expect(await t.call('POST', '/account/projects', { name: 'a' })).toMatchObject({
      status: 503,
      body: { code: 'backend_unavailable' },
      headers: { 'retry-after': '60' },
    })
  } finally {
    Object.assign(t.db, { transaction, updateTable })
  }
})
