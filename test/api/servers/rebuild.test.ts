import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { issues, make, NOBODY } from '../harness/ordering.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2hIrGqvSCMsKUyIYjlFBiDG5ZBFCiCPmvnCUsBP8sV me'

async function templates({ call }: TestApp): Promise<Record<string, string>> {
  const { body } = await call('GET', '/templates')
  return Object.fromEntries(
    body.map(({ slug, template_id }: { slug: string; template_id: string }) => [slug, template_id]),
  )
}

async function details({ call }: TestApp, id: string) {
  return (await call('GET', `/servers/${id}/details`)).body
}

/** Rebuilds and waits; @returns the operation as it ended */
async function rebuild(t: TestApp, id: string, body: Record<string, unknown>) {
  const accepted = await t.call('POST', `/servers/${id}/rebuild`, body)
  expect(accepted).toMatchObject({ status: 202, body: { type: 'rebuild', server_id: id } })
  expect(accepted.headers.location).toBe(`/v1/servers/${id}/operations/${accepted.body.operation_id}`)
  await t.finish()
  return (await t.call('GET', `/operations/${accepted.body.operation_id}`)).body
}

test('a rebuilt server has a new system and host keys, and keeps all else', async () => {
  const t = await testApp()
  const { 'debian-12': debian } = await templates(t)
  const { body: key } = await t.call('POST', '/account/ssh_keys', { name: 'mine', public_key: KEY })
  const id = await make(t, {
    ssh_key_ids: [key.ssh_key_id],
    published_ports: [{ protocol: 'tcp', port: 80 }],
  })
  const before = await details(t, id)
  await t.clock.advance(60_000)
  expect(await rebuild(t, id, { template_id: debian })).toMatchObject({ status: 'succeeded' })
  const after = await details(t, id)
  const { template_id, template, updated_at, started_at, current_operation, stats, ...rest } = before
  expect(after).toMatchObject({ status: 'running', template_id: debian, template: { slug: 'debian-12' } })
  expect(after.ssh.host_key_fingerprints).not.toEqual(before.ssh.host_key_fingerprints)
  expect(after.network).toEqual(rest.network)
  expect(after.ssh.port).toBe(rest.ssh.port)
  expect(after.ssh_key_ids).toEqual([key.ssh_key_id])
  expect(after.price_month_rub).toBe(rest.price_month_rub)
  expect(after.billing.billed_since).toBe(rest.billing.billed_since)
})

test('a stopped server runs after a rebuild, and one in error gets its machine back', async () => {
  const t = await testApp()
  const { micro } = await templates(t)
  const stopped = await make(t, { start_on_create: false })
  expect(await rebuild(t, stopped, { template_id: micro })).toMatchObject({ status: 'succeeded' })
  expect(await details(t, stopped)).toMatchObject({ status: 'running' })

  const broken = await make(t)
  await t.driver.destroy(broken)
  await t.app.reconciler.look()
  expect(await details(t, broken)).toMatchObject({ status: 'error', status_reason: 'disk_lost' })
  expect(await rebuild(t, broken, { template_id: micro })).toMatchObject({ status: 'succeeded' })
  expect(await details(t, broken)).toMatchObject({ status: 'running', status_reason: null })
})

test('a rebuild takes other keys and other user data, and without a key the server gets a new password', async () => {
  const t = await testApp()
  const { micro } = await templates(t)
  const id = await make(t, { user_data: '#cloud-config\n' })
  const before = await details(t, id)
  expect(before.ssh.password).toMatch(/./)
  await rebuild(t, id, { template_id: micro })
  const again = await details(t, id)
  expect(again.ssh.password).toMatch(/./)
  expect(again.ssh.password).not.toBe(before.ssh.password)
  expect(again.user_data_sha256).toBe(before.user_data_sha256)

  const { body: key } = await t.call('POST', '/account/ssh_keys', { name: 'mine', public_key: KEY })
  await rebuild(t, id, { template: 'micro', ssh_key_ids: [key.ssh_key_id], user_data: null })
  expect(await details(t, id)).toMatchObject({
    ssh_key_ids: [key.ssh_key_id],
    ssh: { password: null, keys: [{ name: 'mine' }] },
    user_data_sha256: null,
  })
  await rebuild(t, id, { template_id: micro, ssh_key_ids: [] })
  expect(await details(t, id)).toMatchObject({ ssh_key_ids: [], ssh: { password: expect.any(String) } })
})

test('an impossible rebuild is refused, and changes nothing', async () => {
  const t = await testApp()
  const { micro, 'alma-9': alma } = await templates(t)
  const id = await make(t, { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 5 })
  const before = await details(t, id)
  const refused = async (body: Record<string, unknown>) => {
    const reply = await t.call('POST', `/servers/${id}/rebuild`, body)
    return [reply.status, reply.body.code, ...issues(reply.body).flat()]
  }
  const invalid = [422, 'validation_failed']
  expect(await refused({})).toEqual([...invalid, '/template_id', 'required'])
  expect(await refused({ template: 'debain-12' })).toEqual([...invalid, '/template', 'not_found'])
  expect(await refused({ template: 'micro', template_id: micro })).toContain('mutually_exclusive')
  expect(await refused({ template_id: NOBODY })).toEqual([...invalid, '/template_id', 'not_found'])
  expect(await refused({ template_id: alma })).toEqual([...invalid, '/template_id', 'disk_too_small'])
  expect(await refused({ template_id: micro, ssh_key_ids: [NOBODY] })).toEqual([
    ...invalid,
    '/ssh_key_ids/0',
    'not_found',
  ])
  await t.call('PATCH', `/servers/${id}`, { delete_protection: true })
  expect(await refused({ template_id: micro })).toEqual([409, 'delete_protected'])
  expect((await details(t, id)).allowed_actions).not.toContain('rebuild')
  const reader = t.callAs(await t.makeToken(['servers:read']))
  expect(await reader('POST', `/servers/${id}/rebuild`, { template_id: micro })).toMatchObject({
    status: 403,
  })
  const stranger = t.callAs(await t.makeToken(['write'], { accountId: await t.makeAccount() }))
  expect(await stranger('POST', `/servers/${id}/rebuild`, { template_id: micro })).toMatchObject({
    status: 404,
    body: { code: 'server_not_found' },
  })
  expect(await details(t, id)).toMatchObject({ status: 'running', template_id: before.template_id })
})

