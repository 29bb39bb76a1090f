import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'

test('a server is readable at once, and running when its guest answers', async () => {
  const t = await testApp({ simulator: { bootMs: 5_000 } })
  const created = await t.call('POST', '/servers', await order(t.call, { name: 'web-1' }))
  expect(created).toMatchObject({
    status: 202,
    body: { name: 'web-1', status: 'creating', current_operation: { type: 'create', status: 'pending' } },
  })
  const id = created.body.server_id
  expect(created.headers.location).toBe(`/v1/servers/${id}`)
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('creating')
  await t.work()
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'creating',
    current_operation: { status: 'running' },
  })
  await t.finish()
  const server = (await t.call('GET', `/servers/${id}`)).body
  expect(server).toMatchObject({ status: 'running', current_operation: null, status_reason: null })
  expect((await t.call('GET', '/servers')).body).toEqual({ items: [server], total: 1 })
  const operations = (await t.call('GET', `/servers/${id}/operations`)).body
  expect(operations).toMatchObject({
    total: 1,
    items: [{ type: 'create', status: 'succeeded', progress: 100, error: null }],
  })
})

test('stop, start and reboot go through their statuses and end where they should', async () => {
  const t = await testApp({ simulator: { bootMs: 2_000, shutdownMs: 3_000 } })
  const id = await make(t)
  const steps = [
    ['stop', 'stopping', 'stopped'],
    ['start', 'starting', 'running'],
    ['reboot', 'rebooting', 'running'],
  ]
  for (const [action, during, after] of steps) {
    const reply = await t.call('POST', `/servers/${id}/${action}`)
    expect(reply).toMatchObject({ status: 202, body: { type: action, status: 'pending', server_id: id } })
    expect(reply.headers.location).toBe(`/v1/servers/${id}/operations/${reply.body.operation_id}`)
    expect((await t.call('GET', `/servers/${id}`)).body.status).toBe(during)
    await t.finish()
    expect((await t.call('GET', `/servers/${id}`)).body.status).toBe(after)
  }
})

test('a guest that ignores the power button is turned off at the deadline', async () => {
  const t = await testApp()
  const id = await make(t)
  t.driver.ignoresPowerButton(id)
  const before = t.clock.now()
  await t.call('POST', `/servers/${id}/stop`, { timeout_seconds: 5 })
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('stopped')
  expect(t.clock.now() - before).toBeGreaterThanOrEqual(5_000)
  expect(t.clock.now() - before).toBeLessThan(6_000)
})

test('a forced stop replaces the stop that waits for the guest', async () => {
  const t = await testApp()
  const id = await make(t)
  t.driver.ignoresPowerButton(id)
  const polite = (await t.call('POST', `/servers/${id}/stop`, { timeout_seconds: 600 })).body
  await t.work()
  expect((await t.call('POST', `/servers/${id}/stop`)).body).toMatchObject({
    code: 'operation_in_progress',
    operation_id: polite.operation_id,
  })
  const forced = await t.call('POST', `/servers/${id}/stop`, { force: true })
  expect(forced.status).toBe(202)
  await t.work()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('stopped')
  expect((await t.call('GET', `/servers/${id}/operations/${polite.operation_id}`)).body.status).toBe(
    'canceled',
  )
  expect((await t.call('GET', `/servers/${id}/operations/${forced.body.operation_id}`)).body.status).toBe(
    'succeeded',
  )
})

test('DELETE works in every status, cancels what runs, and gives everything back', async () => {
  const t = await testApp({ simulator: { bootMs: 60_000 } })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  await t.work()
  const first = await t.call('DELETE', `/servers/${server.server_id}`)
  expect(first).toMatchObject({ status: 202, body: { type: 'delete' } })
  const second = await t.call('DELETE', `/servers/${server.server_id}`)
  expect(second.body.operation_id).toBe(first.body.operation_id)
  await t.finish()
  expect((await t.call('GET', `/servers/${server.server_id}`)).body.code).toBe('server_not_found')
  expect((await t.call('GET', '/servers')).body).toEqual({ items: [], total: 0 })
  expect((await t.driver.list()).size).toBe(0)
  const quotas = (await t.call('GET', '/account/me')).body.quotas
  expect([quotas.servers.used, quotas.cpu.used, quotas.ram_mb.used, quotas.disk_gb.used]).toEqual([
    0, 0, 0, 0,
  ])
  const operations = (await t.call('GET', `/servers/${server.server_id}/operations`)).body.items
  expect(
    operations.map((operation: { type: string; status: string }) => [operation.type, operation.status]),
  ).toEqual([
    ['delete', 'succeeded'],
    ['create', 'canceled'],
  ])
  t.clock.advance(7 * 24 * 3600_000)
  expect((await t.call('GET', `/servers/${server.server_id}/operations`)).status).toBe(404)
})

