import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  createReadStream,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { qemuImg } from './images/qemu-img.ts'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
let dir: string
beforeAll(async () => {
  world = await QemuWorld.open()
  dir = mkdtempSync(path.join(tmpdir(), 'files-'))
})
afterAll(async () => {
  await world?.close()
  rmSync(dir, { recursive: true, force: true })
})

const MIB = 2 ** 20
const at = (name: string) => path.join(dir, name)

/** Makes a disk with a boot sector and data that does not compress. */
function rawDisk(): string {
  const disk = Buffer.alloc(8 * MIB)
  randomBytes(3 * MIB).copy(disk, MIB)
  disk.writeUInt16BE(0x55aa, 510)
  writeFileSync(at('disk'), disk)
  return at('disk')
}

function qemu(...args: string[]): void {
  execFileSync('qemu-img', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Creates an empty disk of 1 GB. */
function created(name: string, format: string, ...options: string[]): string {
  qemu('create', '-q', '-f', format, ...options, at(name), '1G')
  return at(name)
}

/** Overwrites bytes of a file. */
function patched(file: string, ...changes: [place: number, bytes: string | Buffer][]): string {
  const bytes = readFileSync(file)
  for (const [place, text] of changes) Buffer.from(text as string, 'latin1').copy(bytes, place)
  writeFileSync(file, bytes)
  return file
}

const u32 = (value: number) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])
const u64 = (value: bigint) => Buffer.from(value.toString(16).padStart(16, '0'), 'hex')

/** Sends a file and waits for the end. @returns the end */
async function imported(id: string, file: string) {
  await world.driver.receive(id, 0, createReadStream(file))
  const spec = { owner: 'ann', bytes: statSync(file).size, sha256: null }
  let state = await world.driver.importImage(id, spec)
  await world.until('the file is read', async () => {
    if (state.state === 'copying') state = await world.driver.importImage(id, spec)
    return state.state !== 'copying'
  })
  return state
}

/** Refuses a file. @returns the reason */
async function refusalOf(file: string): Promise<string> {
  const state = await imported('hostile', file)
  expect(readdirSync(path.join(world.dataDir, 'snapshots'))).toEqual(['tmp'])
  expect(readdirSync(path.join(world.dataDir, 'snapshots/tmp'))).toEqual([])
  expect(state, JSON.stringify([file, state])).toMatchObject({ state: 'failed', code: 'unusable' })
  return 'message' in state ? state.message : ''
}

test('an image has the same data as the uploaded disk, whatever the format and name of its file', async () => {
  const disk = rawDisk()
  const formats = [
    ['raw'],
    ['qcow2'],
    ['qcow2', '-c'],
    ['qcow2', '-o', 'compat=0.10'],
    ['vmdk'],
    ['vmdk', '-o', 'subformat=streamOptimized'],
    ['vpc', '-o', 'force_size=on'],
    ['vpc', '-o', 'subformat=fixed,force_size=on'],
    ['vhdx'],
  ]
  for (const [format = '', ...options] of formats) {
    qemu('convert', '-f', 'raw', '-O', format, ...options, disk, at('disk.iso'))
    const state = await imported('good', at('disk.iso'))
    expect(state, JSON.stringify([format, options, state])).toMatchObject({ state: 'ready', diskGb: 1 })
    qemu('compare', '-f', 'raw', '-F', 'qcow2', disk, world.copyOf('good'))
    expect(statSync(world.copyOf('good'))).toMatchObject({ uid: process.getuid?.(), mode: 0o100444 })
    await world.driver.removeSnapshot('good')
  }
})

test('a file that refers to other files or to the network is refused before anything opens them', async () => {
  const secret = at('secret')
  writeFileSync(secret, Buffer.alloc(MIB, 'secret'), { mode: 0o644 })
  const backed = (name: string) => created('backed', 'qcow2', '-u', '-F', 'raw', '-b', name)
  for (const name of [secret, `json:{"driver":"raw","file":{"driver":"file","filename":"${secret}"}}`])
    expect(await refusalOf(backed(name))).toMatch(/backing file. Flatten it first: qemu-img convert/)
  for (const name of ['nbd://127.0.0.1:10809/x', 'https://127.0.0.1:9/x'])
    expect(await refusalOf(backed(name))).toMatch(/backing file/)
  const external = `data_file=${secret},data_file_raw=on`
  expect(await refusalOf(created('external', 'qcow2', '-o', external))).toMatch(/data in another file/)
  qemu('create', '-q', '-f', 'qed', '-u', '-F', 'raw', '-b', secret, at('qed'), '1G')
  expect(await refusalOf(at('qed'))).toMatch(/QED disk/)

  const text = `# Disk DescriptorFile\nversion=1\nCID=12345678\nparentCID=ffffffff\ncreateType="monolithicFlat"\nRW 2048 FLAT "${secret}" 0\n`
  writeFileSync(at('flat.vmdk'), text)
  expect(await refusalOf(at('flat.vmdk'))).toMatch(/only names the files of a disk/)
  const sparse = () => created('sparse', 'vmdk')
  // QEMU would read the text, and open what it names, if the header claims no disk.
  expect(await refusalOf(patched(sparse(), [12, Buffer.alloc(8)], [512, text]))).toMatch(/one part of a disk/)
  expect(await refusalOf(patched(sparse(), [512, text]))).toMatch(/of the type monolithicFlat/)
  const child = text.replace('monolithicFlat', 'monolithicSparse').replace('ffffffff', '12345678')
  expect(await refusalOf(patched(sparse(), [512, child]))).toMatch(/refers to another disk/)
  qemu('create', '-q', '-f', 'vmdk', '-o', 'subformat=twoGbMaxExtentSparse', at('split.vmdk'), '3G')
  expect(await refusalOf(at('split-s001.vmdk'))).toMatch(/one part of a disk/)
  expect(await refusalOf(patched(created('vhd', 'vpc'), [60, u32(4)]))).toMatch(/difference/)
})

