import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock } from '../../../test/harness/clock.ts'
import type { ImageSpec } from '../images.ts'
import { askAgent } from './agent.ts'
import { archive } from './archive.ts'
import { qmpSocket } from './command.ts'
import { dataBytes } from './data-size.ts'
import { Qmp } from './qmp.ts'
import { openSnapshots } from './test-snapshots.ts'
import { QemuWorld } from './test-world.ts'

/** Guests of most tests never leave their loader: their disk stands still, and can be compared with its copy. */

let world: QemuWorld
let image: ImageSpec
beforeAll(async () => {
  world = await QemuWorld.open()
  image = await world.makeLoader()
})
afterAll(() => world?.close())

const MIB = 2 ** 20

/** Makes a machine that is off, with data on its disk that does not compress. */
async function filled(id: string, megabytes = 20): Promise<string> {
  await world.make(id, { image })
  await world.fill(id, 100, megabytes)
  return id
}

/** @throws Error if the disk is not byte for byte the copy */
function expectSame(id: string, snapshotId: string): void {
  const said = execFileSync('qemu-img', ['compare', '-U', world.diskOf(id), world.copyOf(snapshotId)], {
    encoding: 'utf8',
  })
  expect(said).toContain('identical')
  const { bytes, sha256 } = JSON.parse(readFileSync(join(world.placeOf(snapshotId), 'manifest.json'), 'utf8'))
  expect(statSync(world.copyOf(snapshotId)).size).toBe(bytes)
  expect(
    createHash('sha256')
      .update(readFileSync(world.copyOf(snapshotId)))
      .digest('hex'),
  ).toBe(sha256)
  expect(statSync(world.copyOf(snapshotId))).toMatchObject({ uid: process.getuid?.(), mode: 0o100444 })
}

/** Lists the rest of copies in the machine's folder, in QEMU and on the shelf. No driver may be open. */
async function rest(id: string): Promise<string[]> {
  const run = join(world.dataDir, 'vms', id, 'run')
  const files = existsSync(run) ? readdirSync(run).filter((name) => name.endsWith('qcow2')) : []
  const shelf = readdirSync(join(world.dataDir, 'snapshots', 'tmp'))
  const qmp = await Qmp.connect(qmpSocket(run), 2000).catch(() => null)
  if (!qmp) return [...files, ...shelf]
  const jobs = await qmp.run('query-jobs')
  const nodes = await qmp.run('query-named-block-nodes', { flat: true })
  qmp.close()
  const names = (nodes as { 'node-name': string }[]).map((node) => node['node-name'])
  return [
    ...files,
    ...shelf,
    ...(jobs as { id: string }[]).map((job) => job.id),
    ...names.filter((name) => name.startsWith('copy')),
  ]
}

/** Copies in a process that kills itself at an effect. @returns the number of effects, or null if it was killed */
async function copier(id: string, snapshotId: string, killAt: number): Promise<number | null> {
  const script = join(import.meta.dirname, 'test-copier.ts')
  const args = [script, world.dataDir, id, snapshotId, String(killAt)]
  try {
    return Number((await promisify(execFile)(process.execPath, args)).stdout)
  } catch (error) {
    if (Object(error).signal === 'SIGKILL') return null
    throw error
  }
}

test('a service and a QEMU killed at any moment leave a single, complete snapshot and nothing else', async () => {
  const id = await filled('killed')
  await world.driver.start(id)
  await world.driver.close()
  const effects = (await copier(id, 'unharmed', 0)) ?? 0
  expectSame(id, 'unharmed')
  expect(await rest(id)).toEqual([])
  // The moments differ with each run of this test; an error names the one that it needs.
  for (let round = 0; round < 6; round++) {
    const killAt = 1 + Math.floor(Math.random() * effects)
    const snapshotId = `round-${round}-${killAt}`
    await copier(id, snapshotId, killAt)
    if (round % 3 === 2) {
      await world.crash(id)
      if (round === 2) {
        await world.restart()
        await world.driver.start(id)
        await world.driver.close()
      }
    }
    await copier(id, snapshotId, 0)
    expectSame(id, snapshotId)
    expect(await rest(id), snapshotId).toEqual([])
  }
  await world.restart()
  for (const name of (await world.driver.listSnapshots()).keys()) await world.driver.removeSnapshot(name)
  expect(readdirSync(join(world.dataDir, 'snapshots'))).toEqual(['tmp'])
  await world.driver.destroy(id)
})

test('a start interrupts the reading of the disk, and the copy continues while the machine runs', async () => {
  const id = await filled('started', 60)
  await world.driver.snapshot(id, 'started')
  await world.until('the disk is being read', async () =>
    existsSync(join(world.placeOf('tmp'), 'started/out/disk.qcow2')),
  )
  expect(await world.driver.start(id)).toBe('started')
  expect(await world.copied(id, 'started')).toMatchObject({ state: 'ready', diskGb: 1, consistency: 'crash' })
  expectSame(id, 'started')
  await world.driver.removeSnapshot('started')
  await world.driver.destroy(id)
})