test('if the image is unavailable, the server keeps running on its disk', async () => {
  const t = await testApp()
  const { 'debian-12': debian } = await templates(t)
  const id = await make(t)
  const before = await details(t, id)
  t.clock.advance(60_000)
  for (let failure = 0; failure < 6; failure++) t.driver.failNext('image', new Error('no mirror'))
  expect(await rebuild(t, id, { template_id: debian })).toMatchObject({ status: 'failed' })
  expect(await details(t, id)).toMatchObject({
    status: 'running',
    template_id: before.template_id,
    started_at: before.started_at,
    ssh: { host_key_fingerprints: before.ssh.host_key_fingerprints },
  })
})

test('a rebuild that fails once the disk is gone leaves a server in error, which a start completes', async () => {
  const t = await testApp()
  const { 'debian-12': debian } = await templates(t)
  const id = await make(t)
  for (let failure = 0; failure < 6; failure++) t.driver.failNext('define', new Error('no room'))
  expect(await rebuild(t, id, { template_id: debian })).toMatchObject({ status: 'failed' })
  expect(await details(t, id)).toMatchObject({ status: 'error', template_id: debian, started_at: null })
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  expect(await details(t, id)).toMatchObject({ status: 'running', template_id: debian })
})

test('a server can be deleted in the middle of its rebuild, and leaves nothing behind', async () => {
  const t = await testApp({ simulator: { bootMs: 1_000 } })
  const { micro } = await templates(t)
  const id = await make(t)
  const { body } = await t.call('POST', `/servers/${id}/rebuild`, { template_id: micro })
  await t.work()
  expect(await t.call('DELETE', `/servers/${id}`)).toMatchObject({ status: 202 })
  await t.finish()
  expect((await t.call('GET', `/operations/${body.operation_id}`)).body).toMatchObject({ status: 'canceled' })
  expect((await t.driver.list()).size).toBe(0)
  // Its step was running when it was canceled, and has given its lease back since.
  const rebuilt = t.db.selectFrom('operations').select('data').where('type', '=', 'rebuild')
  expect(await rebuilt.execute()).toEqual([{ data: '{}' }])
})

test('a running server whose host does not answer until the deadline still counts as running', async () => {
  const t = await testApp()
  const id = await make(t)
  t.driver.destroy = async () => {
    throw new DriverError('unavailable', 'The host does not answer.')
  }
  t.driver.inspect = async () => ({ power: 'away', isMoving: false })
  expect(await rebuild(t, id, { template: 'micro' })).toMatchObject({
    status: 'failed',
    error: { code: 'operation_timeout' },
  })
  expect(await details(t, id)).toMatchObject({ status: 'running', status_reason: 'operation_timeout' })
})

test('a rebuild in events names the new system, and a repeat by its key begins no second one', async () => {
  const t = await testApp()
  const { 'debian-12': debian } = await templates(t)
  const id = await make(t)
  const key = { 'idempotency-key': 'once' }
  const first = await t.call('POST', `/servers/${id}/rebuild`, { template_id: debian }, key)
  await t.finish()
  const second = await t.call('POST', `/servers/${id}/rebuild`, { template_id: debian }, key)
  expect(second.body.operation_id).toBe(first.body.operation_id)
  await t.app.events.relay()
  const { body } = await t.call('GET', '/events?limit=200')
  const changes = body.items
    .filter(({ type }: { type: string }) => type === 'server.status_changed')
    .map(({ data }: { data: Record<string, string> }) => `${data.old_status} → ${data.new_status}`)
  expect(changes.slice(-2)).toEqual(['running → rebuilding', 'rebuilding → running'])
  const updated = body.items.filter(({ type }: { type: string }) => type === 'server.updated')
  expect(updated.map(({ data }: { data: { template_id: string } }) => data.template_id)).toEqual([debian])
})

test('an operation that has ended keeps no password and no user data', async () => {
  const t = await testApp()
  const { micro } = await templates(t)
  const id = await make(t)
  expect(await rebuild(t, id, { template_id: micro, user_data: '#cloud-config\n' })).toMatchObject({
    status: 'succeeded',
  })
  await t.call('POST', `/servers/${id}/rebuild`, { template_id: micro })
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const rows = await t.db.selectFrom('operations').select(['status', 'data']).execute()
  expect(rows.map(({ status }) => status)).toContain('canceled')
  expect(rows.map(({ data }) => data).filter((data) => data !== '{}')).toEqual([])
})
