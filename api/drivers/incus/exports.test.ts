import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IncusWorld, PROJECT } from '../../../test/cluster/harness/world.ts'
import type { SnapshotFile } from '../snapshots.ts'
import { at } from './client.ts'

const PART = 1_000_000

let world: IncusWorld
beforeAll(async () => {
  world = await IncusWorld.open(2, { hasExports: true })
})
afterAll(() => world?.close())

async function copied(id: string, snapshotId: string): Promise<void> {
  await world.until('the snapshot is ready', async () => {
    const { state } = await world.driver.snapshot(id, snapshotId)
    if (state === 'failed') throw new Error('the snapshot failed')
    return state === 'ready'
  })
}

async function exported(snapshotId: string): Promise<SnapshotFile> {
  const [file, ...others] = (await world.driver.snapshotFiles.list(snapshotId)) ?? []
  if (!file) throw new Error('it was not exported')
  expect(others).toEqual([])
  return file
}

async function parts(snapshotId: string, { name, bytes }: SnapshotFile): Promise<Buffer[]> {
  const read: Buffer[] = []
  for (let at = 0; at < bytes; at += PART) {
    const length = Math.min(PART, bytes - at)
    read.push(Buffer.from(await world.driver.snapshotFiles.read(snapshotId, { name, at, length })))
  }
  return read
}

async function written(snapshotId: string, name: string, all: readonly Buffer[]): Promise<void> {
  for (const [index, bytes] of all.entries())
    await world.driver.snapshotFiles.write(snapshotId, { name, at: index * PART, bytes })
}

async function ask<T>(path: string): Promise<T> {
  const client = world.cluster.client()
  try {
    return await client.get<T>(path)
  } finally {
    client.close()
  }
}

/** The names of a snapshot's exports. */
const exportsOf = async (snapshotId: string) => {
  const urls = await ask<string[]>(at(`/1.0/instances/s-${snapshotId}/backups`, { project: PROJECT }))
  return urls.map((url) => url.split('/').at(-1))
}

const isReady = async (snapshotId: string) =>
  (await world.driver.listSnapshots([snapshotId])).get(snapshotId)?.isReady

test('a snapshot that the cluster has lost is restored from its export unchanged', async () => {
  expect((await world.driver.host()).features).toContain('backups')
  const ids = ['kept', 'kept-2']
  for (const id of ids) {
    await world.driver.define(world.spec(id))
    await world.write(id, `data of ${id}`)
    await copied(id, `of-${id}`)
  }
  // Each member runs one of these machines, since files of a member can be read through the other.
  const found = await ask<{ name: string; location: string }[]>(
    at('/1.0/instances', { project: PROJECT, recursion: '1' }),
  )
  const homes = found.filter(({ name }) => name.startsWith('s-')).map(({ location }) => location)
  expect(new Set(homes)).toEqual(new Set(['m1', 'm2']))
  for (const id of ids) {
    const snapshotId = `of-${id}`
    expect(await world.driver.verifySnapshot(snapshotId)).toEqual({ state: 'exported' })
    const file = await exported(snapshotId)
    await world.restart()
    expect(await exported(snapshotId)).toEqual(file)
    const all = await parts(snapshotId, file)
    expect(createHash('sha256').update(Buffer.concat(all)).digest('hex')).toBe(file.sha256)
    await world.driver.removeSnapshot(snapshotId)
    expect(await world.driver.snapshotFiles.list(snapshotId)).toBeNull()
    expect(await world.driver.verifySnapshot(snapshotId)).toMatchObject({ state: 'damaged' })

    const changed = [...all.slice(0, -1), Buffer.alloc(all.at(-1)?.length ?? 0)]
    await written(snapshotId, file.name, changed)
    expect(await world.driver.snapshotFiles.accept(snapshotId, [file])).toBe(file.name)
    expect(await isReady(snapshotId)).toBeUndefined()
    await written(snapshotId, file.name, all)
    expect(await isReady(snapshotId)).toBeUndefined()
    expect(await world.driver.snapshotFiles.accept(snapshotId, [file])).toBeNull()
    expect(await world.driver.snapshotFiles.accept(snapshotId, [file])).toBeNull()
    expect(await isReady(snapshotId)).toBe(true)

    const restored = { ...world.spec(id), image: { snapshotId }, diskId: 'second' }
    await world.driver.destroy(id, 'second')
    await world.driver.define(restored)
    expect(await world.read(id)).toBe(`data of ${id}`)
    await world.driver.connect(new Map([[id, world.network(id)]]))
    expect(await world.driver.start(id)).toBe('started')
    await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
    await world.driver.destroy(id)
    await world.driver.removeSnapshot(snapshotId)
  }
  expect(await world.raw().names()).toEqual([])
})

