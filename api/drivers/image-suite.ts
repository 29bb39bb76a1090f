import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Driver, MachineSpec } from './driver.ts'
import type { FileSpec } from './snapshots.ts'
import { bootableIso } from './test-iso.ts'

/** A driver under test. */
interface World {
  driver: Driver
  until(what: string, holds: () => Promise<boolean>): Promise<void>
  restart(): Promise<void>
  leftovers(serverId: string): Promise<string[]>
}

/** Sends a part of a file in chunks. */
export async function* chunks(part: Buffer, size = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < part.length; at += size) yield part.subarray(at, at + size)
}

/**
 * The part of the drivers' suite that concerns files of customers.
 * @param made defines a machine
 */
export function imageTests(
  world: () => World,
  made: (id: string, more: Partial<MachineSpec>) => Promise<string>,
): void {
  const hasImages = async () => (await world().driver.host()).features.includes('images')
  const disk = Buffer.alloc(2 ** 20)
  disk.writeUInt16BE(0xebfe, 0)
  disk.writeUInt16BE(0x55aa, 510)
  const half = disk.length / 2
  const whole = { owner: 'ann', bytes: disk.length, sha256: createHash('sha256').update(disk).digest('hex') }
  const receive = (id: string, at: number, part: Buffer) => world().driver.receive(id, at, chunks(part))
  const imported = async (id: string, file: FileSpec) => {
    let state = await world().driver.importImage(id, file)
    await world().until('the file is read', async () => {
      if (state.state === 'copying') state = await world().driver.importImage(id, file)
      return state.state !== 'copying'
    })
    return state
  }

  test('a file that comes in parts becomes an image, through failures and restarts', async (t) => {
    if (!(await hasImages())) t.skip('there are no images here')
    const lost = { code: 'not_found' }
    await expect(world().driver.importImage('file', whole)).rejects.toMatchObject(lost)
    await expect(receive('file', half, disk.subarray(half))).rejects.toMatchObject(lost)
    const broken = async function* () {
      yield disk.subarray(0, 100)
      throw new Error('the connection was lost')
    }
    await expect(world().driver.receive('file', 0, broken())).rejects.toThrow('lost')
    await receive('file', 0, disk.subarray(0, half))
    await world().restart()
    expect([...(await world().driver.listSnapshots())].map(([id]) => id)).toEqual(['file'])
    for (let time = 0; time < 2; time++) await receive('file', half, disk.subarray(half))
    await world().driver.importImage('file', whole)
    await receive('file', 0, Buffer.alloc(512))
    await world().restart()
    const state = await imported('file', whole)
    expect(state).toMatchObject({ state: 'ready', diskGb: 1 })
    await receive('file', 0, Buffer.alloc(512))
    expect([...(await world().driver.listSnapshots())]).toMatchObject([['file', { isReady: true }]])
    await world().restart()
    expect(await imported('file', whole)).toEqual(state)
    expect(await world().driver.verifySnapshot('file')).not.toMatchObject({ state: 'damaged' })
    await made('from-file', { image: { snapshotId: 'file' } })
    await world().driver.removeSnapshot('file')
    expect(await world().driver.start('from-file')).toBe('started')
    await world().driver.destroy('from-file')
    expect(await world().leftovers('from-file')).toEqual([])
    expect(await world().driver.listSnapshots()).toEqual(new Map())
  })

  test('an ISO is put into the drive of a machine, on or off, and taken out, but is no disk', async (t) => {
    if (!(await world().driver.host()).features.includes('isos')) t.skip('there are no ISOs here')
    const file = bootableIso('An installer')
    const spec = { owner: 'ann', bytes: file.length, sha256: null, isIso: true }
    await receive('installer', 0, file)
    expect(await imported('installer', spec)).toMatchObject({ state: 'ready', bytes: file.length })
    expect(await world().driver.verifySnapshot('installer')).not.toMatchObject({ state: 'damaged' })
    const lost = { code: 'not_found' }
    await expect(made('of-iso', { image: { snapshotId: 'installer' } })).rejects.toMatchObject(lost)
    await world().driver.destroy('of-iso')
    await made('driven', {})
    await expect(world().driver.insertIso('driven', 'none')).rejects.toMatchObject(lost)
    await expect(world().driver.insertIso('nobody', 'installer')).rejects.toMatchObject(lost)
    await world().driver.insertIso('driven', 'installer')
    expect(await world().driver.start('driven')).toBe('started')
    for (const isoId of [null, null, 'installer', 'installer', null])
      await world().driver.insertIso('driven', isoId)
    await world().driver.destroy('driven')
    await world().driver.removeSnapshot('installer')
    expect(await world().leftovers('driven')).toEqual([])
    expect(await world().driver.listSnapshots()).toEqual(new Map())
    await receive('page', 0, disk)
    expect(await imported('page', { ...whole, isIso: true })).toMatchObject({
      ...{ state: 'failed', code: 'unusable', message: expect.stringMatching(/not an ISO image/) },
    })
  })

  test('an image never changes, though a part of its file arrives twice and the second time late', async (t) => {
    if (!(await world().driver.host()).features.includes('isos')) t.skip('there are no ISOs here')
    const file = bootableIso('An installer')
    const other = Buffer.from(file)
    other[other.length - 1] = 1
    const rest = Promise.withResolvers<void>()
    const slow = async function* () {
      yield other.subarray(0, 100)
      await rest.promise
      yield other.subarray(100)
    }
    await receive('twice', 0, file)
    const second = world().driver.receive('twice', 0, slow())
    const spec = { owner: 'ann', bytes: file.length, sha256: null, isIso: true }
    await world().driver.importImage('twice', spec)
    rest.resolve()
    await second
    const state = await imported('twice', spec)
    expect(state).toMatchObject({ state: 'ready', bytes: file.length })
    await world().until('the image is read', async () => {
      const read = await world().driver.verifySnapshot('twice')
      expect(read.state).not.toBe('damaged')
      return read.state === 'intact'
    })
    await world().driver.removeSnapshot('twice')
    expect(await world().driver.listSnapshots()).toEqual(new Map())
  })

  test('a file that is no disk, is not what was sent, or is not wanted any more leaves nothing', async (t) => {
    if (!(await hasImages())) t.skip('there are no images here')
    const refusals: [part: Buffer, sha256: string | null, reason: RegExp][] = [
      [Buffer.from('<html>Not found</html>'), null, /not a disk image/],
      [disk, 'a'.repeat(64), /SHA-256 of the file is [0-9a-f]{64}, not a{64}. Upload it again/],
    ]
    for (const [part, sha256, message] of refusals) {
      await receive('refused', 0, part)
      expect(await imported('refused', { owner: 'ann', bytes: part.length, sha256 })).toEqual({
        state: 'failed',
        code: 'unusable',
        message: expect.stringMatching(message),
      })
      expect(await world().driver.listSnapshots()).toEqual(new Map())
    }
    await receive('unwanted', 0, disk)
    await world().driver.removeSnapshot('unwanted')
    expect(await world().driver.listSnapshots()).toEqual(new Map())
  })
}