test('a header with impossible claims is refused at almost no cost', async () => {
  const qcow2 = (...changes: [number, Buffer][]) => patched(created('bomb', 'qcow2'), ...changes)
  const bombs: [file: () => string, reason: RegExp][] = [
    [() => qcow2([24, u64(2n ** 63n - 512n)]), /8589934592 GB, more than the 2048 GB allowed/],
    [() => qcow2([24, u64(2n ** 60n)]), /1073741824 GB/],
    [() => qcow2([36, u32(2 ** 25)]), /tables of gigabytes/],
    [() => qcow2([56, u32(0x7fffffff)]), /tables of gigabytes/],
    [() => qcow2([40, u64(2n ** 62n)]), /beyond its end/],
    [() => qcow2([20, u32(60)]), /impossible size/],
    [() => qcow2([60, u32(65_535)]), /65535 snapshots/],
    [() => qcow2([72, u64(1n << 40n)]), /unknown qcow2 features/],
    [() => qcow2([32, u32(2)]), /encrypted/],
    [() => patched(created('vmdk', 'vmdk'), [12, Buffer.alloc(8, 0xff)]), /more than the 2048 GB/],
    // The place of its tables, which a disk needs, leads out of the file.
    [() => patched(created('vmdk', 'vmdk'), [56, Buffer.alloc(7, 0xff)]), /damaged or unusual/],
    [() => patched(created('vhd', 'vpc'), [48, u64(2n ** 62n)]), /more than the 2048 GB/],
    [() => patched(created('vhd', 'vpc'), [16, u64(2n ** 62n)]), /second header/],
    [() => patched(created('vhd', 'vpc'), [512 + 28, u32(0x7fffffff)]), /beyond its end/],
    [() => patched(created('vhdx', 'vhdx'), [192 * 1024, 'none'], [256 * 1024, 'none']), /regions/],
    [() => patched(created('vhdx', 'vhdx'), [192 * 1024 + 8, Buffer.alloc(4, 0xff)]), /./],
  ]
  for (const [file, reason] of bombs) expect(await refusalOf(file())).toMatch(reason)
})

test('a small file that unpacks to a large disk is refused once that exceeds its share', async () => {
  qemu('create', '-q', '-f', 'vmdk', at('repeating'), '1G')
  // All tables lead to the same grain of the disk.
  const bomb = Buffer.concat([readFileSync(at('repeating')), randomBytes(65_536)])
  const sector = (bomb.length - 65_536) / 512
  const directory = Number(bomb.readBigUInt64LE(56)) * 512
  for (let table = 0; table < 32; table++) {
    const place = bomb.readUInt32LE(directory + table * 4) * 512
    for (let entry = 0; entry < 512; entry++) bomb.writeUInt32LE(sector, place + entry * 4)
  }
  writeFileSync(at('repeating'), bomb)
  expect(await refusalOf(at('repeating'))).toMatch(/too much time or space/)
})

test('the program that reads a file has no network', async () => {
  let connections = 0
  const server = createServer(() => connections++).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('it listens nowhere')
  const reading = qemuImg(['info', `nbd://127.0.0.1:${address.port}/x`], { timeoutMs: 20_000, isAlone: true })
  await expect(reading).rejects.toThrow(/Network is unreachable/)
  expect(connections).toBe(0)
})

test('a server starts from an image uploaded as a VMDK disk, and its owner logs in', async () => {
  const [image = ''] = readdirSync(path.join(world.dataDir, 'images')).filter((name) => name.length === 64)
  const micro = path.join(world.dataDir, 'images', image, 'disk.qcow2')
  qemu('convert', '-O', 'vmdk', '-o', 'subformat=streamOptimized', micro, at('micro.vmdk'))
  expect(await imported('micro', at('micro.vmdk'))).toMatchObject({ state: 'ready' })
  await world.make('booted', { image: { snapshotId: 'micro' } })
  await world.driver.start('booted')
  await world.untilReady('booted')
  expect(await world.ssh('booted', 'hostname')).toBe('host-booted')
})