test('an incomplete export is made again, a sent one is removed, and no two have the same name', async () => {
  const { call } = world.raw()
  await world.driver.define(world.spec('half'))
  await copied('half', 'halved')
  await call('/instances/s-halved/backups', { name: 'd-0123456789ab', instance_only: true })
  const first = await exported('halved')
  expect(await exportsOf('halved')).toEqual([first.name.replace('.tar.gz', '')])
  await world.driver.snapshotFiles.release?.('halved')
  expect(await exportsOf('halved')).toEqual([])
  const { name } = first
  await expect(world.driver.snapshotFiles.read('halved', { name, at: 0, length: 10 })).rejects.toMatchObject({
    code: 'not_found',
  })
  expect((await exported('halved')).name).not.toBe(name)
  await world.driver.destroy('half')
  await world.driver.removeSnapshot('halved')
  expect(await world.raw().names()).toEqual([])
})

test('a guest can make its export neither larger than its space nor endless', async () => {
  const id = 'hostile'
  await world.driver.define(world.spec(id))
  await world.driver.connect(new Map([[id, world.network(id)]]))
  await world.driver.start(id)
  await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
  await world.root(id, 'truncate -s 900G /root/hole; sync')
  await copied(id, 'sparse')
  expect((await exported('sparse')).bytes).toBeLessThan(100 * 2 ** 20)
  await world.driver.removeSnapshot('sparse')

  // The stream alone is too large, or its compressed form beside it.
  for (const bytes of [300_000_000, 170_000_000]) {
    await world.root(id, `rm -f /root/hole /root/data; head -c ${bytes} /dev/urandom > /root/data; sync`)
    await copied(id, 'large')
    await expect(world.driver.snapshotFiles.list('large')).rejects.toMatchObject({ code: 'disk_full' })
    expect(await exportsOf('large')).toEqual([])
    await world.driver.removeSnapshot('large')
  }
  await world.root(id, 'rm /root/data; sync')
  await copied(id, 'small')
  expect((await exported('small')).bytes).toBeGreaterThan(1000)
  await world.driver.destroy(id)
  await world.driver.removeSnapshot('small')
  expect(await world.raw().names()).toEqual([])
})

test('an import fails with a clear reason if the cluster has no space, and leaves nothing behind', async () => {
  const part = randomBytes(PART)
  const all = Array.from({ length: 300 }, () => part)
  const hash = createHash('sha256')
  for (const bytes of all) hash.update(bytes)
  const name = 'e-0123456789ab.tar.gz'
  await written('too-large', name, all)
  const file = { name, bytes: all.length * PART, sha256: hash.digest('hex') }
  await expect(world.driver.snapshotFiles.accept('too-large', [file])).rejects.toMatchObject({
    code: 'disk_full',
  })
  expect(await isReady('too-large')).toBeUndefined()
  expect(await world.raw().names()).toEqual([])
})

test('nothing is exported on a member without separate space for exports', async () => {
  const client = world.cluster.client()
  for (const target of world.cluster.names) {
    const body = { config: { 'storage.backups_volume': '' } }
    await client.call('PATCH', at('/1.0', { target }), { body, timeoutMs: 60_000 })
  }
  client.close()
  await world.driver.define(world.spec('unwalled'))
  await copied('unwalled', 'of-unwalled')
  await expect(world.driver.snapshotFiles.list('of-unwalled')).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('storage.backups_volume of m'),
  })
  await world.driver.destroy('unwalled')
  await world.driver.removeSnapshot('of-unwalled')
})
