import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { issues, make, NOBODY, order } from '../harness/ordering.ts'

test('every error is problem+json with a request id, and repeats nothing of the inside', async () => {
  const t = await testApp()
  const replies = [
    await t.call('GET', '/nothing/here'),
    await t.call('PUT', '/account/me'),
    await t.call('POST', '/account/projects', '{'),
    await t.call('GET', `/servers/${NOBODY}`),
    await t.call('GET', '/account/projects?limit=0'),
    await t.callAs(null)('GET', '/account/me'),
    await t.call('GET', '/servers/%zz'),
    await t.call('GET', `/servers/${'x'.repeat(5_000)}`),
  ]
  for (const { status, headers, body } of replies) {
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/problem\+json/),
      'cache-control': 'no-store',
    })
    expect(body).toMatchObject({
      type: `urn:berth:problem:${body.code}`,
      title: expect.any(String),
      status,
      detail: expect.any(String),
      instance: expect.stringMatching(/^\/v1\//),
      request_id: headers['x-request-id'],
    })
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(JSON.stringify(body)).not.toMatch(/node_modules|\.ts:|sqlite|postgres|select |FST_/i)
  }
  expect(replies.map(({ status, body }) => `${status} ${body.code}`)).toEqual([
    '404 route_not_found',
    '405 method_not_allowed',
    '400 invalid_json',
    '404 server_not_found',
    '422 validation_failed',
    '401 missing_token',
    '400 bad_request',
    '404 server_not_found',
  ])
})

test('an existing path reports its methods, and an unknown path is a 404', async () => {
  const t = await testApp()
  const allowed = async (method: 'PUT' | 'POST' | 'DELETE' | 'PATCH' | 'GET', path: string) => {
    const reply = await t.call(method, path)
    return reply.status === 405 ? reply.headers.allow : reply.body.code
  }
  expect(await allowed('PUT', '/account/projects')).toBe('GET, HEAD, POST')
  expect(await allowed('POST', '/account/me')).toBe('GET, HEAD')
  expect(await allowed('PUT', `/servers/${NOBODY}`)).toBe('GET, HEAD, PATCH, DELETE')
  expect(await allowed('GET', `/servers/${NOBODY}/start`)).toBe('POST')
  expect(await allowed('DELETE', `/servers/${NOBODY}/operations/${NOBODY}`)).toBe('GET, HEAD')
  expect(await allowed('POST', `/account/projects/${NOBODY}`)).toBe('GET, HEAD, PATCH, DELETE')
  for (const path of [
    '/',
    '',
    '/account',
    '/account/me/',
    '/Account/me',
    '/servers//start',
    `/servers/${NOBODY}/explode`,
    '/docs/nothing',
    '/docs/js/nothing.js',
  ])
    expect([path, await allowed('GET', path)]).toEqual([path, 'route_not_found'])
  expect(await allowed('POST', '/docs')).toBe('GET, HEAD')
  expect(await allowed('DELETE', '/openapi.json')).toBe('GET, HEAD')
  const outside = await t.app.http.inject({ method: 'GET', url: '/v2/servers' })
  expect([outside.statusCode, outside.json().code]).toEqual([404, 'route_not_found'])
})

test('a path without /v1, with it twice, misspelled, or with a slash at the end is refused with the right one', async () => {
  const { app } = await testApp()
  const advice = async (url: string) => {
    const { statusCode, body } = await app.http.inject({ method: 'GET', url })
    return [statusCode, JSON.parse(body).detail.replace(/^No such path: .*?\. /, '')]
  }
  for (const [path, meant] of [
    ['/servers', '/v1/servers'],
    ['/servers/', '/v1/servers'],
    [`/servers/${NOBODY}/start?x=1`, `/v1/servers/${NOBODY}/start`],
    ['/v1/servers/', '/v1/servers'],
    [`/v1/servers/${NOBODY}/`, `/v1/servers/${NOBODY}`],
    ['/v1/v1/account/me', '/v1/account/me'],
    ['/openapi.json', '/v1/openapi.json'],
    ['/v1/server', '/v1/servers'],
    ['/server', '/v1/servers'],
    [`/v1/server/${NOBODY}/rebot?x=1`, `/v1/servers/${NOBODY}/reboot`],
    ['/v1/acount/me', '/v1/account/me'],
    ['/v1/firewals', '/v1/firewalls'],
  ] as const)
    expect([path, await advice(path)]).toEqual([path, [404, `Did you mean ${meant}?`]])
  for (const path of [
    '/v1/servers//start',
    '/v1/nothing',
    '/nothing/',
    '/v1/sxrvxxs',
    `/${'servers/'.repeat(100)}`,
  ])
    expect([path, await advice(path)]).toEqual([path, [404, 'The API is documented at /v1/docs.']])
})

