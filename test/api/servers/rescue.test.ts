import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2hIrGqvSCMsKUyIYjlFBiDG5ZBFCiCPmvnCUsBP8sV me'

const details = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}/details`)).body

/** Enters or ends rescue and waits; @returns the operation as it ended */
async function turn(t: TestApp, id: string, type: 'rescue' | 'unrescue', body?: Record<string, unknown>) {
  const accepted = await t.call('POST', `/servers/${id}/${type}`, body)
  expect(accepted).toMatchObject({ status: 202, body: { type, server_id: id } })
  await t.finish()
  return (await t.call('GET', `/operations/${accepted.body.operation_id}`)).body
}

test('a server boots the rescue system with a password of its own, and its own disk afterwards', async () => {
  const t = await testApp()
  const { body: key } = await t.call('POST', '/account/ssh_keys', { name: 'mine', public_key: KEY })
  const id = await make(t, {
    ssh_key_ids: [key.ssh_key_id],
    published_ports: [{ protocol: 'tcp', port: 80 }],
  })
  const before = await details(t, id)
  expect(before).toMatchObject({ rescue: false, ssh: { password: null } })
  expect(await turn(t, id, 'rescue')).toMatchObject({ status: 'succeeded' })
  const inRescue = await details(t, id)
  expect(inRescue).toMatchObject({
    status: 'running',
    rescue: true,
    ssh: { username: 'root', auth_methods: ['password'], keys: [], password: expect.stringMatching(/.{16}/) },
    network: before.network,
    billing: { billed_since: before.billing.billed_since },
  })
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    rescue: true,
    ssh: { username: 'root', port: before.ssh.port },
  })
  expect(inRescue.ssh.host_key_fingerprints).not.toEqual(before.ssh.host_key_fingerprints)

  expect(await turn(t, id, 'unrescue')).toMatchObject({ status: 'succeeded' })
  expect(await details(t, id)).toMatchObject({ status: 'running', rescue: false, ssh: before.ssh })
})

test('the rescue system takes SSH keys instead of a password, and a new login with each rescue', async () => {
  const t = await testApp()
  const { body: key } = await t.call('POST', '/account/ssh_keys', { name: 'mine', public_key: KEY })
  const id = await make(t, { start_on_create: false })
  await turn(t, id, 'rescue', { ssh_key_ids: [key.ssh_key_id] })
  const first = await details(t, id)
  expect(first).toMatchObject({
    status: 'running',
    ssh: { password: null, auth_methods: ['public_key'], keys: [{ ssh_key_id: key.ssh_key_id }] },
  })
  expect(first.ssh_key_ids).toEqual([])
  await turn(t, id, 'rescue')
  const second = await details(t, id)
  expect(second.ssh).toMatchObject({ auth_methods: ['password'], keys: [] })
  expect(second.ssh.host_key_fingerprints).not.toEqual(first.ssh.host_key_fingerprints)
  const unknown = await t.call('POST', `/servers/${id}/rescue`, { ssh_key_ids: [id] })
  expect(unknown).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'ssh_key_ids.0', code: 'not_found' }] },
  })
})

test('no password of a rescue system is stored readable, nor kept with its operation', async () => {
  const t = await testApp()
  const id = await make(t)
  await turn(t, id, 'rescue')
  const { password } = (await details(t, id)).ssh
  const operations = await t.db.selectFrom('operations').selectAll().execute()
  const servers = await t.db.selectFrom('servers').selectAll().execute()
  expect(JSON.stringify([operations, servers])).not.toContain(password)
  expect(operations.filter(({ data }) => data.includes('rescue_login'))).toEqual([])
  const { body: reader } = await t.call('POST', '/account/tokens', { name: 'r', scopes: ['servers:read'] })
  const seen = await t.call('GET', `/servers/${id}/details`, undefined, {
    authorization: `Bearer ${reader.token}`,
  })
  expect(seen.body.ssh.password).toBeNull()
})

test('nothing of the login of a rescue system is kept once its server is deleted', async () => {
  const t = await testApp()
  const id = await make(t)
  await turn(t, id, 'rescue')
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const server = await t.db.selectFrom('servers').selectAll().executeTakeFirstOrThrow()
  expect(server).toMatchObject({ deleted_at: expect.any(Number), rescue_login: null })
})

test('in rescue a server stops, starts, reboots and recovers into the rescue system', async () => {
  const t = await testApp()
  const id = await make(t)
  await turn(t, id, 'rescue')
  const { ssh } = await details(t, id)
  for (const action of ['reboot', 'stop', 'start']) {
    await t.call('POST', `/servers/${id}/${action}`)
    await t.finish()
  }
  expect(await details(t, id)).toMatchObject({ status: 'running', rescue: true, ssh })
  t.driver.turnsOffByItself(id, 'crashed')
  await t.app.reconciler.look()
  await t.finish()
  expect(await details(t, id)).toMatchObject({ status: 'running', rescue: true, ssh })
  for (const [method, path, body] of [
    ['POST', `/servers/${id}/reset_password`, undefined],
    ['POST', '/snapshots', { server_id: id }],
  ] as const)
    expect(await t.call(method, path, body)).toMatchObject({ status: 409, body: { code: 'rescue_conflict' } })
  const { allowed_actions } = await details(t, id)
  expect(allowed_actions).toContain('unrescue')
  expect(allowed_actions).not.toContain('reset_password')
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect(await t.call('GET', `/servers/${id}`)).toMatchObject({ status: 404 })
})

test('a server whose creation failed after its disk was made boots the rescue system, too', async () => {
  const t = await testApp()
  const id = await make(t)
  const { ssh } = await details(t, id)
  await t.db.updateTable('servers').set({ has_disk: 0 }).where('server_id', '=', id).execute()
  await turn(t, id, 'rescue')
  const inRescue = await details(t, id)
  expect(inRescue).toMatchObject({ status: 'running', rescue: true })
  expect(inRescue.ssh.host_key_fingerprints).not.toEqual(ssh.host_key_fingerprints)
  await turn(t, id, 'unrescue')
  expect(await details(t, id)).toMatchObject({ status: 'running', rescue: false, ssh })
})

test('a rebuild ends rescue, and unrescue of a server that is not in rescue is refused', async () => {
  const t = await testApp()
  const id = await make(t)
  expect(await t.call('POST', `/servers/${id}/unrescue`)).toMatchObject({
    status: 409,
    body: { code: 'rescue_conflict', detail: expect.stringContaining('not in rescue') },
  })
  const before = await details(t, id)
  await turn(t, id, 'rescue')
  await t.call('POST', `/servers/${id}/rebuild`, { template_id: before.template_id })
  await t.finish()
  const { username } = before.ssh
  expect(await details(t, id)).toMatchObject({ status: 'running', rescue: false, ssh: { username } })
})

test('without its image, or cut off by a forced stop, a rescue leaves the server bootable', async () => {
  const t = await testApp({ simulator: { shutdownMs: 60_000 } })
  const id = await make(t)
  for (let failure = 0; failure < 6; failure++) t.driver.failNext('image', new Error('no'))
  expect(await turn(t, id, 'rescue')).toMatchObject({ status: 'failed' })
  const { started_at } = await details(t, id)
  expect(await details(t, id)).toMatchObject({ status: 'running', rescue: false, started_at })

  const { body: cut } = await t.call('POST', `/servers/${id}/rescue`)
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  expect((await t.call('GET', `/operations/${cut.operation_id}`)).body.status).toBe('canceled')
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  expect(await details(t, id)).toMatchObject({ status: 'running', rescue: false })

  await t.driver.destroy(id)
  expect(await turn(t, id, 'rescue')).toMatchObject({ error: { code: 'disk_lost' } })
})

test('a zone without the feature refuses, and says so in its features', async () => {
  const t = await testApp({ simulator: { host: { features: ['console'] } } })
  const id = await make(t)
  expect(await t.call('POST', `/servers/${id}/rescue`)).toMatchObject({
    body: { code: 'not_supported', feature: 'rescue' },
  })
  t.driver.failNext('rescue', new DriverError('unsupported', 'no'))
  await t.call('POST', `/servers/${id}/reboot`)
  await t.finish()
  expect((await details(t, id)).status_reason).toBe('not_supported')
})
