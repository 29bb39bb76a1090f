import { expect, test } from 'vitest'
import { quotas } from '../../../api/features.ts'
import { testApp } from '../../harness/app.ts'
import { issues, make, NOBODY, order } from '../harness/ordering.ts'

test('an account sees itself, its quotas and the token that asks', async () => {
  const t = await testApp()
  const me = await t.call('GET', '/account/me')
  const projects = await t.call('GET', '/account/projects')
  expect(me.body).toEqual({
    account_id: t.accountId,
    email: 'customer1@example.com',
    is_smtp_open: false,
    price_percent: 0,
    preset_prices_rub: {},
    has_hcloud: false,
    name: 'Customer 1',
    status: 'active',
    status_reason: null,
    status_since: null,
    created_at: '2026-11-20T12:00:00.000Z',
    default_project_id: projects.body.items[0].project_id,
    token: {
      token_id: expect.any(String),
      name: 'test',
      scopes: ['account:read', 'account:write', 'servers:read', 'servers:write'],
      cidrs: [],
      expires_at: null,
    },
    person: null,
    scopes: ['account:read', 'account:write', 'servers:read', 'servers:write'],
    quotas: {
      projects: { limit: 50, used: 1 },
      ssh_keys: { limit: 100, used: 0 },
      tokens: { limit: 50, used: 1 },
      webhooks: { limit: 20, used: 0 },
      servers: { limit: 20, used: 0 },
      cpu: { limit: 64, used: 0 },
      ram_mb: { limit: 262_144, used: 0 },
      disk_gb: { limit: 4096, used: 0 },
      ports: { limit: 20, used: 0 },
      addresses: { limit: 10, used: 0 },
      networks: { limit: 10, used: 0 },
      volumes: { limit: 20, used: 0 },
      volumes_gb: { limit: 4096, used: 0 },
      firewalls: { limit: 20, used: 0 },
      snapshots: { limit: 20, used: 0 },
      images: { limit: 10, used: 0 },
      isos: { limit: 10, used: 0 },
      image_files_gb: { limit: 200, used: 0 },
      members: { limit: 50, used: 0 },
    },
    limit_reasons: Object.fromEntries(
      quotas.map(({ name, unpaid }) => [
        name,
        { reason: unpaid === undefined ? 'default' : 'paid', next: null },
      ]),
    ),
  })
  expect(me.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
})

test('a project is made, listed, changed and deleted', async () => {
  const t = await testApp()
  const made = await t.call('POST', '/account/projects', { name: 'Shop', description: 'the web shop' })
  const id = made.body.project_id
  expect(made).toMatchObject({
    status: 201,
    headers: { location: `/v1/account/projects/${id}` },
    body: { name: 'Shop', description: 'the web shop', is_default: false, server_count: 0 },
  })
  const list = await t.call('GET', '/account/projects')
  expect(list.body.total).toBe(2)
  expect(list.body.items[0]).toEqual(made.body)
  expect(list.body.items[1]).toMatchObject({ name: 'Default', is_default: true })
  t.clock.advance(1_000)
  const renamed = await t.call('PATCH', `/account/projects/${id}`, { name: 'Store' })
  expect(renamed).toMatchObject({
    status: 200,
    body: { name: 'Store', description: 'the web shop', updated_at: '2026-11-20T12:00:01.000Z' },
  })
  const cleared = await t.call('PATCH', `/account/projects/${id}`, { description: null })
  expect(cleared.body).toEqual({ ...renamed.body, description: null })
  const gone = await t.call('DELETE', `/account/projects/${id}`)
  expect(gone).toMatchObject({ status: 204, body: '' })
  expect((await t.call('DELETE', `/account/projects/${id}`)).body.code).toBe('project_not_found')
  expect((await t.call('PATCH', `/account/projects/${id}`, { name: 'x' })).body.code).toBe(
    'project_not_found',
  )
})

test('lengths are counted in Unicode code points', async () => {
  const t = await testApp()
  // One code point each: two UTF-16 units, a combining mark, a letter.
  for (const sign of ['🚀', '\u0301', 'ж']) {
    const name = `a${sign.repeat(63)}`
    const description = sign.repeat(255)
    const made = await t.call('POST', '/account/projects', { name, description })
    expect(made).toMatchObject({ status: 201, body: { name, description } })
    const path = `/account/projects/${made.body.project_id}`
    expect((await t.call('PATCH', path, { name, description })).body).toMatchObject({ name, description })
    const long = { name: `${name}${sign}`, description: `${description}${sign}` }
    const tooLong = [
      ['/name', 'too_long'],
      ['/description', 'too_long'],
    ]
    expect(issues((await t.call('POST', '/account/projects', long)).body)).toEqual(tooLong)
    expect(issues((await t.call('PATCH', path, long)).body)).toEqual(tooLong)
  }
  // A family is one picture made of seven code points.
  const family = '👨‍👩‍👧‍👦'
  expect((await t.call('POST', '/account/projects', { name: family.repeat(9) })).status).toBe(201)
  expect((await t.call('POST', '/account/projects', { name: family.repeat(10) })).status).toBe(422)
})

test('a name has to be there and to be seen', async () => {
  const t = await testApp()
  const { body: project } = await t.call('POST', '/account/projects', { name: 'Shop' })
  expect(project.description).toBeNull()
  const path = `/account/projects/${project.project_id}`
  const wrong: [body: unknown, expected: [string, string][]][] = [
    [{ name: null }, [['/name', 'wrong_type']]],
    [{ name: '' }, [['/name', 'too_short']]],
    [{ name: '  \t ' }, [['/name', 'invalid_format']]],
    [{ name: '\u00a0\u3000' }, [['/name', 'invalid_format']]],
    [{ name: 5 }, [['/name', 'wrong_type']]],
    [{ name: ['x'] }, [['/name', 'wrong_type']]],
    [{ name: 'x', description: 5 }, [['/description', 'wrong_type']]],
  ]
  for (const [body, expected] of wrong) {
    for (const reply of [
      await t.call('POST', '/account/projects', body),
      await t.call('PATCH', path, body),
    ]) {
      expect(reply.status).toBe(422)
      expect(issues(reply.body).slice(0, 1)).toEqual(expected)
    }
  }
  for (const body of [undefined, {}, { description: 'only' }])
    expect(issues((await t.call('POST', '/account/projects', body)).body)).toEqual([['/name', 'required']])
  for (const body of [undefined, {}, null])
    expect(issues((await t.call('PATCH', path, body)).body)).toEqual([['', 'too_short']])
  expect(
    (await t.call('POST', '/account/projects', { name: 'x', description: null })).body.description,
  ).toBeNull()
  expect((await t.call('POST', '/account/projects', { name: 'x', description: '' })).body.description).toBe(
    '',
  )
  // Names need not differ.
  expect((await t.call('POST', '/account/projects', { name: 'Shop' })).status).toBe(201)
})

test('the default project stays, and so does one with servers', async () => {
  const t = await testApp()
  const { default_project_id } = (await t.call('GET', '/account/me')).body
  expect(await t.call('DELETE', `/account/projects/${default_project_id}`)).toMatchObject({
    status: 409,
    body: { code: 'project_is_default' },
  })
  expect(
    (await t.call('PATCH', `/account/projects/${default_project_id}`, { name: 'Mine' })).body.is_default,
  ).toBe(true)
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'Shop' })).body
  const id = await make(t, { project_id })
  expect((await t.call('DELETE', `/account/projects/${project_id}`)).body.code).toBe('project_not_empty')
  const counts = async () =>
    Object.fromEntries(
      (await t.call('GET', '/account/projects')).body.items.map(
        (row: { name: string; server_count: number }) => [row.name, row.server_count],
      ),
    )
  expect(await counts()).toEqual({ Shop: 1, Mine: 0 })
  await t.call('PATCH', `/servers/${id}`, { project_id: default_project_id })
  expect(await counts()).toEqual({ Shop: 0, Mine: 1 })
  expect((await t.call('DELETE', `/account/projects/${project_id}`)).status).toBe(204)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect(await counts()).toEqual({ Mine: 0 })
})

