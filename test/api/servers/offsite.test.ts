import { expect, onTestFinished, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import type { TestBucket } from '../../../api/offsite/test-bucket.ts'
import type { TestApp } from '../../harness/app.ts'
import { finish, take, withBucket } from '../harness/offsite.ts'
import { make, order } from '../harness/ordering.ts'
import { makeOperatorToken } from '../operator/harness/shop.ts'

const MINUTE = 60_000
const WEEK = 7 * 24 * 60 * MINUTE

interface Site {
  t: TestApp
  bucket: TestBucket
  /** The state off site, as the operator sees it. */
  state(): Promise<Record<string, unknown>>
}

async function open(): Promise<Site> {
  const { t, bucket } = await withBucket()
  const state = async () => {
    const { value } = await makeOperatorToken(t, ['operator:read'])
    return (await t.callAs(value)('GET', '/operator/offsite')).body
  }
  return { t, bucket, state }
}

async function restore(t: TestApp, id: string, snapshot_id: string) {
  const { body } = await t.call('POST', `/servers/${id}/restore`, { snapshot_id })
  await finish(t)
  return (await t.call('GET', `/operations/${body.operation_id}`)).body
}

const keysOf = ({ objects }: TestBucket, id: string) =>
  [...objects.keys()].filter((key) => key.startsWith(`${id}/`))

test('a snapshot is copied off site once, encrypted, and removed there when it is deleted', async () => {
  const { t, bucket, state } = await open()
  const id = await make(t, { name: 'a-name-to-look-for' })
  const snapshot = await take(t, id)
  expect(await state()).toMatchObject({ waiting: { total: 1 }, waiting_since: expect.any(String) })
  const storedAt = async () => (await t.call('GET', `/snapshots/${snapshot}`)).body.offsite_at
  expect(await storedAt()).toBeNull()
  await t.app.offsite.look()
  expect(await storedAt()).toBe(new Date(t.clock.now()).toISOString())
  expect(keysOf(bucket, snapshot).length).toBeGreaterThan(3)
  for (const bytes of bucket.objects.values()) {
    expect(bytes.subarray(0, 21).toString()).toBe('age-encryption.org/v1')
    expect(bytes.includes('a-name-to-look-for')).toBe(false)
  }
  expect(await state()).toMatchObject({
    stored: { total: 1, bytes: expect.any(Number) },
    ...{ waiting: { total: 0 }, waiting_since: null, fault: null },
  })
  bucket.seen.length = 0
  await t.app.offsite.look()
  expect(bucket.seen).toEqual([])
  await t.call('DELETE', `/snapshots/${snapshot}`)
  expect(await state()).toMatchObject({ stored: { total: 0 }, removing: { total: 1 } })
  await t.app.offsite.look()
  expect(bucket.objects.size).toBe(0)
  expect(await state()).toMatchObject({ removing: { total: 0 } })
})

test('a snapshot that its host has lost is brought back by a restore, a new server and an image', async () => {
  const { t } = await open()
  const id = await make(t)
  const snapshot = await take(t, id)
  await t.app.offsite.look()
  const files = await t.driver.snapshotFiles.list(snapshot)
  const lose = () => t.driver.removeSnapshot(snapshot)
  await lose()
  expect(await restore(t, id, snapshot)).toMatchObject({ status: 'succeeded' })
  expect(await t.driver.snapshotFiles.list(snapshot)).toEqual(files)
  await lose()
  const { body: other } = await t.call(
    'POST',
    '/servers',
    await order(t.call, { template_id: undefined, snapshot_id: snapshot }),
  )
  await finish(t)
  expect((await t.call('GET', `/servers/${other.server_id}`)).body).toMatchObject({ status: 'running' })
  await lose()
  const { body: image } = await t.call('POST', '/images', { name: 'golden', snapshot_id: snapshot })
  await finish(t)
  expect((await t.call('GET', `/images/${image.image_id}`)).body.status).toBe('available')
})

test.each(['write', 'accept'] as const)(
  'a snapshot that is deleted long before its %s to its host ends leaves nothing there',
  async (name) => {
    const { t } = await open()
    const snapshot = await take(t, await make(t))
    await t.app.offsite.look()
    await t.driver.removeSnapshot(snapshot)
    const [begun, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    onTestFinished(() => late.resolve())
    const { snapshotFiles: files } = t.driver
    const real: (...given: never[]) => Promise<unknown> = files[name].bind(files)
    Object.assign(files, {
      [name]: async (...given: never[]) => {
        begun.resolve()
        await late.promise
        return real(...given)
      },
    })
    const { body: image } = await t.call('POST', '/images', { name: 'golden', snapshot_id: snapshot })
    await t.work()
    await begun.promise
    await t.call('DELETE', `/images/${image.image_id}`)
    expect((await t.call('DELETE', `/snapshots/${snapshot}`)).status).toBe(204)
    await t.app.reconciler.sweep()
    t.clock.advance(2 * 60 * MINUTE)
    await t.app.reconciler.sweep()
    late.resolve()
    await t.app.offsite.settled()
    expect(await t.driver.listSnapshots()).toEqual(new Map())
  },
)

test('a copy that rotted on its host is replaced by the one off site, and stays available', async () => {
  const { t } = await open()
  const id = await make(t)
  const snapshot = await take(t, id)
  await t.app.offsite.look()
  await t.driver.damages(snapshot)
  t.clock.advance(WEEK)
  await t.app.backups.verify()
  expect((await t.call('GET', `/snapshots/${snapshot}`)).body.status).toBe('available')
  expect((await t.driver.listSnapshots([snapshot])).size).toBe(0)
  expect(await restore(t, id, snapshot)).toMatchObject({ status: 'succeeded' })
})

test('an unreachable bucket stops only copies, which continue with the next part once it answers', async () => {
  const { t, bucket, state } = await open()
  const id = await make(t)
  const snapshot = await take(t, id)
  // The second part and all its repeats are refused.
  const refuse = () => (bucket.statuses = Array.from({ length: 5 }, () => 507))
  const put = bucket.objects.set.bind(bucket.objects)
  bucket.objects.set = (key, bytes) => {
    if (bucket.objects.size === 0) refuse()
    return put(key, bytes)
  }
  await t.app.offsite.look()
  expect(keysOf(bucket, snapshot)).toHaveLength(1)
  expect(await state()).toMatchObject({ waiting: { total: 1 }, fault: expect.stringContaining('507') })
  expect(await make(t)).toEqual(expect.any(String))
  bucket.statuses = []
  await t.app.offsite.look()
  expect(keysOf(bucket, snapshot)).toHaveLength(1)
  const [first] = bucket.seen
  t.clock.advance(5 * MINUTE)
  await t.app.offsite.look()
  expect(bucket.seen.filter((request) => request === first)).toHaveLength(1)
  expect(await state()).toMatchObject({ stored: { total: 1 }, fault: null })
})

test('a host without room, and a copy that somebody changed, are told apart, and the server keeps its disk', async () => {
  const { t, bucket, state } = await open()
  const id = await make(t)
  const snapshot = await take(t, id)
  await t.app.offsite.look()
  await t.driver.removeSnapshot(snapshot)
  t.driver.failNext('writeSnapshot', new DriverError('disk_full', 'The disk is full.'))
  const full = await restore(t, id, snapshot)
  expect(full).toMatchObject({ status: 'failed', error: { code: 'disk_full' } })
  const [part = ''] = keysOf(bucket, snapshot)
  bucket.objects.set(part, Buffer.from('changed'))
  const lost = await restore(t, id, snapshot)
  expect(lost).toMatchObject({ status: 'failed', error: { code: 'snapshot_lost' } })
  expect(lost.error.message).toContain('keeps its disk')
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
  expect(await state()).toMatchObject({ stored: { total: 0 }, fault: expect.stringContaining('damaged') })
})

test('what was copied to another place, or before there was one, is copied to the one that is set', async () => {
  const { t, bucket, state } = await open()
  const snapshot = await take(t, await make(t))
  const other = { offsite_place: '/mnt/before', offsite_parts: 9, offsite_at: 1, offsite_due_at: null }
  await t.db.updateTable('snapshots').set(other).execute()
  await t.app.offsite.look()
  expect(await state()).toMatchObject({ stored: { total: 1 } })
  expect(keysOf(bucket, snapshot)).toContain(`${snapshot}/copy.json.age`)
})

test('a copy that its host cannot read is not due to be sent off site', async () => {
  const { t, bucket, state } = await open()
  const id = await make(t)
  const { snapshot } = t.driver
  t.driver.snapshot = async (...args) => {
    const copy = await snapshot.apply(t.driver, args)
    return copy.state === 'ready' ? { ...copy, isOpaque: true } : copy
  }
  const copy = await take(t, id)
  await t.app.offsite.look()
  t.clock.advance(WEEK)
  await t.app.backups.verify()
  expect(await state()).toMatchObject({ waiting: { total: 0 }, waiting_since: null })
  expect(bucket.objects.size).toBe(0)
  expect((await t.call('GET', `/snapshots/${copy}`)).body).toMatchObject({
    ...{ status: 'available', verified_at: null, offsite_at: null },
  })
})

test('a snapshot that is deleted while it is copied leaves nothing off site', async () => {
  const { t, bucket } = await open()
  const snapshot = await take(t, await make(t))
  const read = t.driver.snapshotFiles.read
  t.driver.snapshotFiles.read = async (id, part) => {
    if (part.at > 0) await t.call('DELETE', `/snapshots/${snapshot}`)
    return read(id, part)
  }
  await t.app.offsite.look()
  await t.app.offsite.look()
  expect(bucket.objects.size).toBe(0)
})

/** Makes a server and so many backups of it, one a day. @returns them, oldest first */
async function backedUp(t: TestApp, days: number): Promise<{ id: string; backups: string[] }> {
  const id = await make(t, { backups_enabled: true, backup_window: 3 })
  for (let day = 0; day < days; day++) {
    t.clock.advance(24 * 60 * MINUTE)
    await t.app.backups.look()
    await finish(t)
  }
  const { items } = (await t.call('GET', `/servers/${id}/backups`)).body
  return { id, backups: items.map((item: { backup_id: string }) => item.backup_id).reverse() }
}

async function restoreBackup(t: TestApp, id: string, backup_id: string) {
  const { body } = await t.call('POST', `/servers/${id}/restore`, { backup_id })
  await finish(t)
  return (await t.call('GET', `/operations/${body.operation_id}`)).body
}

test('the parts of a full backup lie off site once, and stay as long as a difference needs them', async () => {
  const { t, bucket, state } = await open()
  const { id, backups } = await backedUp(t, 3)
  const [full = '', early = '', late = ''] = backups
  await t.app.offsite.look()
  expect(keysOf(bucket, full).some((key) => key.includes('machine.json'))).toBe(true)
  for (const difference of [early, late])
    expect(keysOf(bucket, difference).some((key) => key.includes('base.json'))).toBe(false)
  expect(await state()).toMatchObject({ stored: { total: 3 } })

  const kept = keysOf(bucket, full)
  await t.call('DELETE', `/backups/${full}`)
  await t.call('DELETE', `/backups/${early}`)
  await finish(t)
  await t.app.offsite.look()
  expect(keysOf(bucket, full)).toEqual(kept)
  expect(keysOf(bucket, early)).toEqual([])
  const files = await t.driver.snapshotFiles.list(late)
  await t.driver.removeSnapshot(late)
  expect(await restoreBackup(t, id, late)).toMatchObject({ status: 'succeeded' })
  expect(await t.driver.snapshotFiles.list(late)).toEqual(files)

  await t.call('DELETE', `/backups/${late}`)
  await t.app.offsite.look()
  expect(bucket.objects.size).toBe(0)
  expect(await state()).toMatchObject({ stored: { total: 0, bytes: 0 }, removing: { total: 0 } })
})

test('a difference whose full backup is not off site, or damaged there, brings it along', async () => {
  const { t, bucket } = await open()
  const { id, backups } = await backedUp(t, 3)
  const [full = '', early = '', late = ''] = backups
  await t.call('DELETE', `/backups/${full}`)
  await t.app.offsite.look()
  expect(keysOf(bucket, full)).toEqual([])
  for (const difference of [early, late])
    expect(keysOf(bucket, difference).some((key) => key.includes('base.json'))).toBe(true)
  await t.driver.removeSnapshot(late)
  expect(await restoreBackup(t, id, late)).toMatchObject({ status: 'succeeded' })
})

test('a full backup that is damaged off site is sent again with the difference that showed it', async () => {
  const { t, bucket } = await open()
  const { id, backups } = await backedUp(t, 2)
  const [full = '', difference = ''] = backups
  await t.app.offsite.look()
  const [part = ''] = keysOf(bucket, full).filter((key) => key.includes('machine.json'))
  const whole = bucket.objects.get(part)
  bucket.objects.set(part, Buffer.from('rotten'))
  const files = await t.driver.snapshotFiles.list(difference)
  const read = async (name: string, bytes: number) =>
    t.driver.snapshotFiles.read(difference, { name, at: 0, length: bytes })
  const held = await Promise.all(
    (files ?? []).map(async ({ name, bytes }) => [name, await read(name, bytes)] as const),
  )
  await t.driver.removeSnapshot(difference)
  expect(await restoreBackup(t, id, difference)).toMatchObject({ status: 'failed' })
  // Its host has it again, as when a disk was away for a while.
  for (const [name, bytes] of held) await t.driver.snapshotFiles.write(difference, { name, at: 0, bytes })
  expect(await t.driver.snapshotFiles.accept(difference, files ?? [])).toBeNull()
  t.clock.advance(10 * MINUTE)
  await t.app.offsite.look()
  expect(bucket.objects.get(part)?.length).toBe(whole?.length)
  await t.driver.removeSnapshot(difference)
  expect(await restoreBackup(t, id, difference)).toMatchObject({ status: 'succeeded' })
})

test('a difference that is damaged off site leaves its full backup there as it was', async () => {
  const { t, bucket } = await open()
  const { id, backups } = await backedUp(t, 2)
  const [full = '', difference = ''] = backups
  await t.app.offsite.look()
  const [part = ''] = keysOf(bucket, difference).filter((key) => key.includes('machine.json'))
  bucket.objects.set(part, Buffer.from('rotten'))
  for (const backup of backups) await t.driver.removeSnapshot(backup)
  expect(await restoreBackup(t, id, difference)).toMatchObject({ status: 'failed' })
  expect(await restoreBackup(t, id, full)).toMatchObject({ status: 'succeeded' })
})

test('if a deleted full backup is damaged off site, its other differences send their own', async () => {
  const { t, bucket } = await open()
  const { id, backups } = await backedUp(t, 3)
  const [full = '', early = '', late = ''] = backups
  await t.app.offsite.look()
  await t.call('DELETE', `/backups/${full}`)
  const [part = ''] = keysOf(bucket, full).filter((key) => key.includes('machine.json'))
  bucket.objects.set(part, Buffer.from('rotten'))
  await t.driver.removeSnapshot(early)
  expect(await restoreBackup(t, id, early)).toMatchObject({ status: 'failed' })
  t.clock.advance(10 * MINUTE)
  await t.app.offsite.look()
  await t.driver.removeSnapshot(late)
  expect(await restoreBackup(t, id, late)).toMatchObject({ status: 'succeeded' })
})

test('the leftovers of an interrupted removal do not count as a copy, and are removed later', async () => {
  const { t, bucket } = await open()
  const snapshot = await take(t, await make(t))
  await t.app.offsite.look()
  await t.call('DELETE', `/snapshots/${snapshot}`)
  const remove = bucket.objects.delete.bind(bucket.objects)
  bucket.objects.delete = (key) => {
    bucket.statuses = Array.from({ length: 5 }, () => 507)
    return remove(key)
  }
  await t.app.offsite.look()
  bucket.objects.delete = remove
  expect(bucket.objects.size).toBeGreaterThan(0)
  const row = await t.db.selectFrom('snapshots').select(['offsite_at', 'offsite_place']).executeTakeFirst()
  expect(row).toEqual({ offsite_at: null, offsite_place: expect.any(String) })
  bucket.statuses = []
  t.clock.advance(5 * MINUTE)
  await t.app.offsite.look()
  expect(bucket.objects.size).toBe(0)
})