test('a snapshot under load has consistent file systems, and restores damaged data', async () => {
  const id = 'busy'
  await world.make(id)
  await world.driver.start(id)
  await world.untilReady(id)
  await world.ssh(id, 'head -c 4000000 /dev/urandom > kept; sync; md5sum kept > sum')
  await world.until('its agent runs', async () => /qemu-ga/.test(await world.ssh(id, 'ps')))
  await world.ssh(id, '(while :; do head -c 500000 /dev/urandom > noise; sync; done) >/dev/null 2>&1 &')
  expect(await world.copied(id, 'busy')).toMatchObject({ state: 'ready', consistency: 'filesystem' })
  // It was thawed: a frozen guest could not write.
  await world.ssh(id, 'echo damaged > kept; sync')
  await world.driver.destroy(id)
  await world.make(id, { image: { snapshotId: 'busy' } })
  await world.driver.start(id)
  await world.untilReady(id)
  expect(await world.ssh(id, 'md5sum -c sum')).toBe('kept: OK')

  // This is the state after a service that was killed between freezing and thawing.
  await world.until('its agent runs', async () => /qemu-ga/.test(await world.ssh(id, 'ps')))
  await world.driver.close()
  const file = join(world.dataDir, 'vms', id, 'running.json')
  const run = JSON.parse(readFileSync(file, 'utf8'))
  await askAgent(run.sockets, 'guest-fsfreeze-freeze')
  writeFileSync(file, JSON.stringify({ ...run, isFrozen: true }))
  await world.restart()
  expect(JSON.parse(readFileSync(file, 'utf8')).isFrozen).toBe(false)
  await world.ssh(id, 'echo thawed > kept; sync')
  await world.driver.removeSnapshot('busy')
  await world.driver.destroy(id)
})

test('a host without free space stops copies instead of guests, and reports it', async () => {
  const id = await filled('full')
  await world.driver.start(id)
  await world.driver.close()
  const { snapshots, close } = await openSnapshots(world.dataDir, Number.MAX_SAFE_INTEGER)
  let state = await snapshots.state(id, 'full')
  await world.until('it fails', async () => {
    state = await snapshots.state(id, 'full')
    return state.state !== 'copying'
  })
  await close()
  expect(state).toMatchObject({ state: 'failed', code: 'disk_full' })
  expect(await rest(id)).toEqual([])
  await world.restart()
  expect((await world.driver.inspect(id)).power).toBe('running')
  await world.driver.destroy(id)
})

test('the space for a copy is known before it begins: all data of the disk and its image', async () => {
  const id = await filled('measured', 30)
  const { base } = JSON.parse(readFileSync(join(world.dataDir, 'vms', id, 'spec.json'), 'utf8'))
  const image = resolve(world.dataDir, 'vms', id, base)
  const own = await dataBytes(world.diskOf(id), null, null)
  const whole = await dataBytes(world.diskOf(id), image, null)
  expect(own).toBeGreaterThan(30 * MIB)
  expect(own).toBeLessThan(32 * MIB)
  expect(whole).toBeGreaterThan(own)
  await world.driver.start(id)
  // A QEMU that has the disk locks nobody out.
  expect(await dataBytes(world.diskOf(id), image, null)).toBeGreaterThanOrEqual(whole)
  await world.driver.destroy(id)
})

test('disks are copied one after the other, and a waiting copy can be removed at once', async () => {
  const ids = [await filled('one'), await filled('two'), await filled('three')]
  for (const id of ids) await world.driver.snapshot(id, id)
  await world.driver.removeSnapshot('two')
  const tmp = world.placeOf('tmp')
  const begun = () => readdirSync(tmp).filter((name) => existsSync(join(tmp, name, 'out/disk.qcow2')))
  await world.until('all are ready', async () => {
    expect(begun().length).toBeLessThan(2)
    const states = await Promise.all(['one', 'three'].map((id) => world.driver.snapshot(id, id)))
    return states.every(({ state }) => state === 'ready')
  })
  expect([...(await world.driver.listSnapshots()).keys()].sort()).toEqual(['one', 'three'])
  for (const id of ['one', 'three']) {
    expectSame(id, id)
    await world.driver.removeSnapshot(id)
  }
  for (const id of ids) await world.driver.destroy(id)
})

