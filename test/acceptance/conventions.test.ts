import { expect, test } from 'vitest'
import type { Reply } from '../harness/app.ts'
import { add, call, callAs, fresh, issues, makeStopped, NOBODY, order, schema } from './harness/client.ts'

const place = async () => {
  const { zone_slug, cpu_type } = await order()
  return new URLSearchParams({ zone_slug, cpu_type })
}

test('objects are bare, collections of the account are {items, total}, catalogue lists are arrays', async (t) => {
  const { server_id } = await makeStopped(t)
  for (const path of [
    ...['projects', 'ssh_keys', 'tokens', 'transactions'].map((name) => `/account/${name}`),
    '/servers',
    `/servers/${server_id}/operations`,
  ]) {
    const { body } = await call('GET', path)
    expect([path, Object.keys(body)]).toEqual([path, ['items', 'total']])
  }
  for (const path of ['/zones', '/templates', `/pricing/presets?${await place()}`, '/pricing/capacity'])
    expect([path, Array.isArray((await call('GET', path)).body)]).toEqual([path, true])
  expect((await call('GET', `/servers/${server_id}`)).body.server_id).toBe(server_id)
})

test('ids that are made are UUIDs of version 7; those of the catalogue stay, of version 5', async (t) => {
  const versionOf = (id: string) => id[14]
  const project = await add(t, 'projects', { name: 'x' })
  expect(versionOf(project.project_id)).toBe('7')
  const templates = (await call('GET', '/templates')).body
  const presets = (await call('GET', `/pricing/presets?${await place()}`)).body
  for (const id of [templates[0].template_id, presets[0].preset_id]) expect(versionOf(id)).toBe('5')
  expect((await call('GET', '/templates')).body).toEqual(templates)
})

test('a path id that is no UUID is a 404, and its case does not matter', async (t) => {
  for (const id of ['1', 'me', 'x'.repeat(300), '%00', `${NOBODY}0`, '😀', '..%2f..'])
    expect([id, await call('GET', `/servers/${encodeURI(id)}`)]).toMatchObject([id, { status: 404 }])
  const { project_id } = await add(t, 'projects', { name: 'x' })
  const shouted = await call('PATCH', `/account/projects/${project_id.toUpperCase()}`, { name: 'y' })
  expect(shouted).toMatchObject({ status: 200, body: { project_id, name: 'y' } })
})

// ---- paging ----

const linksOf = (reply: Reply) =>
  new Map(
    [...(reply.headers.link ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, target = '', rel = '']) => {
      const query = new URLSearchParams(target.split('?')[1])
      return [rel, `${query.get('limit')}+${query.get('offset')}`]
    }),
  )

test('lists are paged by limit and offset, newest first; total counts all, Link names the pages', async (t) => {
  const before = (await call('GET', '/account/projects')).body.total
  const ids: string[] = []
  for (let at = 0; at < 5; at += 1) ids.unshift((await add(t, 'projects', { name: `p${at}` })).project_id)
  const page = (limit: number, offset: number) =>
    call('GET', `/account/projects?limit=${limit}&offset=${offset}`)
  const idsOf = (reply: Reply) => reply.body.items.map((item: { project_id: string }) => item.project_id)
  const total = before + 5
  const first = await page(2, 0)
  expect([idsOf(first), first.body.total]).toEqual([ids.slice(0, 2), total])
  const last = (Math.ceil(total / 2) - 1) * 2
  const names = { first: '2+0', next: '2+2', last: `2+${last}` }
  expect(Object.fromEntries(linksOf(first))).toEqual(names)
  const second = await page(2, 2)
  expect(idsOf(second)).toEqual(ids.slice(2, 4))
  expect(linksOf(second).get('prev')).toBe('2+0')
  const beyond = await page(2, total + 10)
  expect([idsOf(beyond), beyond.body.total, linksOf(beyond).has('next')]).toEqual([[], total, false])
})

test('limit is 1 to 200, offset 0 or more; anything else is a 422 that names the parameter', async () => {
  for (const query of ['limit=1', 'limit=200', 'offset=0', 'limit=200&offset=1000'])
    expect([query, (await call('GET', `/servers?${query}`)).status]).toEqual([query, 200])
  for (const [query, pointer, code] of [
    ['limit=0', '/limit', 'below_minimum'],
    ['limit=201', '/limit', 'above_maximum'],
    ['limit=-1', '/limit', 'below_minimum'],
    ['limit=ten', '/limit', 'wrong_type'],
    ['limit=1.5', '/limit', 'wrong_type'],
    ['limit=', '/limit', 'wrong_type'],
    ['limit=1&limit=2', '/limit', 'wrong_type'],
    ['offset=-1', '/offset', 'below_minimum'],
  ] as const) {
    const reply = await call('GET', `/servers?${query}`)
    expect([query, reply.status, issues(reply)]).toEqual([query, 422, [[pointer, code]]])
    expect(reply.body.errors[0].in).toBe('query')
  }
})

// ---- errors ----

