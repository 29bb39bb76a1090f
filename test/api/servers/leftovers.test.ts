import { expect, test, vi } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

/** Creates and deletes a server. @returns the command that created its machine */
async function deleted(t: TestApp) {
  const define = vi.spyOn(t.driver, 'define')
  const id = await make(t)
  const [spec] = define.mock.calls[0] ?? []
  if (!spec) throw new Error('no machine was made')
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  return spec
}

test('a machine that appears after its server was deleted is deleted, and one of no server is left alone', async () => {
  const t = await testApp()
  const spec = await deleted(t)
  // Two commands of a process that was cut off arrive: one of this installation, one of another.
  await t.driver.define(spec)
  await t.driver.define({ ...spec, serverId: 'foreign' })
  expect([...(await t.driver.list()).keys()]).toEqual([spec.serverId, 'foreign'])
  await t.app.reconciler.sweep()
  expect([...(await t.driver.list()).keys()]).toEqual(['foreign'])
})

test('a machine of a deleted server is deleted although no process ran for a day', async () => {
  const t = await testApp()
  const spec = await deleted(t)
  await t.driver.define(spec)
  t.clock.advance(25 * 3600_000)
  await t.app.reconciler.sweep()
  expect([...(await t.driver.list()).keys()]).toEqual([])
})

test('a volume that appears after it was deleted is removed, and those of others are left alone', async () => {
  const t = await testApp()
  const [id, kept] = await Promise.all(
    ['gone', 'kept'].map(async (name) => {
      const wanted = { name, zone_slug: 'local-1', size_gb: 10 }
      return (await t.call('POST', '/volumes', wanted)).body.volume_id as string // the reply to a create
    }),
  )
  await t.call('DELETE', `/volumes/${id}`)
  await t.finish()
  for (const late of [id, kept, 'foreign']) await t.driver.volume(late ?? '', 10)
  await t.app.reconciler.sweep()
  expect([...(await t.driver.listVolumes()).keys()]).toEqual([kept, 'foreign'])
})

/** Creates a volume. @returns its id, a way to attach or detach it, and one to say where it is by row and by host */
async function volumeOf(t: TestApp) {
  const wanted = { name: 'data', zone_slug: 'local-1', size_gb: 10 }
  const { volume_id } = (await t.call('POST', '/volumes', wanted)).body
  const change = async (what: 'attach' | 'detach', body?: object) => {
    await t.call('POST', `/volumes/${volume_id}/${what}`, body)
    await t.finish()
  }
  const places = async () => {
    const { status, server_id } = (await t.call('GET', `/volumes/${volume_id}`)).body
    return [status, server_id, (await t.driver.listVolumes()).get(volume_id)]
  }
  return { volume_id, change, places }
}

/** Sweeps once the last operation of each volume is long over. */
async function sweepLater(t: TestApp) {
  t.clock.advance(11 * 60_000)
  await t.app.reconciler.sweep()
  await t.finish()
}

test('a volume that is attached or detached by a late command is brought back to where its owner put it', async () => {
  const t = await testApp()
  const [first, second] = [await make(t), await make(t)]
  const { volume_id, change, places } = await volumeOf(t)
  await change('attach', { server_id: first })
  await change('detach')
  await t.driver.attachVolume(volume_id, first)
  await t.app.reconciler.sweep()
  expect(await places()).toEqual(['available', null, first])
  await sweepLater(t)
  expect(await places()).toEqual(['available', null, null])
  await change('attach', { server_id: second })
  await t.driver.attachVolume(volume_id, first)
  await sweepLater(t)
  expect(await places()).toEqual(['attached', second, second])
  await t.driver.detachVolume(volume_id, second)
  await sweepLater(t)
  expect(await places()).toEqual(['attached', second, second])
})

test('a server keeps a volume that could not be brought back to its machine yet', async () => {
  const t = await testApp()
  const server_id = await make(t)
  const { volume_id, change, places } = await volumeOf(t)
  await change('attach', { server_id })
  await t.driver.detachVolume(volume_id, server_id)
  vi.spyOn(t.driver, 'attachVolume').mockRejectedValueOnce(
    new DriverError('unsupported', 'Not before its next start.'),
  )
  await sweepLater(t)
  expect(await places()).toEqual(['attached', server_id, null])
  await sweepLater(t)
  expect(await places()).toEqual(['attached', server_id, server_id])
})

test('a volume that a machine cannot give back stays free for its owner', async () => {
  const t = await testApp()
  const server_id = await make(t)
  const { volume_id, change, places } = await volumeOf(t)
  await change('attach', { server_id })
  await change('detach')
  await t.driver.attachVolume(volume_id, server_id)
  vi.spyOn(t.driver, 'detachVolume').mockRejectedValueOnce(
    new DriverError('unsupported', 'It has to be off.'),
  )
  await sweepLater(t)
  expect(await places()).toEqual(['available', null, server_id])
  await sweepLater(t)
  expect(await places()).toEqual(['available', null, null])
})

test('a machine that is turned on after its server was stopped is turned off again', async () => {
  const t = await testApp()
  const [late, inTime] = [await make(t), await make(t)]
  const status = async (id: string) => (await t.call('GET', `/servers/${id}`)).body.status
  await t.call('POST', `/servers/${late}/stop`)
  await t.finish()
  await t.driver.start(late)
  await t.app.reconciler.sweep()
  expect(await status(late)).toBe('stopping')
  await t.finish()
  expect(await status(late)).toBe('stopped')
  const power = async (id: string) => (await t.driver.inspect(id)).power
  expect([await power(late), await power(inTime)]).toEqual(['stopped', 'running'])
})

test('a server that is started during the look stays on', async () => {
  const t = await testApp()
  const id = await make(t)
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  const list = t.driver.list.bind(t.driver)
  vi.spyOn(t.driver, 'list').mockImplementationOnce(async () => {
    await t.call('POST', `/servers/${id}/start`)
    await t.finish()
    return list()
  })
  await t.app.reconciler.sweep()
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
})

test('a suspended server whose machine is turned on late stays suspended', async () => {
  const t = await testApp()
  const id = await make(t)
  await t.db.updateTable('accounts').set({ status: 'suspended' }).execute()
  await t.app.billing.look()
  await t.finish()
  await t.driver.start(id)
  await t.app.reconciler.sweep()
  await t.finish()
  const server = await t.db.selectFrom('servers').selectAll().executeTakeFirstOrThrow()
  expect(server).toMatchObject({
    status: 'suspended',
    status_reason: 'account_suspended',
    suspended_from: 'running',
  })
  expect((await t.driver.inspect(id)).power).toBe('stopped')
})
