import { execFile, execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ImageSpec } from '../images.ts'
import { baseOf } from './image-node.ts'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
let image: ImageSpec
beforeAll(async () => {
  world = await QemuWorld.open()
  image = await world.makeLoader()
})
afterAll(() => world?.close())

const MIB = 2 ** 20
const fullOf = (snapshotId: string) => join(world.placeOf(snapshotId), 'base.qcow2')

/** Makes a machine that is off, with 20 MB of data and a full copy. */
async function backedUp(id: string, fullId: string): Promise<void> {
  await world.make(id, { image })
  await world.fill(id, 100, 20)
  expect(await world.copied(id, fullId)).not.toHaveProperty('base')
}

/** @throws Error if the disk is not byte for byte the copy */
function expectSame(id: string, snapshotId: string): void {
  const files = [world.diskOf(id), world.copyOf(snapshotId)]
  expect(execFileSync('qemu-img', ['compare', '-U', ...files], { encoding: 'utf8' })).toContain('identical')
}

async function verified(snapshotId: string): Promise<string> {
  let found = await world.driver.verifySnapshot(snapshotId)
  await world.until(`${snapshotId} was read`, async () => {
    found = await world.driver.verifySnapshot(snapshotId)
    return found.state !== 'reading'
  })
  return found.state
}

/** Copies in a process that kills itself at an effect. @returns the number of effects; null: it was killed */
async function copier(
  id: string,
  snapshotId: string,
  killAt: number,
  baseId: string,
): Promise<number | null> {
  const args = [
    join(import.meta.dirname, 'test-copier.ts'),
    world.dataDir,
    id,
    snapshotId,
    String(killAt),
    baseId,
  ]
  try {
    return Number((await promisify(execFile)(process.execPath, args)).stdout)
  } catch (error) {
    if (Object(error).signal === 'SIGKILL') return null
    throw error
  }
}

test('a difference has all changes, zeroed blocks and growth, and outlives the snapshot of its full copy', async () => {
  const id = 'changed'
  await backedUp(id, 'full')
  await world.fill(id, 105, 1)
  execFileSync('qemu-io', [
    '-c',
    'write -q -z 110M 2M',
    '-c',
    'write -q -P 9 900000000 100',
    world.diskOf(id),
  ])
  await world.make(id, { image: null, diskGb: 2 })
  execFileSync('qemu-io', ['-c', 'write -q -P 9 1500M 64k', world.diskOf(id)])
  const full = statSync(world.copyOf('full'))
  const made = await world.copied(id, 'changes', 'full')
  expect(made).toMatchObject({ state: 'ready', diskGb: 2, base: { snapshotId: 'full', bytes: full.size } })
  expectSame(id, 'changes')
  expect(statSync(world.copyOf('changes')).size).toBeLessThan(2 * MIB)
  expect(made).toHaveProperty('bytes', full.size + statSync(world.copyOf('changes')).size)
  expect(statSync(fullOf('changes')).ino).toBe(full.ino)

  // A disk that is based on the difference still works after the full copy is removed.
  await world.driver.removeSnapshot('full')
  expect(existsSync(world.placeOf('full'))).toBe(false)
  expect(await verified('changes')).toBe('intact')
  await world.make('fork', { image: { snapshotId: 'changes' }, diskGb: 2 })
  await world.driver.removeSnapshot('changes')
  expectSame('fork', 'changes')
  await world.driver.start('fork')
  expect((await world.driver.inspect('fork')).power).toBe('running')
  expect(await world.copied('fork', 'again', 'changes')).not.toHaveProperty('base')
  expectSame('fork', 'again')
  await world.driver.removeSnapshot('again')
  for (const machine of ['fork', id]) await world.driver.destroy(machine)
  expect(readdirSync(join(world.dataDir, 'snapshots'))).toEqual(['tmp'])
})

test('a full copy is made if a difference would be large, or if its base is a difference or unreadable', async () => {
  const id = 'replaced'
  await backedUp(id, 'full')
  await world.fill(id, 100, 1)
  expect(await world.copied(id, 'small', 'full')).toHaveProperty('base')
  expect(await world.copied(id, 'to-difference', 'small')).not.toHaveProperty('base')
  expect(await world.copied(id, 'to-nothing', 'absent')).not.toHaveProperty('base')
  await world.fill(id, 200, 15)
  expect(await world.copied(id, 'large', 'full')).not.toHaveProperty('base')
  expect(readdirSync(world.placeOf('large')).sort()).toEqual(['disk.qcow2', 'manifest.json'])
  expectSame(id, 'large')

  expect(await verified('small')).toBe('intact')
  const rotten = readFileSync(world.copyOf('full')).fill(1, 4096)
  chmodSync(world.copyOf('full'), 0o644)
  writeFileSync(world.copyOf('full'), rotten)
  expect(await verified('small')).toBe('damaged')
  expect(await world.copied(id, 'despite', 'full')).not.toHaveProperty('base')
  expectSame(id, 'despite')
  for (const name of (await world.driver.listSnapshots()).keys()) await world.driver.removeSnapshot(name)
  await world.driver.destroy(id)
})

