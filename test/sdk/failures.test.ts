import { expect, test } from 'vitest'
import {
  Berth,
  BerthError,
  ConnectionError,
  type Fetch,
  isBerthError,
  TimeoutError,
} from '../../sdk/index.ts'
import { service } from './harness/client.ts'
import { listen, nobody } from './harness/listener.ts'

/** The error of a call that should fail. */
const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.fail('it went well'),
    (error: unknown) => error,
  )

/** A line that breaks after the service has done its work, the first times that something is asked. */
function breaking(times: number): { fetch: Fetch; asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    fetch: async (url, init) => {
      const reply = await fetch(url, init)
      asked.push(`${init.method} ${new URL(url).pathname}`)
      if (asked.length <= times) throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
      return reply
    },
  }
}

test('a refusal is an error with its code, its sentence and the id of the request', async () => {
  const { berth } = await service()
  const error = await failure(berth.servers.get('00000000-0000-7000-8000-000000000000'))
  expect(error).toBeInstanceOf(BerthError)
  expect(error).toMatchObject({
    status: 404,
    code: 'server_not_found',
    detail: 'Your account has no server with this id.',
    message: 'Your account has no server with this id. (server_not_found)',
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    errors: [],
  })
})

test('an invalid form is told field by field', async () => {
  const { berth, order } = await service()
  const error = await failure(berth.servers.create({ ...(await order()), name: '-', cpu: 0 }))
  if (!isBerthError(error, 'validation_failed')) throw error
  expect(error.errors.map(({ field, code }) => [field, code])).toEqual([
    ['cpu', 'below_minimum'],
    ['name', 'invalid_format'],
  ])
  expect(error.message).toMatch(
    /^2 values are invalid: see errors\. \(validation_failed\)\n {2}cpu: .+\n {2}name: /,
  )
})

test('the extra members of an error code are typed', async () => {
  const t = await service({ balance: '1' })
  const poor = await failure(t.berth.servers.create(await t.order()))
  if (!isBerthError(poor, 'insufficient_balance')) throw poor
  expect(poor.problem.available).toBe('1.00')

  const reader = t.client({ token: await t.makeToken(['account:read']) })
  const refused = await failure(reader.projects.create({ name: 'x' }))
  if (!isBerthError(refused, 'insufficient_scope')) throw refused
  expect(refused.problem.accepted_scopes).toEqual(['account:write', 'write'])
  expect(isBerthError(refused, 'quota_exceeded')).toBe(false)
})

test('a POST whose reply was lost is sent again, and makes nothing twice', async () => {
  const t = await service()
  const { fetch, asked } = breaking(2)
  const berth = t.client({ fetch })
  const project = await berth.projects.create({ name: 'once' })
  expect(asked).toEqual(Array(3).fill('POST /v1/account/projects'))
  const { items } = await t.berth.projects.list()
  expect(items.filter(({ name }) => name === 'once')).toEqual([project])
})

test('calls with one Idempotency-Key of the caller are one, even from two processes', async () => {
  const { berth } = await service()
  const options = { idempotencyKey: 'order-17' }
  const first = await berth.projects.create({ name: 'x' }, options)
  expect(await berth.projects.create({ name: 'x' }, options)).toEqual(first)
  const other = await failure(berth.projects.create({ name: 'y' }, options))
  expect(isBerthError(other, 'idempotency_key_reused')).toBe(true)
})

test('a quote makes nothing, and so leaves no key behind', async () => {
  const { berth, order, db } = await service()
  await berth.quote(await order())
  expect(await db.selectFrom('idempotency_keys').selectAll().execute()).toEqual([])
})

test('a PATCH or DELETE whose reply was lost is not sent again: it may have happened', async () => {
  const t = await service()
  const { project_id } = await t.berth.projects.create({ name: 'x' })
  const line = breaking(1)
  const error = await failure(t.client({ fetch: line.fetch }).projects.delete(project_id))
  expect(error).toBeInstanceOf(ConnectionError)
  expect(line.asked).toHaveLength(1)
})

