import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { isHashOf } from '../../../api/drivers/guest/crypt.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2hIrGqvSCMsKUyIYjlFBiDG5ZBFCiCPmvnCUsBP8sV me'

const details = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}/details`)).body

async function begun(t: TestApp, id: string): Promise<string> {
  const accepted = await t.call('POST', `/servers/${id}/reset_password`)
  expect(accepted).toMatchObject({ status: 202, body: { type: 'reset_password', server_id: id } })
  return accepted.body.operation_id
}

/** Resets and waits; @returns the operation as it ended */
async function reset(t: TestApp, id: string) {
  const operation = await begun(t, id)
  await t.finish()
  return (await t.call('GET', `/operations/${operation}`)).body
}

test('a running server gets a new password, which its guest accepts and its details show', async () => {
  const t = await testApp()
  const { body: key } = await t.call('POST', '/account/ssh_keys', { name: 'mine', public_key: KEY })
  const id = await make(t, { ssh_key_ids: [key.ssh_key_id] })
  const before = await details(t, id)
  expect(before.ssh.password).toBeNull()
  expect(await reset(t, id)).toMatchObject({ status: 'succeeded' })
  const { status, started_at, ssh } = await details(t, id)
  expect({ status, started_at }).toEqual({ status: 'running', started_at: before.started_at })
  expect(ssh).toMatchObject({ password: expect.stringMatching(/.{16}/), auth_methods: ['public_key'] })
  expect(isHashOf(ssh.password, t.driver.guestOf(id).passwordHash ?? '')).toBe(true)

  await reset(t, id)
  const again = (await details(t, id)).ssh.password
  expect(again).not.toBe(ssh.password)
  expect(isHashOf(again, t.driver.guestOf(id).passwordHash ?? '')).toBe(true)
})

test('no password is stored readable, nor kept with its operation', async () => {
  const t = await testApp()
  const id = await make(t)
  await begun(t, id)
  await t.finish()
  const { password } = (await details(t, id)).ssh
  const operations = await t.db.selectFrom('operations').selectAll().execute()
  const servers = await t.db.selectFrom('servers').selectAll().execute()
  expect(JSON.stringify([operations, servers])).not.toContain(password)
  expect(operations.filter(({ data }) => data.includes('password'))).toEqual([])
})

test('a guest whose agent is silent is asked again, then the operation fails and the old password stays', async () => {
  const t = await testApp()
  const id = await make(t)
  const { password } = (await details(t, id)).ssh
  t.driver.failNext('setPassword', new DriverError('unavailable', 'silence'))
  expect(await reset(t, id)).toMatchObject({ status: 'succeeded' })
  const second = (await details(t, id)).ssh.password
  expect(second).not.toBe(password)

  for (let asked = 0; asked < 100; asked++)
    t.driver.failNext('setPassword', new DriverError('unavailable', 'silence'))
  expect(await reset(t, id)).toMatchObject({
    status: 'failed',
    error: { code: 'agent_unavailable', message: expect.stringContaining('qemu-guest-agent') },
  })
  expect(await details(t, id)).toMatchObject({ status: 'running', ssh: { password: second } })
})

test('a machine without a channel to its agent, and one that turned off, say what to do', async () => {
  const t = await testApp()
  const id = await make(t)
  t.driver.failNext('setPassword', new DriverError('unsupported', 'until its next start'))
  expect(await reset(t, id)).toMatchObject({ error: { code: 'not_supported' } })
  await begun(t, id)
  t.driver.turnsOffByItself(id, 'guest_shutdown')
  await t.finish()
  await t.app.reconciler.look()
  expect(await details(t, id)).toMatchObject({ status: 'stopped', status_reason: 'guest_shutdown' })
  const refused = await t.call('POST', `/servers/${id}/reset_password`)
  expect(refused).toMatchObject({ status: 409, body: { allowed_statuses: ['running'] } })
})

test('a zone without the feature refuses, and says so in its features', async () => {
  const t = await testApp({ simulator: { host: { features: ['console'] } } })
  const id = await make(t)
  const refused = await t.call('POST', `/servers/${id}/reset_password`)
  expect(refused).toMatchObject({ body: { code: 'not_supported', feature: 'reset_password' } })
})