test('a protected server is not deleted until the protection is taken off', async () => {
  const t = await testApp()
  const id = await make(t, { delete_protection: true })
  expect((await t.call('DELETE', `/servers/${id}`)).body.code).toBe('delete_protected')
  expect((await t.call('GET', `/servers/${id}/details`)).body.allowed_actions).not.toContain('delete')
  await t.call('PATCH', `/servers/${id}`, { delete_protection: false })
  expect((await t.call('DELETE', `/servers/${id}`)).status).toBe(202)
})

test('a stopped server is resized, its disk only grows, and its price follows', async () => {
  const t = await testApp()
  const id = await make(t)
  const bigger = { plan_type: 'custom', cpu: 2, ram_mb: 1024, disk_gb: 20 }
  expect((await t.call('PATCH', `/servers/${id}`, bigger)).body).toMatchObject({
    code: 'server_state_conflict',
    current_status: 'running',
    allowed_statuses: ['stopped'],
  })
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  const resizing = await t.call('PATCH', `/servers/${id}`, bigger)
  expect(resizing).toMatchObject({
    status: 202,
    body: { status: 'resizing', current_operation: { type: 'resize' }, disk_gb: 10 },
  })
  await t.finish()
  const server = (await t.call('GET', `/servers/${id}`)).body
  expect(server).toMatchObject({
    status: 'stopped',
    plan_type: 'custom',
    preset_id: null,
    cpu: 2,
    ram_mb: 1024,
    disk_gb: 20,
    price_month_rub: '600.00',
  })
  expect(t.driver.diskOf(id)).toBe(20)
  const smaller = await t.call('PATCH', `/servers/${id}`, { disk_gb: 10 })
  expect(smaller.body.errors).toMatchObject([{ pointer: '/disk_gb', code: 'below_minimum' }])
  expect((await t.call('GET', '/account/me')).body.quotas).toMatchObject({
    cpu: { used: 2 },
    disk_gb: { used: 20 },
  })
})

test('a server that is deleted while it is resized gives back the size it had', async () => {
  const t = await testApp()
  const id = await make(t)
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  await t.call('PATCH', `/servers/${id}`, { cpu: 4 })
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect((await t.call('GET', '/account/me')).body.quotas.cpu.used).toBe(0)
  const pool = await t.db.selectFrom('pool_usage').selectAll().executeTakeFirstOrThrow()
  expect(pool).toMatchObject({ cpu: 0, ram_mb: 0, disk_gb: 0 })
})

test('a guest that turns itself off is stopped; a machine that dies is started again, ever later, then left alone', async () => {
  const t = await testApp()
  const id = await make(t)
  t.driver.turnsOffByItself(id, 'guest_shutdown')
  await t.app.reconciler.look()
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'stopped',
    status_reason: 'guest_shutdown',
    started_at: null,
  })
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  const pauses: number[] = []
  for (let crash = 0; crash < 5; crash++) {
    t.driver.turnsOffByItself(id, 'crashed')
    await t.app.reconciler.look()
    expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
      status: 'starting',
      status_reason: 'crashed',
    })
    const before = t.clock.now()
    await t.finish()
    pauses.push(t.clock.now() - before)
    expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000])
  t.driver.turnsOffByItself(id, 'crashed')
  await t.app.reconciler.look()
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'error',
    status_reason: 'crash_loop',
  })
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
})

test('a guest that does not answer in time makes its operation fail; it is left running, and asked on until it answers', async () => {
  const t = await testApp({ simulator: { bootMs: 1_000_000 } })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  await t.finish()
  const [operation] = (await t.call('GET', `/servers/${server.server_id}/operations`)).body.items
  expect(operation).toMatchObject({ status: 'failed', error: { code: 'boot_timeout' } })
  expect((await t.call('GET', `/servers/${server.server_id}`)).body).toMatchObject({
    status: 'running',
    status_reason: 'boot_timeout',
  })
  await t.app.reconciler.look()
  const details = async () => (await t.call('GET', `/servers/${server.server_id}/details`)).body
  const late = await details()
  expect(late).toMatchObject({
    status_reason: 'boot_timeout',
    ssh: { host_key_fingerprints: [], is_ready: false },
  })
  t.clock.advance(1_000_000)
  await t.app.reconciler.look()
  expect(await details()).toMatchObject({
    status: 'running',
    status_reason: null,
    ssh: { host_key_fingerprints: [expect.any(Object)], is_ready: true },
    billing: { billed_since: late.billing.billed_since },
  })
})

