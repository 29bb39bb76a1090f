// Snapshots and backups of a host that can only export them, as Incus does.
import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import type { SnapshotFiles } from '../../../api/drivers/snapshots.ts'
import type { TestApp } from '../../harness/app.ts'
import { finish, take, withBucket } from '../harness/offsite.ts'
import { make } from '../harness/ordering.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR

/** The files of a simulated snapshot as exports: each that is released is followed by one of another name. */
function exporting(files: SnapshotFiles): SnapshotFiles & { exports: Set<string> } {
  const exports = new Set<string>()
  let turn = 0
  const plain = (name: string) => name.replace(/^e-\d+-/, '')
  return {
    exports,
    areExports: true,
    list: async (id) => {
      if (!exports.has(id)) turn++
      exports.add(id)
      const all = await files.list(id)
      return all?.map((file) => ({ ...file, name: `e-${turn}-${file.name}` })) ?? null
    },
    read: (id, part) => files.read(id, { ...part, name: plain(part.name) }),
    write: (id, part) => files.write(id, { ...part, name: plain(part.name) }),
    accept: (id, all) =>
      files.accept(
        id,
        all.map((file) => ({ ...file, name: plain(file.name) })),
      ),
    release: async (id) => void exports.delete(id),
  }
}

async function open() {
  const { t, bucket } = await withBucket()
  const files = exporting(t.driver.snapshotFiles)
  Object.assign(t.driver, { snapshotFiles: files })
  const { snapshot, verifySnapshot } = t.driver
  t.driver.snapshot = async (serverId, snapshotId) => {
    const copy = await snapshot.call(t.driver, serverId, snapshotId)
    return copy.state === 'ready' ? { ...copy, isExported: true } : copy
  }
  t.driver.verifySnapshot = async (id) => {
    const found = await verifySnapshot.call(t.driver, id)
    return found.state === 'damaged' ? found : { state: 'exported' }
  }
  return { t, bucket, files }
}

/** Verifies what is due, and waits for what is read off site. */
async function verify(t: TestApp): Promise<void> {
  // One copy is read at a time.
  for (let copies = 0; copies < 3; copies++) {
    await t.app.backups.verify()
    await t.app.offsite.settled()
  }
}

const shown = async (t: TestApp, id: string) => (await t.call('GET', `/snapshots/${id}`)).body

test('a snapshot that can only be exported is verified by its copy off site', async () => {
  const { t, files } = await open()
  const id = await take(t, await make(t))
  t.clock.advance(9 * HOUR)
  await verify(t)
  expect(await shown(t, id)).toMatchObject({ status: 'available', verified_at: null })
  await t.app.offsite.look()
  expect([...files.exports]).toEqual([])
  t.clock.advance(2 * HOUR)
  await verify(t)
  expect(await shown(t, id)).toMatchObject({
    status: 'available',
    verified_at: new Date(t.clock.now()).toISOString(),
    verified_by: 'hash',
  })
})

test('a damaged copy off site is sent again, while the snapshot stays available', async () => {
  const { t, bucket } = await open()
  const server = await make(t)
  const id = await take(t, server)
  await t.app.offsite.look()
  const [part = ''] = [...bucket.objects.keys()].filter((key) => /000001/.test(key))
  bucket.objects.set(part, Buffer.from('changed'))
  t.clock.advance(9 * HOUR)
  await verify(t)
  expect(await shown(t, id)).toMatchObject({ status: 'available', verified_at: null, offsite_at: null })
  t.clock.advance(2 * HOUR)
  await t.app.offsite.look()
  await verify(t)
  expect(await shown(t, id)).toMatchObject({ verified_by: 'hash', offsite_at: expect.any(String) })
  await t.driver.removeSnapshot(id)
  const { body } = await t.call('POST', `/servers/${server}/restore`, { snapshot_id: id })
  await finish(t)
  expect((await t.call('GET', `/operations/${body.operation_id}`)).body.status).toBe('succeeded')
})

test('a snapshot that its host has lost before it was copied is found damaged', async () => {
  const { t } = await open()
  const id = await take(t, await make(t))
  await t.driver.removeSnapshot(id)
  t.clock.advance(9 * HOUR)
  await verify(t)
  expect((await shown(t, id)).status).toBe('error')
})

test('an export that finds no room is tried again after hours, and one of which nothing was sent is removed', async () => {
  const { t, bucket, files } = await open()
  const id = await take(t, await make(t))
  const { list } = files
  let tries = 0
  files.list = async () => {
    tries++
    throw new DriverError('disk_full', 'The disk of the host is full.')
  }
  await t.app.offsite.look()
  t.clock.advance(HOUR)
  await t.app.offsite.look()
  expect(tries).toBe(1)
  files.list = list
  bucket.statuses = Array.from({ length: 5 }, () => 507)
  t.clock.advance(6 * HOUR)
  await t.app.offsite.look()
  expect([...files.exports]).toEqual([])
  t.clock.advance(HOUR)
  bucket.statuses = []
  await t.app.offsite.look()
  expect(await shown(t, id)).toMatchObject({ offsite_at: expect.any(String) })
})

test('daily backups that can only be exported are kept whole, and the newest is booted', async () => {
  const { t } = await open()
  const id = await make(t, { backups_enabled: true, backup_window: 3 })
  for (let day = 0; day < 2; day++) {
    t.clock.advance(DAY)
    await t.app.backups.look()
    await finish(t)
  }
  await t.app.offsite.look()
  const trials: string[] = []
  t.driver.trySnapshot = async (snapshotId) => {
    trials.push(snapshotId)
    return { state: 'booted', sign: 'init' }
  }
  await verify(t)
  // Some of these hours are at night.
  for (let hour = 0; hour < 24; hour++) {
    t.clock.advance(HOUR)
    await t.app.backups.bootNewest()
  }
  await verify(t)
  const { items } = (await t.call('GET', `/servers/${id}/backups`)).body
  expect(items).toMatchObject([
    { backup_id: trials[0], verified_by: 'boot', boot_result: 'init' },
    { verified_by: 'hash', boot_result: null },
  ])
  expect(trials).toHaveLength(1)
  for (const item of items)
    expect(item).toMatchObject({ status: 'available', offsite_at: expect.any(String) })
})
