import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { HOST } from '../../../api/drivers/simulator/host.ts'
import { testApp } from '../../harness/app.ts'
import { issues, make, NOBODY } from '../harness/ordering.ts'

test('metadata changes at once, in every combination, and null clears the description', async () => {
  const t = await testApp()
  const id = await make(t, { name: 'web-1', labels: { env: 'prod' }, description: 'first' })
  const before = (await t.call('GET', `/servers/${id}`)).body
  t.clock.advance(5_000)
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'Shop' })).body
  const change = {
    name: 'web-2',
    description: null,
    labels: { tier: 'web', env: '' },
    project_id,
    delete_protection: true,
  }
  const reply = await t.call('PATCH', `/servers/${id}`, change)
  expect(reply.status).toBe(200)
  expect(reply.body).toEqual({ ...before, ...change, updated_at: '2026-11-20T12:00:05.000Z' })
  expect((await t.call('GET', `/servers/${id}`)).body).toEqual(reply.body)
  expect((await t.call('PATCH', `/servers/${id}`, { labels: {} })).body.labels).toEqual({})
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'web-3' })).body).toMatchObject({
    name: 'web-3',
    labels: {},
    project_id,
  })
})

test('an impossible change is refused', async () => {
  const t = await testApp()
  const id = await make(t)
  const labels = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`l${at}`, 'x']))
  const wrong: [body: unknown, expected: [string, string][]][] = [
    [{}, [['', 'too_short']]],
    [undefined, [['', 'too_short']]],
    [{ name: null }, [['/name', 'wrong_type']]],
    [{ name: '' }, [['/name', 'too_short']]],
    [{ name: 'a'.repeat(64) }, [['/name', 'too_long']]],
    [{ name: 'web_1' }, [['/name', 'invalid_format']]],
    [{ name: '-web' }, [['/name', 'invalid_format']]],
    [{ name: 'web.example' }, [['/name', 'invalid_format']]],
    [{ name: 'web\n' }, [['/name', 'invalid_format']]],
    [{ description: 'x'.repeat(256) }, [['/description', 'too_long']]],
    [{ labels: null }, [['/labels', 'wrong_type']]],
    [{ labels: labels(33) }, [['/labels', 'too_long']]],
    [{ labels: { '-x': 'y' } }, [['/labels', 'invalid_format']]],
    [{ labels: { x: 'y'.repeat(64) } }, [['/labels/x', 'too_long']]],
    [{ project_id: NOBODY }, [['/project_id', 'not_found']]],
    [{ project_id: null }, [['/project_id', 'wrong_type']]],
    [{ delete_protection: 'no' }, [['/delete_protection', 'wrong_type']]],
    [{ delete_protection: null }, [['/delete_protection', 'wrong_type']]],
    [{ status: 'running' }, [['/status', 'unknown_field']]],
    [{ server_id: id }, [['/server_id', 'unknown_field']]],
    [{ ssh_key_ids: [] }, [['/ssh_key_ids', 'unknown_field']]],
    [{ plan_type: 'preset' }, [['/preset_id', 'required']]],
    [{ plan_type: 'preset', preset_id: NOBODY }, [['/preset_id', 'not_found']]],
    [{ preset_id: NOBODY, cpu: 2 }, [['/cpu', 'mutually_exclusive']]],
    [{ plan_type: 'custom', preset_id: NOBODY }, [['/preset_id', 'mutually_exclusive']]],
    [{ cpu: 33 }, [['/cpu', 'above_maximum']]],
    [{ ram_mb: 300 }, [['/ram_mb', 'not_a_step']]],
    [{ disk_gb: 5 }, [['/disk_gb', 'below_minimum']]],
  ]
  const before = (await t.call('GET', `/servers/${id}`)).body
  for (const [body, expected] of wrong) {
    const reply = await t.call('PATCH', `/servers/${id}`, body)
    expect([body, reply.status, issues(reply.body)]).toEqual([body, 422, expected])
  }
  expect((await t.call('GET', `/servers/${id}`)).body).toEqual(before)
  expect((await t.call('PATCH', `/servers/${id}`, { labels: labels(32) })).status).toBe(200)
})