test('no difference is made to a full copy with damage that QEMU cannot detect', async () => {
  const id = 'rotten'
  await backedUp(id, 'full')
  const bytes = readFileSync(world.copyOf('full'))
  const middle = bytes.length >> 1
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
  chmodSync(world.copyOf('full'), 0o644)
  writeFileSync(world.copyOf('full'), bytes)
  expect(await world.copied(id, 'next', 'full')).not.toHaveProperty('base')
  expect(await verified('next')).toBe('intact')
  expectSame(id, 'next')
  for (const name of ['next', 'full']) await world.driver.removeSnapshot(name)
  await world.driver.destroy(id)
})

test('an image from a difference, and a difference brought back from elsewhere, are identical to it', async () => {
  const id = 'traveller'
  await backedUp(id, 'full')
  await world.fill(id, 100, 1)
  await world.copied(id, 'changes', 'full')
  expect(await world.driver.importImage('image', { snapshotId: 'changes' })).toHaveProperty('base')
  const { snapshotFiles: files } = world.driver
  const list = (await files.list('changes')) ?? []
  expect(list.map(({ name, of }) => [name, of])).toEqual([
    ['base.qcow2', { snapshotId: 'full', name: 'disk.qcow2' }],
    ['disk.qcow2', undefined],
    ['manifest.json', undefined],
  ])
  const kept = new Map<string, Uint8Array>()
  for (const { name, bytes } of list)
    kept.set(name, await files.read('changes', { name, at: 0, length: bytes }))
  const bringBack = async () => {
    for (const [name, bytes] of kept) await files.write('changes', { name, at: 0, bytes })
    expect(await files.accept('changes', list)).toBeNull()
  }
  await world.driver.removeSnapshot('changes')
  await bringBack()
  expect(statSync(fullOf('changes')).ino).toBe(statSync(world.copyOf('full')).ino)
  for (const name of ['full', 'changes']) await world.driver.removeSnapshot(name)
  expectSame(id, 'image')
  await bringBack()
  expect(await files.list('changes')).toEqual(list)
  expectSame(id, 'changes')
  for (const name of ['changes', 'image']) await world.driver.removeSnapshot(name)
  await world.driver.destroy(id)
})

test('a full copy does not keep the base that an interrupted attempt linked', async () => {
  const id = 'left'
  await backedUp(id, 'full')
  execFileSync('qemu-io', ['-c', 'write -q -z 100M 20M', world.diskOf(id)])
  const out = join(world.placeOf('tmp'), 'again', 'out')
  mkdirSync(out, { recursive: true })
  linkSync(world.copyOf('full'), join(out, 'base.qcow2'))
  await world.driver.removeSnapshot('full')
  expect(await world.copied(id, 'again', 'full')).not.toHaveProperty('base')
  expect(readdirSync(world.placeOf('again')).sort()).toEqual(['disk.qcow2', 'manifest.json'])
  writeFileSync(fullOf('again'), '')
  expect(baseOf(world.copyOf('again'))).toBeNull()
  await world.driver.removeSnapshot('again')
  await world.driver.destroy(id)
})

test('a machine whose difference has lost its full copy does not start with zeros in its place', async () => {
  const id = 'headless'
  await backedUp(id, 'full')
  await world.fill(id, 100, 1)
  await world.copied(id, 'changes', 'full')
  await world.make('based', { image: { snapshotId: 'changes' } })
  rmSync(fullOf('changes'))
  await expect(world.driver.start('based')).rejects.toThrow()
  expect((await world.driver.inspect('based')).power).toBe('stopped')
  for (const machine of ['based', id]) await world.driver.destroy(machine)
  for (const name of ['changes', 'full']) await world.driver.removeSnapshot(name)
})

test('a service killed at any moment leaves a single, complete difference and nothing else', async () => {
  const id = 'killed'
  await backedUp(id, 'full')
  await world.fill(id, 101, 2)
  await world.driver.start(id)
  await world.driver.close()
  const effects = (await copier(id, 'unharmed', 0, 'full')) ?? 0
  // The moments differ with each run of this test; an error names the one that it needs.
  for (let round = 0; round < 6; round++) {
    const killAt = 1 + Math.floor(Math.random() * effects)
    const snapshotId = `round-${round}-${killAt}`
    await copier(id, snapshotId, killAt, 'full')
    if (round === 3) await world.crash(id)
    await copier(id, snapshotId, 0, 'full')
    expectSame(id, snapshotId)
    expect(existsSync(fullOf(snapshotId)), snapshotId).toBe(true)
    expect(readdirSync(world.placeOf('tmp')), snapshotId).toEqual([])
  }
  await world.restart()
  for (const name of (await world.driver.listSnapshots()).keys()) await world.driver.removeSnapshot(name)
  await world.driver.destroy(id)
  rmSync(join(world.dataDir, 'data'))
})