test('a DELETE with a key is sent again if its reply was lost, and succeeds', async () => {
  const t = await service()
  const { project_id } = await t.berth.projects.create({ name: 'x' })
  const { fetch, asked } = breaking(1)
  await t.client({ fetch }).projects.delete(project_id, { idempotencyKey: 'gone' })
  expect(asked).toHaveLength(2)
})

test('a rate-limited call waits as long as the service says, for every method', async () => {
  const t = await service({ rateLimits: { reads: 2, writes: 2, anonymous: 10 } })
  const pauses: number[] = []
  const sleep = async (ms: number) => {
    pauses.push(ms)
    t.clock.advance(ms)
  }
  const berth = t.client({ sleep, random: () => 0 })
  for (let count = 0; count < 4; count += 1) await berth.zones.list()
  // 2 a minute: the third and the fourth wait 30 s each, and a little more.
  expect(pauses).toEqual([30_125, 30_125])
  const { project_id } = await berth.projects.create({ name: 'x' })
  await berth.projects.update(project_id, { name: 'y' })
  await berth.projects.delete(project_id)
  expect(pauses).toHaveLength(3)
})

test('a call that would have to wait longer than a minute fails instead', async () => {
  const baseUrl = await listen((_, reply) => {
    const problem = { status: 503, code: 'backend_unavailable', detail: 'Back tomorrow.', request_id: 'r1' }
    reply.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '86400' })
    reply.end(JSON.stringify(problem))
  })
  const error = await failure(new Berth({ baseUrl }).zones.list())
  expect(error).toMatchObject({ code: 'backend_unavailable', retryAfterMs: 86_400_000 })
})

test('pauses between tries double, up to the number of tries', async () => {
  let asked = 0
  const baseUrl = await listen((_, reply) => {
    asked += 1
    reply.writeHead(502).end()
  })
  const pauses: number[] = []
  const sleep = async (ms: number) => void pauses.push(ms)
  const error = await failure(new Berth({ baseUrl, sleep, random: () => 1, retries: 6 }).zones.list())
  expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000])
  expect(asked).toBe(7)
  expect(error).toMatchObject({ code: 'unexpected_reply', status: 502 })
})

test('a refusal that no repeat would better is not repeated', async () => {
  const t = await service()
  let asked = 0
  const counting: Fetch = (url, init) => {
    asked += 1
    return fetch(url, init)
  }
  const error = await failure(t.client({ token: 'berth_wrong', fetch: counting }).zones.list())
  expect(isBerthError(error, 'invalid_token')).toBe(true)
  expect(asked).toBe(1)
})

test('where nothing listens, the error says where and what to look at', async () => {
  const baseUrl = await nobody()
  const error = await failure(new Berth({ baseUrl, retries: 0 }).zones.list())
  expect(error).toBeInstanceOf(ConnectionError)
  expect(error).toHaveProperty(
    'message',
    `${baseUrl} can't be reached (ECONNREFUSED). Check the address, and that Berth is running there.`,
  )
})

test('a port that is not for HTTP is named as what is wrong', async () => {
  const error = await failure(new Berth({ baseUrl: 'http://127.0.0.1:25', retries: 0 }).zones.list())
  expect(error).toHaveProperty(
    'message',
    "http://127.0.0.1:25 can't be reached: port 25 belongs to another protocol, so HTTP clients refuse it. Check the address.",
  )
})

test('a service that never answers is given up after the timeout', async () => {
  const baseUrl = await listen(() => {})
  const error = await failure(new Berth({ baseUrl, retries: 0 }).zones.list({ timeoutMs: 50 }))
  expect(error).toBeInstanceOf(TimeoutError)
  expect(error).toHaveProperty('message', expect.stringMatching(/^No reply to GET \/zones within 0\.05 s\./))
})

test('a reply that is cut off in the middle is a lost connection, and asked for again', async () => {
  let asked = 0
  const baseUrl = await listen((_, reply) => {
    asked += 1
    reply.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).flushHeaders()
    reply.write('[', () => reply.destroy())
  })
  const error = await failure(new Berth({ baseUrl, retries: 1, sleep: async () => {} }).zones.list())
  expect(error).toBeInstanceOf(ConnectionError)
  expect(asked).toBe(2)
})