test('a stopped server takes every way of naming a plan', async () => {
  const t = await testApp()
  const id = await make(t, { start_on_create: false })
  const presets = (await t.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')).body
  const [small] = presets.filter((preset: { slug: string }) => preset.slug === 'small')
  const resize = async (body: Record<string, unknown>) => {
    expect([body, await t.call('PATCH', `/servers/${id}`, body)]).toMatchObject([
      body,
      { status: 202, body: { current_operation: { type: 'resize' } } },
    ])
    await t.finish()
    const { plan_type, preset_id, cpu, ram_mb, disk_gb } = (await t.call('GET', `/servers/${id}`)).body
    const quotas = (await t.call('GET', '/account/me')).body.quotas
    expect([quotas.cpu.used, quotas.ram_mb.used, quotas.disk_gb.used]).toEqual([cpu, ram_mb, disk_gb])
    const pool = await t.db.selectFrom('pool_usage').selectAll().executeTakeFirstOrThrow()
    expect(pool).toMatchObject({ cpu, ram_mb, disk_gb })
    return [plan_type, preset_id, cpu, ram_mb, disk_gb]
  }
  expect(await resize({ cpu: 2 })).toEqual(['custom', null, 2, 512, 10])
  expect(await resize({ plan_type: 'custom', disk_gb: 15 })).toEqual(['custom', null, 2, 512, 15])
  expect(await resize({ cpu: 1, ram_mb: 256 })).toEqual(['custom', null, 1, 256, 15])
  expect(await resize({ plan_type: 'custom' })).toEqual(['custom', null, 1, 256, 15])
  expect(await resize({ preset_id: small.preset_id })).toEqual(['preset', small.preset_id, 2, 2048, 40])
  expect(await resize({ plan_type: 'preset', preset_id: small.preset_id })).toEqual([
    'preset',
    small.preset_id,
    2,
    2048,
    40,
  ])
  // A preset with a smaller disk.
  const reply = await t.call('PATCH', `/servers/${id}`, { preset_id: presets[0].preset_id })
  expect(issues(reply.body)).toEqual([['/preset_id', 'below_minimum']])
  expect(t.driver.diskOf(id)).toBe(40)
})

test('metadata and configuration in one request happen together or not at all', async () => {
  const t = await testApp()
  const id = await make(t)
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'both', cpu: 2 })).body.code).toBe(
    'server_state_conflict',
  )
  expect((await t.call('GET', `/servers/${id}`)).body.name).not.toBe('both')
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'Shop' })).body
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'both', project_id, cpu: 2 })).status).toBe(202)
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    name: 'both',
    project_id,
    cpu: 2,
    status: 'stopped',
  })
})

test('a growth that a quota or the host can not carry leaves everything as it was', async () => {
  const t = await testApp({ simulator: { host: { cores: 1, ramMb: 2048, diskGb: 100 } } })
  const id = await make(t, { start_on_create: false })
  const before = (await t.call('GET', `/servers/${id}`)).body
  await t.db.updateTable('accounts').set({ quotas: '{"cpu":4}' }).execute()
  expect(await t.call('PATCH', `/servers/${id}`, { name: 'new', cpu: 5 })).toMatchObject({
    status: 403,
    body: { quota: { name: 'cpu', limit: 4, used: 1, requested: 4 } },
  })
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'new', ram_mb: 4096 })).body.code).toBe(
    'capacity_unavailable',
  )
  expect((await t.call('GET', `/servers/${id}`)).body).toEqual(before)
  expect((await t.call('GET', '/account/me')).body.quotas.cpu.used).toBe(1)
  // A resize that fails on its way gives back what it had taken.
  for (let failure = 0; failure < 6; failure++) t.driver.failNext('define', new Error('no'))
  expect((await t.call('PATCH', `/servers/${id}`, { cpu: 4, ram_mb: 256, disk_gb: 20 })).status).toBe(202)
  expect((await t.call('GET', '/account/me')).body.quotas).toMatchObject({
    cpu: { used: 4 },
    disk_gb: { used: 20 },
  })
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'stopped',
    status_reason: 'internal_error',
    cpu: 1,
    disk_gb: 10,
  })
  expect((await t.call('GET', '/account/me')).body.quotas).toMatchObject({
    cpu: { used: 1 },
    ram_mb: { used: 512 },
    disk_gb: { used: 10 },
  })
})

test('the disk of a running server grows while it runs, is paid for, and never twice', async () => {
  const t = await testApp()
  const id = await make(t)
  const show = async () => (await t.call('GET', `/servers/${id}`)).body
  const before = await show()
  // The first answer is lost: the step is carried out again.
  t.driver.failNext('growDisk', new DriverError('unavailable', 'no answer'))
  expect(await t.call('PATCH', `/servers/${id}`, { disk_gb: 15 })).toMatchObject({
    status: 202,
    body: { status: 'resizing', started_at: before.started_at, current_operation: { type: 'resize' } },
  })
  await t.finish()
  const after = await show()
  expect(after).toMatchObject({ status: 'running', disk_gb: 15, started_at: before.started_at })
  expect(Number(after.price_hour_rub)).toBeGreaterThan(Number(before.price_hour_rub))
  expect(t.driver.diskOf(id)).toBe(15)
  expect((await t.call('GET', '/account/me')).body.quotas.disk_gb.used).toBe(15)
  // A server that turned off meanwhile is resized like others that are off.
  await t.call('PATCH', `/servers/${id}`, { disk_gb: 20 })
  t.driver.turnsOffByItself(id, 'guest_shutdown')
  await t.finish()
  expect(t.driver.diskOf(id)).toBe(20)
  expect((await t.call('GET', `/servers/${id}/operations`)).body.items[0]).toMatchObject({
    type: 'resize',
    status: 'succeeded',
  })
})

test('a growth that fails leaves a running server as it was, and a zone without it needs a stop', async () => {
  const t = await testApp()
  const id = await make(t)
  for (let failure = 0; failure < 6; failure++) t.driver.failNext('growDisk', new Error('no'))
  await t.call('PATCH', `/servers/${id}`, { disk_gb: 15 })
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({ status: 'running', disk_gb: 10 })
  expect((await t.call('GET', '/account/me')).body.quotas.disk_gb.used).toBe(10)

  const features = HOST.features.filter((name) => name !== 'live_resize')
  const other = await testApp({ simulator: { host: { features } } })
  const still = await make(other)
  expect((await other.call('PATCH', `/servers/${still}`, { disk_gb: 15 })).body).toMatchObject({
    code: 'server_state_conflict',
    allowed_statuses: ['stopped'],
  })
})