test('a body is in UTF-8: other bytes are refused, not replaced', async () => {
  const t = await testApp()
  const send = (payload: Buffer, type = 'application/json') =>
    t.app.http.inject({
      method: 'POST',
      url: '/v1/account/projects',
      headers: { authorization: `Bearer ${t.token}`, 'content-type': type },
      payload,
    })
  const named = (...bytes: number[]) =>
    Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')])
  for (const bytes of [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
    const reply = await send(named(...bytes))
    expect([bytes, reply.statusCode, reply.json().code]).toEqual([bytes, 400, 'invalid_json'])
  }
  expect((await send(named(0xef, 0xbf, 0xbd))).json().name).toBe('\ufffd')
  expect((await send(named(0xc3, 0xa9))).json().name).toBe('é')
  for (const charset of ['latin1', 'utf-16', '"iso-8859-1"', 'UTF-7'])
    for (const type of [`application/json; charset=${charset}`, `application/json;x=y;CHARSET=${charset}`]) {
      const reply = await send(named(0x61), type)
      expect([type, reply.statusCode, reply.json().code]).toEqual([type, 415, 'unsupported_media_type'])
    }
  for (const charset of ['utf-8', 'UTF-8', 'utf8', '"utf-8"']) {
    const reply = await send(named(0x61), `application/json; charset=${charset}`)
    expect([charset, reply.statusCode]).toEqual([charset, 201])
  }
})

test('a body has to be JSON, and not too long', async () => {
  const t = await testApp()
  const post = (body: string | undefined, headers: Record<string, string> = {}) =>
    t.call('POST', '/account/projects', body, headers)
  for (const text of [
    '{',
    'name=x',
    '{"name":"x"',
    "{'name':'x'}",
    '{"name":"x",}',
    'undefined',
    '\u0000',
    '{"name":"x"}{"name":"y"}',
  ])
    expect([text, (await post(text)).body.code]).toEqual([text, 'invalid_json'])
  expect((await post('{"name":"x",}')).body.detail).toBe(
    'The body is not valid JSON: Expected double-quoted property name at position 12 (line 1 column 13).',
  )
  expect((await post('{"name":x}')).body.detail).toBe(
    `The body is not valid JSON: Unexpected token 'x', "{"name":x}".`,
  )
  expect((await post('{"__proto__":{}}')).body.detail).toBe(
    'The body has a forbidden key, such as __proto__.',
  )
  for (const text of ['[]', '"text"', '5', 'true'])
    expect([text, issues((await post(text)).body)]).toEqual([text, [['', 'wrong_type']]])
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
  ])
    expect((await post('{"name":"x"}', { 'content-type': type })).body.code).toBe('unsupported_media_type')
  expect((await post('{"name":"x"}', { 'content-type': 'application/json; charset=utf-8' })).status).toBe(201)
  const padded = (bytes: number) => `{"name":"x"${' '.repeat(bytes - 12)}}`
  expect((await post(padded(256 * 1024))).status).toBe(201)
  expect(await post(padded(256 * 1024 + 1))).toMatchObject({
    status: 413,
    body: { code: 'payload_too_large' },
  })
  // Long before the end of a body that says how long it is.
  expect((await post('{}', { 'content-length': '99999999' })).status).toBeGreaterThanOrEqual(400)
})