test('every error is a problem document with a code, the path, and the id of the request', async () => {
  const replies = [
    await call('GET', '/nothing/here'),
    await call('PUT', '/account/me'),
    await call('POST', '/account/projects', '{'),
    await call('POST', '/account/projects', '{}', { 'content-type': 'text/plain' }),
    await call('POST', '/account/projects', JSON.stringify({ name: 'x'.repeat(256 * 1024) })),
    await call('POST', '/account/projects', {}),
    await call('GET', `/servers/${NOBODY}`),
    await callAs(null)('GET', '/account/me'),
  ]
  expect(replies.map(({ status, body }) => `${status} ${body.code}`)).toEqual([
    '404 route_not_found',
    '405 method_not_allowed',
    '400 invalid_json',
    '415 unsupported_media_type',
    '413 payload_too_large',
    '422 validation_failed',
    '404 server_not_found',
    '401 missing_token',
  ])
  for (const { status, headers, body } of replies) {
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(body).toMatchObject({ status, request_id: headers['x-request-id'] })
    expect(body.instance).toMatch(/^\/v1\//)
    expect(JSON.stringify(body)).not.toMatch(/<html|node_modules|\.ts:\d|select .* from/i)
  }
})

test('a path that is there says in Allow which methods it takes', async () => {
  const allow = async (path: string) => (await call('PUT', path)).headers.allow
  expect(await allow('/servers')).toBe('GET, HEAD, POST')
  expect(await allow(`/servers/${NOBODY}`)).toBe('GET, HEAD, PATCH, DELETE')
  expect(await allow(`/servers/${NOBODY}/start`)).toBe('POST')
})

test('a body has up to 256 KiB', async (t) => {
  const padded = (bytes: number) => `{"name":"wide"${' '.repeat(bytes - 15)}}`
  const reply = await call('POST', '/account/projects', padded(256 * 1024))
  expect(reply.status).toBe(201)
  t.onTestFinished(async () => void (await call('DELETE', `/account/projects/${reply.body.project_id}`)))
  expect((await call('POST', '/account/projects', padded(256 * 1024 + 1))).status).toBe(413)
})

test('all that is wrong with a request is said at once, each with field, pointer and code', async () => {
  const reply = await call('POST', '/servers', {
    cpu_type: 'arm',
    plan_type: 'preset',
    name: '-web-',
    labels: { env: 5 },
    ssh_key_ids: 'all',
  })
  expect(reply.status).toBe(422)
  expect(issues(reply).sort()).toEqual([
    ['/cpu_type', 'not_in_enum'],
    ['/labels/env', 'wrong_type'],
    ['/name', 'invalid_format'],
    ['/preset_id', 'required'],
    ['/ssh_key_ids', 'wrong_type'],
    ['/template_id', 'required'],
    ['/zone_slug', 'required'],
  ])
  for (const issue of reply.body.errors)
    expect(issue).toMatchObject({ in: 'body', field: expect.any(String), message: expect.any(String) })
})

test('an unknown field of a body is refused with the nearest known one, and so is an unknown query parameter', async () => {
  const reply = await call('POST', '/account/projects', { name: 'x', descripton: 'y' })
  expect([reply.status, issues(reply)]).toEqual([422, [['/descripton', 'unknown_field']]])
  expect(reply.body.errors[0].message).toContain('description')
  const query = await call('GET', '/servers?zone=local-1')
  expect([query.status, issues(query)]).toEqual([422, [['/zone', 'unknown_field']]])
  expect(query.body.errors[0].message).toContain('zone_slug')
  expect((await call('GET', '/zones?colour=blue')).status).toBe(422)
})

test('the token is looked at before the path, the path before the body, the body before the state', async (t) => {
  const nonsense = { nonsense: true }
  expect((await callAs(null)('PATCH', `/servers/${NOBODY}`, nonsense)).status).toBe(401)
  expect((await call('PATCH', `/servers/${NOBODY}`, nonsense)).status).toBe(404)
  const { server_id } = await makeStopped(t)
  expect((await call('POST', `/servers/${server_id}/stop`, nonsense)).status).toBe(422)
  expect((await call('POST', `/servers/${server_id}/stop`)).status).toBe(409)
})

// ---- headers ----

test('every reply tells the rate limit that holds: RateLimit-Policy and RateLimit', async () => {
  const ofRead = (await call('GET', '/account/me')).headers
  expect(ofRead['ratelimit-policy']).toMatch(/^"reads";q=\d+;w=60$/)
  expect(ofRead.ratelimit).toMatch(/^"reads";r=\d+;t=\d+$/)
  const ofWrite = (await call('POST', '/account/projects', {})).headers
  expect(ofWrite['ratelimit-policy']).toMatch(/^"writes";q=\d+;w=60$/)
  const ofNobody = (await callAs(null)('GET', '/account/me')).headers
  expect(ofNobody['ratelimit-policy']).toMatch(/^"anonymous";q=\d+;w=60$/)
})

test('the catalogue may be kept for as long as it says, and answers 304 to who has it', async () => {
  for (const [path, cacheControl] of [
    ['/zones', 'private, max-age=60'],
    ['/templates', 'private, max-age=60'],
    [`/pricing/limits?${await place()}`, 'private, max-age=60'],
    [`/pricing/presets?${await place()}`, 'no-cache'],
    ['/pricing/capacity', 'no-cache'],
  ] as const) {
    const first = await call('GET', path)
    expect([path, first.headers['cache-control']]).toEqual([path, cacheControl])
    // Volatile fields may have changed, and each process of a service reads them by itself.
    const again = async () => {
      const looks = [await call('GET', path), await call('GET', path), await call('GET', path)]
      const tags = looks.map(({ headers }) => headers.etag).join(', ')
      return [path, await call('GET', path, undefined, { 'if-none-match': tags })]
    }
    await expect.poll(again, { timeout: 10_000 }).toMatchObject([path, { status: 304, body: '' }])
    expect((await call('GET', path, undefined, { 'if-none-match': '"other"' })).status).toBe(200)
  }
  for (const path of ['/account/me', '/account/projects', '/servers'])
    expect((await call('GET', path)).headers['cache-control']).toBe('no-store')
})

test('a PATCH with the ETag of an older look is a 412 precondition_failed', async (t) => {
  const { server_id } = await makeStopped(t)
  const path = `/servers/${server_id}`
  const { etag = '' } = (await call('GET', path)).headers
  expect((await call('PATCH', path, { name: 'one' }, { 'if-match': etag })).status).toBe(200)
  expect(await call('PATCH', path, { name: 'two' }, { 'if-match': etag })).toMatchObject({
    status: 412,
    body: { code: 'precondition_failed' },
  })
  expect((await call('GET', path)).body.name).toBe('one')
})

test('HEAD answers as GET does, without the body', async () => {
  const [get, head] = [await call('GET', '/zones'), await call('HEAD', '/zones')]
  expect([head.status, head.body, head.headers.etag]).toEqual([200, '', get.headers.etag])
})

// ---- repeats ----

test('a POST that is repeated with its Idempotency-Key gets the first reply, and makes nothing twice', async (t) => {
  const key = { 'idempotency-key': fresh('key') }
  const body = { name: fresh('once') }
  const first = await call('POST', '/account/projects', body, key)
  t.onTestFinished(async () => void (await call('DELETE', `/account/projects/${first.body.project_id}`)))
  const total = (await call('GET', '/account/projects')).body.total
  const again = await call('POST', '/account/projects', body, key)
  expect(first.headers['idempotency-replayed']).toBeUndefined()
  expect(again).toMatchObject({
    status: 201,
    body: first.body,
    headers: { 'idempotency-replayed': 'true', location: first.headers.location },
  })
  expect((await call('GET', '/account/projects')).body.total).toBe(total)
})

test('another body with the same key is idempotency_key_reused; a key has 1 to 255 characters', async () => {
  const quote = await order()
  const key = { 'idempotency-key': fresh('key') }
  expect((await call('POST', '/pricing/quote', quote, key)).status).toBe(200)
  expect(await call('POST', '/pricing/quote', { ...quote, name: 'other' }, key)).toMatchObject({
    status: 422,
    body: { code: 'idempotency_key_reused' },
  })
  const withKey = async (length: number) =>
    (
      await call('POST', '/pricing/quote', quote, {
        'idempotency-key': fresh('').padEnd(length, 'x').slice(0, length),
      })
    ).status
  expect([await withKey(255), await withKey(256), await withKey(0)]).toEqual([200, 400, 400])
})

test('two requests with one key at the same instant make one thing', async (t) => {
  const body = { name: fresh('race') }
  const key = { 'idempotency-key': fresh('key') }
  const replies = await Promise.all([1, 2, 3, 4].map(() => call('POST', '/account/projects', body, key)))
  const made = replies.filter(({ status }) => status === 201)
  const ids = new Set(made.map((reply) => reply.body.project_id))
  for (const id of ids) t.onTestFinished(async () => void (await call('DELETE', `/account/projects/${id}`)))
  expect(ids.size).toBe(1)
  for (const reply of replies.filter(({ status }) => status !== 201))
    expect(reply).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } })
  const { items } = (await call('GET', '/account/projects')).body
  expect(items.filter((item: { name: string }) => item.name === body.name)).toHaveLength(1)
})

// ---- versioning ----

test('all paths are under the version prefix /v1, and nothing is there without it', async () => {
  expect(schema.document.servers.map((server) => server.url)).toEqual(['/v1'])
  expect(await call('GET', '/../v2/servers')).toMatchObject({
    status: 404,
    body: { code: 'route_not_found' },
  })
})

test('deprecated routes say so in their replies', async () => {
  const reads = Object.entries(schema.document.paths).flatMap(([path, { get }]) =>
    // A stream has no end.
    get && path !== '/events/stream' ? [{ path, get }] : [],
  )
  expect(reads.length).toBeGreaterThan(10)
  for (const { path, get } of reads) {
    const { headers } = await call('GET', path.replace(/\{\w+\}/g, NOBODY))
    expect([path, headers.deprecation !== undefined]).toEqual([path, get.deprecated ?? false])
  }
})