test('a step that keeps failing is tried again, then the create ends in error and is not billed', async () => {
  const t = await testApp()
  for (let failure = 0; failure < 6; failure++)
    t.driver.failNext('define', new Error('secret path of the host'))
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  await t.finish()
  const [operation] = (await t.call('GET', `/servers/${server.server_id}/operations`)).body.items
  expect(operation).toMatchObject({ status: 'failed', error: { code: 'internal_error' } })
  expect(operation.error.message).not.toContain('secret')
  const details = (await t.call('GET', `/servers/${server.server_id}/details`)).body
  expect(details).toMatchObject({
    status: 'error',
    billing: { billed_since: null },
    allowed_actions: ['start', 'stop', 'reboot', 'update', 'rebuild', 'restore', 'rescue', 'delete'],
  })
  await t.call('POST', `/servers/${server.server_id}/start`)
  await t.finish()
  expect((await t.call('GET', `/servers/${server.server_id}`)).body.status).toBe('running')
})

test('a port that another program holds is replaced by another one', async () => {
  const t = await testApp()
  const { DriverError } = await import('../../../api/drivers/driver.ts')
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  const before = (await t.call('GET', `/servers/${server.server_id}/details`)).body.ssh.port
  t.driver.failNext('start', new DriverError('port_taken', `port ${before} is taken`))
  await t.finish()
  const after = (await t.call('GET', `/servers/${server.server_id}/details`)).body
  expect(after).toMatchObject({ status: 'running', ssh: { is_ready: true } })
  expect(after.ssh.port).not.toBe(before)
  expect(after.ssh.command).toBe(`ssh -p ${after.ssh.port} berth@127.0.0.1`)
})

test('a lost disk is never replaced by an empty one', async () => {
  const t = await testApp()
  const id = await make(t)
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  await t.driver.destroy(id)
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'stopped',
    status_reason: 'disk_lost',
  })
  expect(await t.driver.inspect(id)).toEqual({ power: 'absent' })
})

test('a server made without start_on_create is stopped and starts later', async () => {
  const t = await testApp()
  const id = await make(t, { start_on_create: false })
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({ status: 'stopped', started_at: null })
  expect((await t.driver.inspect(id)).power).toBe('stopped')
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
})

test('without keys a password is made, and shown only to a token that may change servers', async () => {
  const t = await testApp()
  const id = await make(t)
  const { ssh } = (await t.call('GET', `/servers/${id}/details`)).body
  expect(ssh.auth_methods).toEqual(['password'])
  expect(ssh.password).toMatch(/^[A-Za-z0-9]{20}$/)
  const reader = t.callAs(await t.makeToken(['servers:read']))
  expect((await reader('GET', `/servers/${id}/details`)).body.ssh.password).toBeNull()
  const row = await t.db
    .selectFrom('servers')
    .select('password')
    .where('server_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(row.password).not.toContain(ssh.password)
})

test('long-polling an operation replies when it ends', async () => {
  const t = await testApp({ simulator: { bootMs: 4_000 } })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  const waiting = t.call(
    'GET',
    `/servers/${server.server_id}/operations/${server.current_operation.operation_id}?wait=60`,
  )
  await t.finish()
  expect((await waiting).body).toMatchObject({ status: 'succeeded', progress: 100 })
})

test('another account sees nothing of a server', async () => {
  const t = await testApp()
  const id = await make(t)
  const other = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() }))
  for (const [method, path] of [
    ['GET', `/servers/${id}`],
    ['GET', `/servers/${id}/details`],
    ['PATCH', `/servers/${id}`],
    ['DELETE', `/servers/${id}`],
    ['POST', `/servers/${id}/stop`],
    ['GET', `/servers/${id}/operations`],
  ] as const)
    expect((await other(method, path, method === 'PATCH' ? { name: 'mine' } : undefined)).body.code).toBe(
      'server_not_found',
    )
  expect((await other('GET', '/servers')).body.total).toBe(0)
})