test('a quota of projects is a limit, also for many requests at once', async () => {
  const t = await testApp()
  await t.db.updateTable('accounts').set({ quotas: '{"projects":4}' }).execute()
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, at) => t.call('POST', '/account/projects', { name: `p${at}` })),
  )
  expect(replies.map((reply) => reply.status).sort()).toEqual([...Array(3).fill(201), ...Array(9).fill(403)])
  const refused = replies.find((reply) => reply.status === 403)
  expect(refused?.body).toMatchObject({
    code: 'quota_exceeded',
    quota: { name: 'projects', limit: 4, used: 4, requested: 1 },
  })
  expect((await t.call('GET', '/account/me')).body.quotas.projects).toEqual({ limit: 4, used: 4 })
})

test('projects are paged', async () => {
  const t = await testApp()
  for (const name of ['a', 'b', 'c', 'd']) await t.call('POST', '/account/projects', { name })
  const names = async (query: string) =>
    (await t.call('GET', `/account/projects?${query}`)).body.items.map((row: { name: string }) => row.name)
  expect(await names('limit=2')).toEqual(['d', 'c'])
  expect(await names('limit=2&offset=4')).toEqual(['Default'])
  expect(await names('limit=200&offset=5')).toEqual([])
  expect(await names('offset=1000000000')).toEqual([])
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1.5',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
    'offset=-1',
    'offset=99999999999999999999',
    'offset=1e400',
    'limit=%00',
    'colour=red',
  ])
    expect([query, (await t.call('GET', `/account/projects?${query}`)).status]).toEqual([query, 422])
})

test('the projects of another account do not exist', async () => {
  const t = await testApp()
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'Shop' })).body
  const other = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() }))
  expect((await other('PATCH', `/account/projects/${project_id}`, { name: 'mine' })).body.code).toBe(
    'project_not_found',
  )
  expect((await other('DELETE', `/account/projects/${project_id}`)).body.code).toBe('project_not_found')
  expect((await other('GET', '/account/projects')).body.total).toBe(1)
  const reply = await other('POST', '/servers', await order(other, { project_id }))
  expect(issues(reply.body)).toEqual([['/project_id', 'not_found']])
  // The same id in capitals is the same id.
  expect(
    (await t.call('PATCH', `/account/projects/${project_id.toUpperCase()}`, { name: 'SHOP' })).status,
  ).toBe(200)
  for (const id of [NOBODY, 'x', '%00', `${project_id}0`])
    expect((await t.call('DELETE', `/account/projects/${id}`)).body.code).toBe('project_not_found')
})