test('requests without a body may come with or without a content type', async () => {
  const t = await testApp()
  const id = await make(t)
  expect(
    (await t.call('POST', `/servers/${id}/stop`, undefined, { 'content-type': 'application/json' })).status,
  ).toBe(202)
  await t.finish()
  expect((await t.call('POST', `/servers/${id}/start`)).status).toBe(202)
  await t.finish()
  expect((await t.call('POST', `/servers/${id}/reboot`, {})).status).toBe(202)
  await t.finish()
  expect(
    (await t.call('DELETE', `/servers/${id}`, undefined, { 'content-type': 'application/json' })).status,
  ).toBe(202)
})

test('a field that nobody knows is named, with the nearest one that exists', async () => {
  const t = await testApp()
  const reply = await t.call('POST', '/account/projects', { name: 'x', descripton: 'y' })
  expect(reply.body).toMatchObject({
    status: 422,
    errors: [{ in: 'body', field: 'descripton', pointer: '/descripton', code: 'unknown_field' }],
  })
  expect(reply.body.errors[0].message).toContain('description')
  const body = await order(t.call, { zone: 'local-1', Name: 'x' })
  const { errors } = (await t.call('POST', '/servers', body)).body
  expect(
    errors.map((error: { field: string; message: string }) => [
      error.field,
      /mean (\w+)/.exec(error.message)?.[1],
    ]),
  ).toEqual([
    ['zone', 'zone_slug'],
    ['Name', 'name'],
  ])
  const [rule] = (await t.call('POST', '/firewalls', { name: 'x', rules: [{ source: '::/0' }] })).body.errors
    .map(({ message }: { message: string }) => message)
    .filter((message: string) => message.includes('source'))
  expect(rule).toBe('rules.0.source is not a known field.')
  const desc = await t.call('POST', '/account/projects', { name: 'x', desc: 'y' })
  expect(desc.body.detail).toBe('desc is not a known field. Did you mean description?')
  const filtered = await t.call('GET', '/servers?zone=local-1')
  expect(filtered.body.detail).toBe('zone is not a known parameter. Did you mean zone_slug?')
  expect((await t.call('POST', `/servers/${NOBODY}/stop`, { forse: true })).body.code).toBe(
    'server_not_found',
  )
  const id = await make(t)
  expect((await t.call('POST', `/servers/${id}/stop`, { forse: true })).body.errors[0].message).toContain(
    'force',
  )
  expect(issues((await t.call('POST', `/servers/${id}/start`, { force: true })).body)).toEqual([
    ['/force', 'unknown_field'],
  ])
})

test('all that is wrong with a request is said at once', async () => {
  const t = await testApp()
  const reply = await t.call('POST', '/servers', {
    template_id: 'micro',
    plan_type: 'preset',
    cpu_type: 'arm',
    name: '-web-',
    ssh_key_ids: 'all',
    labels: { env: 5 },
    start_on_create: 'yes',
  })
  expect(reply.status).toBe(422)
  expect(issues(reply.body).sort()).toEqual([
    ['/cpu_type', 'not_in_enum'],
    ['/labels/env', 'wrong_type'],
    ['/name', 'invalid_format'],
    ['/preset_id', 'required'],
    ['/ssh_key_ids', 'wrong_type'],
    ['/start_on_create', 'wrong_type'],
    ['/template_id', 'invalid_format'],
    ['/zone_slug', 'required'],
  ])
  expect(reply.body.detail).toBe('8 values are invalid: see errors.')
})

test('a name has a visible character, and none that hides or reorders its neighbours', async () => {
  const t = await testApp()
  const post = (name: string) => t.call('POST', '/account/projects', { name })
  for (const evil of [
    '',
    ' ',
    '\u200b',
    'a\u200bb',
    'a\u202eb',
    'a\u2066b',
    '\u200d',
    '\u3164',
    '\ufeff',
    'a\u00adb',
  ])
    expect([evil, (await post(evil)).status]).toEqual([evil, 422])
  for (const good of ['مى\u200cخواهم', '👩\u200d💻', '服务器', 'naïve café', '☁\ufe0f'])
    expect([good, (await post(good)).status]).toEqual([good, 201])
  const device = { client_name: 'berth\u202e' }
  expect((await t.callAs(null)('POST', '/device', device)).status).toBe(422)
  for (const email of ['ann\u200d@example.com', 'ann@example.com/pay', 'ann@example.com?a=b'])
    expect([email, (await t.callAs(null)('POST', '/sign-up', { email })).status]).toEqual([email, 422])
})