test('an order, a quote and a change name template and preset by slug as well as by id', async () => {
  const t = await testApp()
  const { template_id, preset_id, ...rest } = await order(t.call)
  const named = { ...rest, template: 'micro', preset: 'nano' }
  const quoted = (await t.call('POST', '/pricing/quote', named)).body
  expect(quoted).toEqual((await t.call('POST', '/pricing/quote', { ...rest, template_id, preset_id })).body)
  const { status, body } = await t.call('POST', '/servers', { ...named, start_on_create: false })
  expect([status, body.template_id, body.preset_id]).toEqual([202, template_id, preset_id])
  await t.finish()
  const resized = await t.call('PATCH', `/servers/${body.server_id}`, { preset: 'small' })
  expect(resized.status).toBe(202)
  await t.finish()
  const { cpu, preset_id: changed } = (await t.call('GET', `/servers/${body.server_id}`)).body
  const presets = (await t.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')).body
  expect(presets.find(({ slug }: { slug: string }) => slug === 'small')).toMatchObject({
    preset_id: changed,
    cpu,
  })
})

test('a name that is not on offer is refused with those that are, an id with the route that lists them', async () => {
  const t = await testApp()
  const good = {
    zone_slug: 'local-1',
    cpu_type: 'amd',
    plan_type: 'preset',
    template: 'micro',
    preset: 'nano',
  }
  const messages = async (change: object) => {
    const { status, body } = await t.call('POST', '/servers', { ...good, ...change })
    return [status, body.errors?.map(({ message }: { message: string }) => message)]
  }
  const templates = (await t.call('GET', '/templates')).body.map(({ slug }: { slug: string }) => slug)
  const offers = {
    template: templates.join(', '),
    preset: 'nano, micro, small, medium, large, xlarge',
  }
  expect(await messages({ template: 'dos', preset: 'giant', zone_slug: 'mars' })).toEqual([
    422,
    ['No such zone: mars. On offer: local-1.', `No such template: dos. On offer: ${offers.template}.`],
  ])
  expect(await messages({ preset: 'giant' })).toEqual([
    422,
    [`No such preset: giant. On offer: ${offers.preset}.`],
  ])
  expect(
    await messages({ template: undefined, template_id: 'micro', preset: undefined, preset_id: 'nano' }),
  ).toEqual([
    422,
    [
      'preset_id must be an id, a UUID; GET /pricing/presets lists them.',
      'template_id must be an id, a UUID; GET /templates lists them.',
    ],
  ])
  expect(await messages({ template_id: NOBODY, preset_id: NOBODY, cpu: 1 })).toEqual([
    422,
    [
      'cpu cannot be combined with plan_type preset.',
      'preset_id cannot be combined with preset.',
      'template_id cannot be combined with template.',
    ],
  ])
  expect(await messages({ template: undefined })).toEqual([
    422,
    ['template_id is required, or template, snapshot_id or image_id instead.'],
  ])
})

test('a create that the balance, a quota or the host can not carry says which, and leaves nothing', async () => {
  const t = await testApp({ simulator: { host: { cores: 1, ramMb: 1024, diskGb: 30 } } })
  const poor = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount('5') }))
  expect(await poor('POST', '/servers', await order(poor))).toMatchObject({
    status: 402,
    body: { code: 'insufficient_balance', required: '9.87', available: '5.00' },
  })
  const custom = { plan_type: 'custom', preset_id: undefined }
  expect(
    await t.call(
      'POST',
      '/servers',
      await order(t.call, { ...custom, cpu: 32, ram_mb: 131072, disk_gb: 2000 }),
    ),
  ).toMatchObject({
    status: 409,
    body: {
      code: 'capacity_unavailable',
      detail:
        'Not enough cores, memory, and disk for this plan. The largest server that fits has ' +
        '8 cores, 1024 MB of memory and 30 GB of disk. Choose a smaller plan.',
      max_server: { cpu: 8, ram_mb: 1024, disk_gb: 30 },
      alternatives: [],
    },
  })
  await t.db
    .updateTable('accounts')
    .set({ quotas: '{"cpu":1}' })
    .where('account_id', '=', t.accountId)
    .execute()
  expect(
    await t.call('POST', '/servers', await order(t.call, { ...custom, cpu: 2, ram_mb: 512, disk_gb: 10 })),
  ).toMatchObject({
    status: 403,
    body: { code: 'quota_exceeded', quota: { name: 'cpu', limit: 1, used: 0, requested: 2 } },
  })
  expect((await t.call('GET', '/servers')).body.total).toBe(0)
  expect((await t.call('GET', '/account/projects')).body.items[0].server_count).toBe(0)
  expect(await t.db.selectFrom('pool_usage').selectAll().executeTakeFirstOrThrow()).toMatchObject({
    cpu: 0,
    ram_mb: 0,
    disk_gb: 0,
  })
})