test('a copy that exceeds its time limit is ended, leaves nothing behind, and lets the next one begin', async () => {
  const [slow, next] = [await filled('slow', 60), await filled('next', 1)]
  await world.driver.start(slow)
  await world.driver.close()
  const clock = new ManualClock()
  const { snapshots, close } = await openSnapshots(world.dataDir, 0, clock)
  let state = await snapshots.state(slow, 'slow')
  await snapshots.state(next, 'next')
  const begun = () => existsSync(join(world.dataDir, 'vms', slow, 'run/copy.qcow2'))
  await world.until('it is being copied', async () => begun())
  clock.advance(24 * 3600_000)
  await world.until('it fails', async () => {
    state = await snapshots.state(slow, 'slow')
    return state.state !== 'copying'
  })
  expect(state).toMatchObject({ state: 'failed', code: 'slow' })
  await world.until('the next is ready', async () => (await snapshots.state(next, 'next')).state === 'ready')
  await close()
  expect(await rest(slow)).toEqual([])
  await world.restart()
  expect((await world.driver.inspect(slow)).power).toBe('running')
  await world.driver.removeSnapshot('next')
  for (const id of [slow, next]) await world.driver.destroy(id)
})

test('a backup of a disk that is based on a snapshot includes the snapshot, even a removed one', async () => {
  const id = await filled('archived', 1)
  await world.copied(id, 'base')
  await world.driver.destroy(id)
  await world.make(id, { image: { snapshotId: 'base' } })
  await world.driver.removeSnapshot('base')
  const names: string[] = []
  const add = async (_folder: string, added: readonly string[]) => {
    names.push(...added)
    return []
  }
  expect((await archive({ files: {}, add }, world.dataDir, true)).disks).toEqual([id])
  expect(names).toContain('snapshots/base/disk.qcow2')
  await world.driver.destroy(id)
  expect(readdirSync(join(world.dataDir, 'snapshots'))).toEqual(['tmp'])
})

test("a header forged by a guest brings no file of the host into a machine's snapshot", async () => {
  const id = await filled('hostile')
  const secret = join(world.dataDir, 'secret')
  writeFileSync(secret, Buffer.alloc(MIB, 'secret'), { mode: 0o644 })
  execFileSync('qemu-img', ['rebase', '-u', '-f', 'qcow2', '-F', 'raw', '-b', secret, world.diskOf(id)])
  expect(await world.copied(id, 'rebased')).toMatchObject({ state: 'ready' })
  const start = join(world.dataDir, 'start')
  const block = ['bs=1M', 'count=1', `if=${world.copyOf('rebased')}`, `of=${start}`]
  execFileSync('qemu-img', ['dd', '-f', 'qcow2', '-O', 'raw', ...block])
  expect(readFileSync(start).includes('secret')).toBe(false)
  await world.driver.removeSnapshot('rebased')

  const options = `data_file=${secret},data_file_raw=on`
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-o', options, world.diskOf(id), '1M'])
  expect(await world.copied(id, 'led-away')).toMatchObject({ state: 'failed', code: 'failed' })
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', world.diskOf(id), '2T'])
  expect(await world.copied(id, 'enormous')).toMatchObject({ state: 'failed', code: 'failed' })
  expect(await world.driver.listSnapshots()).toEqual(new Map())
  await world.driver.destroy(id)
})

test('a snapshot copied elsewhere and back is identical, even if disks are based on it', async () => {
  const id = await filled('traveller', 5)
  await world.copied(id, 'travelled')
  const { snapshotFiles: files } = world.driver
  const list = (await files.list('travelled')) ?? []
  expect(list.map(({ name }) => name)).toEqual(['disk.qcow2', 'manifest.json'])
  const bring = async (change: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes) => {
    for (const { name, bytes } of list) {
      const half = Math.ceil(bytes / 2)
      for (const [at, length] of [
        [0, half],
        [half, bytes - half],
      ] as const)
        await files.write('travelled', {
          name,
          at,
          bytes: change(kept.get(name)?.subarray(at, at + length) ?? kept0),
        })
    }
    return files.accept('travelled', list)
  }
  const kept0 = Buffer.alloc(0)
  const kept = new Map<string, Uint8Array>()
  for (const { name, bytes } of list)
    kept.set(name, await files.read('travelled', { name, at: 0, length: bytes }))
  await world.make('based', { image: { snapshotId: 'travelled' } })
  await world.driver.removeSnapshot('travelled')
  expect(await files.list('travelled')).toBeNull()
  writeFileSync(world.copyOf('travelled'), 'rotten', { mode: 0o600 })

  const tooLarge = { name: 'disk.qcow2', at: 0, bytes: kept0, left: Number.MAX_SAFE_INTEGER }
  await expect(files.write('travelled', tooLarge)).rejects.toMatchObject({ code: 'disk_full' })
  expect(await bring((bytes) => Buffer.from(bytes).fill(0))).toBe('disk.qcow2')
  expect(await files.list('travelled')).toBeNull()
  expect(await bring()).toBeNull()
  expect(await files.list('travelled')).toEqual(list)
  expectSame(id, 'travelled')
  expectSame('based', 'travelled')
  expect(await bring()).toBeNull()
  for (const wrong of ['../disk', '', '.hidden'])
    await expect(files.write('travelled', { name: wrong, at: 0, bytes: kept0 })).rejects.toThrow(
      'cannot be a file',
    )
  await world.driver.removeSnapshot('travelled')
})