test('another program at the address is told from Berth', async () => {
  const baseUrl = await listen((_, reply) => reply.setHeader('content-type', 'text/html').end('<h1>Hello'))
  const error = await failure(new Berth({ baseUrl }).zones.list())
  expect(error).toMatchObject({
    code: 'unexpected_reply',
    detail: `${baseUrl}/zones answered 200 with text/html, not JSON. Check the address, and whether a proxy is in between.`,
  })
})

test.each([301, 302, 303, 307, 308])('a redirect by %i is told, and not followed', async (status) => {
  let followed = 0
  const elsewhere = await listen((_, reply) => {
    followed += 1
    reply.end()
  })
  const baseUrl = await listen((_, reply) => reply.writeHead(status, { location: elsewhere }).end())
  const { projects } = new Berth({ baseUrl, token: 'secret' })
  expect(await failure(projects.create({ name: 'Shop' }))).toMatchObject({
    code: 'unexpected_reply',
    detail: expect.stringContaining(`answered ${status} with a redirect to ${elsewhere}.`),
  })
  expect(followed).toBe(0)
})

test('a reply that only looks like Berth’s is an unexpected reply', async () => {
  const problem = { status: 400, code: 'x', detail: 'x', request_id: 'x' }
  const broken = ['{', 'null', '{}', '5', ...[5, [null], [{}]].map((errors) => ({ ...problem, errors }))]
  const replies = [
    { status: 200, type: 'application/json', body: '{' },
    ...broken.map((body) => ({ status: 400, type: 'application/problem+json', body })),
  ]
  for (const { status, type, body } of replies) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const baseUrl = await listen((_, reply) => reply.writeHead(status, { 'content-type': type }).end(text))
    const error = await failure(new Berth({ baseUrl }).zones.list())
    expect(error).toMatchObject({ code: 'unexpected_reply', status })
  }
})

test('an aborted call fails with the caller’s reason, also between retries', async () => {
  const t = await service()
  await expect(t.berth.zones.list({ signal: AbortSignal.abort(new Error('no need')) })).rejects.toThrow(
    'no need',
  )
  const caller = new AbortController()
  const baseUrl = await listen((_, reply) => {
    reply.writeHead(503, { 'retry-after': '50' }).end()
    setImmediate(() => caller.abort(new Error('no time')))
  })
  await expect(new Berth({ baseUrl }).zones.list({ signal: caller.signal })).rejects.toThrow('no time')
})

test('an error of the caller’s own function is not taken for a lost connection', async () => {
  const { berth } = await service()
  const onReply = () => {
    throw new Error('mine')
  }
  await expect(berth.zones.list({ onReply })).rejects.toThrow(/^mine$/)
})

test('an invalid address or id is reported before anything is sent', async () => {
  expect(() => new Berth({ baseUrl: 'cloud.example' })).toThrow('"cloud.example" is not a valid baseUrl')
  for (const baseUrl of [
    'http://a b',
    'http://me:secret@a',
    'http://127.0.0.1:99999',
    'http://a/?b',
    'http://a/#b',
  ])
    expect(() => new Berth({ baseUrl })).toThrow('is not a valid baseUrl')
  const { berth } = await service()
  await expect(berth.servers.delete('')).rejects.toThrow('server_id must be an id, not "".')
  await expect(berth.servers.delete('../account')).rejects.toThrow('server_id must be an id')
})

test('a token that is none is refused before anything is sent, and not told', () => {
  for (const token of ['one\nsecret', 'a secret', 'secret…', '\u001bsecret']) {
    const make = () => new Berth({ baseUrl: 'http://127.0.0.1:1', token })
    expect(make).toThrow('The token is not valid')
    expect(make).not.toThrow('secret')
  }
})

test('the address of the service will do, with or without /v1 and slashes', async () => {
  const t = await service()
  const address = t.baseUrl.replace(/\/v1$/, '')
  for (const baseUrl of [address, `${address}/`, `${address}/v1`, `${address}/v1/`])
    expect(await t.client({ baseUrl }).zones.list()).toHaveLength(1)
})