test('characters that no database can store are refused in every string', async () => {
  const t = await testApp()
  const id = await make(t)
  const { default_project_id } = (await t.call('GET', '/account/me')).body
  for (const evil of ['a\u0000b', '\ud800', 'x\udfff', '\udc00\ud800']) {
    const tries: [method: 'POST' | 'PATCH', path: string, body: Record<string, unknown>, pointer: string][] =
      [
        ['POST', '/account/projects', { name: evil }, '/name'],
        ['POST', '/account/projects', { name: 'x', description: evil }, '/description'],
        ['PATCH', `/account/projects/${default_project_id}`, { description: evil }, '/description'],
        ['POST', '/account/ssh_keys', { name: evil, public_key: ed25519() }, '/name'],
        ['POST', '/account/ssh_keys', { name: 'x', public_key: `${ed25519()} ${evil}` }, '/public_key'],
        ['POST', '/servers', await order(t.call, { description: evil }), '/description'],
        ['POST', '/servers', await order(t.call, { labels: { env: evil } }), '/labels/env'],
        ['POST', '/servers', await order(t.call, { user_data: evil }), '/user_data'],
        ['POST', '/servers', await order(t.call, { zone_slug: evil }), '/zone_slug'],
        ['PATCH', `/servers/${id}`, { description: evil }, '/description'],
        ['PATCH', `/servers/${id}`, { labels: { env: evil } }, '/labels/env'],
      ]
    for (const [method, path, body, pointer] of tries) {
      const reply = await t.call(method, path, body)
      expect([path, reply.status, issues(reply.body)]).toEqual([path, 422, [[pointer, 'invalid_format']]])
    }
    for (const body of [
      { [evil]: 1 },
      { name: 'x', [evil]: 1 },
      { name: 'x', description: { [evil]: [evil] } },
    ])
      expect((await t.call('POST', '/account/projects', body)).status).toBe(422)
    expect((await t.call('PATCH', `/servers/${id}`, { labels: { [evil]: 'x' } })).status).toBe(422)
  }
  // Percent-encoded in the query: a filter that matches nothing, or a refusal, never a failure.
  for (const query of [
    'name=%00',
    'zone_slug=a%00b',
    'label=%00',
    'label=a=%00',
    'name=%ED%A0%80',
    'project_id=%00',
    'name=%ff%fe',
    'sort=%00',
  ])
    expect([query, (await t.call('GET', `/servers?${query}`)).status]).toEqual([
      query,
      expect.toSatisfy((status) => status === 200 || status === 422),
    ])
})

test('keys that name the inside of objects are data like any other', async () => {
  const t = await testApp()
  for (const text of [
    '{"name":"x","__proto__":{"description":"evil"}}',
    '{"name":"x","constructor":{"prototype":{"description":"evil"}}}',
    '{"name":"x","constructor":"evil"}',
    '{"name":"x","toString":"evil"}',
    '{"__proto__":{"name":"x"}}',
    '{"name":"x","description":{"__proto__":null}}',
  ]) {
    const reply = await t.call('POST', '/account/projects', text)
    expect([text, reply.status]).toEqual([
      text,
      expect.toSatisfy((status) => status === 400 || status === 422),
    ])
  }
  expect(Object.keys({})).toEqual([])
  expect((await t.call('POST', '/account/projects', { name: 'x' })).body.description).toBeNull()
  const labels = { constructor: 'a', toString: 'b', hasOwnProperty: 'c' }
  const id = await make(t, { labels })
  expect((await t.call('GET', `/servers/${id}`)).body.labels).toEqual(labels)
  expect((await t.call('GET', '/servers?label=constructor=a')).body.total).toBe(1)
  expect((await t.call('GET', '/servers?__proto__=1&constructor=2')).status).toBe(422)
})