test('a create succeeds exactly if preset.is_available says so', async () => {
  const t = await testApp({ simulator: { host: { cores: 8, ramMb: 2048, diskGb: 100 } } })
  const list = async () => (await t.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')).body
  for (const preset of await list()) {
    const fresh = (await list()).find((candidate: { slug: string }) => candidate.slug === preset.slug)
    const reply = await t.call('POST', '/servers', await order(t.call, { preset_id: preset.preset_id }))
    expect(reply.status).toBe(fresh.is_available ? 202 : 409)
  }
})

test('everything wrong with a create is said at once', async () => {
  const t = await testApp()
  const unknown = '00000000-0000-7000-8000-000000000000'
  const reply = await t.call('POST', '/servers', {
    ...(await order(t.call)),
    zone_slug: 'nowhere',
    template_id: unknown,
    project_id: unknown,
    ssh_key_ids: [unknown],
  })
  expect(reply.status).toBe(422)
  expect(
    reply.body.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
  ).toEqual([
    ['/zone_slug', 'not_found'],
    ['/template_id', 'not_found'],
    ['/project_id', 'not_found'],
    ['/ssh_key_ids/0', 'not_found'],
  ])
})

test('servers are filtered, sorted and paged, with exact totals and links', async () => {
  const t = await testApp()
  for (const [name, labels] of [
    ['alpha', { env: 'prod' }],
    ['bravo', { env: 'test' }],
    ['charlie', { env: 'prod', tier: 'web' }],
  ] as const)
    await t.call('POST', '/servers', await order(t.call, { name, labels }))
  const names = async (query: string) =>
    (await t.call('GET', `/servers?${query}`)).body.items.map((server: { name: string }) => server.name)
  expect(await names('')).toEqual(['charlie', 'bravo', 'alpha'])
  expect(await names('sort=name')).toEqual(['alpha', 'bravo', 'charlie'])
  expect(await names('label=env=prod&sort=-name')).toEqual(['charlie', 'alpha'])
  expect(await names('label=env=PROD')).toEqual([])
  expect(await names('label=tier')).toEqual(['charlie'])
  expect(await names('label=env=prod,tier')).toEqual(['charlie'])
  expect(await names('label=env=prod,!tier')).toEqual(['alpha'])
  expect(await names('label=tier!=web')).toEqual(['bravo', 'alpha'])
  expect(await names('label=env!=prod,tier!=web')).toEqual(['bravo'])
  expect(await names('label=env==prod&sort=name')).toEqual(['alpha', 'charlie'])
  expect(await names('label=env=')).toEqual([])
  expect(await names('label=env%20in%20(test,%20prod),!tier')).toEqual(['bravo', 'alpha'])
  expect(await names('label=env%20in%20(PROD)')).toEqual([])
  expect(await names('label=tier%20notin%20(web,app)&sort=name')).toEqual(['alpha', 'bravo'])
  const many = (terms: number) => `label=${Array(terms).fill('env').join(',')}`
  expect(await names(many(32))).toHaveLength(3)
  for (const wrong of [
    'label=',
    'label=,',
    'label=env,',
    'label=!',
    'label==prod',
    'label=!env=prod',
    'label=env%3Ea',
    'label=env,%20tier',
    'label=env%20in%20prod',
    'label=env%20in%20(prod',
    'label=!env%20in%20(prod)',
    'label=env%20in%20(prod)x',
    `label=${'a'.repeat(64)}`,
    many(33),
  ])
    expect([wrong, (await t.call('GET', `/servers?${wrong}`)).body.errors]).toMatchObject([
      wrong,
      [{ in: 'query', field: 'label', pointer: '/label', code: 'invalid_format' }],
    ])
  expect(await names('name=bravo&status=creating')).toEqual(['bravo'])
  const page = await t.call('GET', '/servers?limit=1&offset=1')
  expect(page.body).toMatchObject({ total: 3, items: [{ name: 'bravo' }] })
  expect(page.headers.link).toBe(
    '</v1/servers?limit=1&offset=0>; rel="first", </v1/servers?limit=1&offset=0>; rel="prev", </v1/servers?limit=1&offset=2>; rel="next", </v1/servers?limit=1&offset=2>; rel="last"',
  )
  expect((await t.call('GET', '/servers?limit=201')).body.errors).toMatchObject([
    { in: 'query', field: 'limit', code: 'above_maximum' },
  ])
})