test('numbers that are too large to count with are refused', async () => {
  const t = await testApp()
  const custom = await order(t.call, {
    plan_type: 'custom',
    preset_id: undefined,
    cpu: 1,
    ram_mb: 512,
    disk_gb: 10,
  })
  const cases: [text: string, code: string][] = [
    ['1e400', 'above_maximum'],
    ['1.5', 'wrong_type'],
    ['-1', 'below_minimum'],
    ['0', 'below_minimum'],
    ['9007199254740993', 'above_maximum'],
    ['1e21', 'above_maximum'],
    ['"2"', 'wrong_type'],
    ['null', 'wrong_type'],
  ]
  for (const [text, code] of cases) {
    const body = JSON.stringify({ ...custom, cpu: '@' }).replace('"@"', text)
    expect([text, issues((await t.call('POST', '/servers', body)).body)]).toEqual([text, [['/cpu', code]]])
  }
  expect((await t.call('POST', '/servers', { ...custom, cpu: 2.0 })).status).toBe(202)
})

test('errors come in the order that the contract gives them', async () => {
  const t = await testApp()
  const id = await make(t, { delete_protection: true })
  const reader = t.callAs(await t.makeToken(['read']))
  const nobody = t.callAs(null)
  // 401, 403, 404, 415, 400, 422, 409: each request is wrong in all the ways that follow, too.
  const text = { 'content-type': 'text/plain' }
  expect((await nobody('PATCH', `/servers/${NOBODY}`, '{', text)).status).toBe(401)
  expect((await reader('PATCH', `/servers/${NOBODY}`, '{', text)).status).toBe(403)
  expect((await t.call('PATCH', `/servers/${NOBODY}`, '{', text)).status).toBe(404)
  expect((await t.call('PATCH', `/servers/${NOBODY}`, ' '.repeat(300_000))).status).toBe(404)
  expect((await t.call('PATCH', `/servers/${id}`, '{', text)).status).toBe(415)
  expect((await t.call('PATCH', `/servers/${id}`, '{"cpu":')).status).toBe(400)
  expect((await t.call('PATCH', `/servers/${id}`, { cpu: 'many' })).status).toBe(422)
  // The server runs (409), and 33 cpus are more than a plan may have (422).
  expect((await t.call('PATCH', `/servers/${id}`, { cpu: 33 })).status).toBe(422)
  expect((await t.call('PATCH', `/servers/${id}`, { cpu: 32 })).status).toBe(409)
  expect((await t.call('GET', `/servers/${NOBODY}/operations?limit=0`)).status).toBe(404)
  expect((await t.call('GET', `/servers/${NOBODY}/operations/${NOBODY}?wait=x`)).status).toBe(404)
  expect((await t.call('GET', `/servers/${id}/operations?limit=0`)).status).toBe(422)

  // Quota before balance before capacity.
  const poor = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount('1') }))
  const huge = { plan_type: 'custom', preset_id: undefined, cpu: 32, ram_mb: 131_072, disk_gb: 2000 }
  await t.db.updateTable('accounts').set({ quotas: '{"cpu":31}' }).execute()
  const body = await order(poor, huge)
  expect((await poor('POST', '/servers', { ...body, name: '?' })).status).toBe(422)
  expect((await poor('POST', '/servers', body)).body.code).toBe('quota_exceeded')
  await t.db.updateTable('accounts').set({ quotas: '{}' }).execute()
  await t.db
    .updateTable('pool_usage')
    .set({ cpu: 64 * 8 })
    .execute()
  expect((await poor('POST', '/servers', body)).body.code).toBe('insufficient_balance')
  expect((await t.call('POST', '/servers', body)).body.code).toBe('capacity_unavailable')
})

test('an account that is suspended reads, but makes and starts nothing', async () => {
  const t = await testApp()
  const id = await make(t, { start_on_create: false })
  await t.db.updateTable('accounts').set({ status: 'suspended' }).execute()
  expect((await t.call('GET', '/account/me')).body.status).toBe('suspended')
  expect(await t.call('POST', '/servers', await order(t.call))).toMatchObject({
    status: 403,
    body: { code: 'account_suspended' },
  })
  expect((await t.call('POST', `/servers/${id}/start`)).body.code).toBe('account_suspended')
  expect((await t.call('DELETE', `/servers/${id}`)).status).toBe(202)
})
