import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { imageOwner } from '../host/owner.ts'
import { convertRaw, inspectImage } from './inspect.ts'
import { qemuImg } from './qemu-img.ts'

const dir = mkdtempSync(path.join(os.tmpdir(), 'berth-inspect-'))
afterAll(() => rmSync(dir, { recursive: true }))

function create(name: string, ...args: string[]): string {
  const file = path.join(dir, name)
  execFileSync('qemu-img', ['create', '-q', ...args.slice(0, -1), file, ...args.slice(-1)])
  return file
}

test('a plain qcow2 is fine, in both versions', async () => {
  expect(await inspectImage(create('v3', '-f', 'qcow2', '64M'))).toEqual({
    format: 'qcow2',
    virtualSizeBytes: 64 * 2 ** 20,
  })
  const old = create('v2', '-f', 'qcow2', '-o', 'compat=0.10', '64M')
  expect(await inspectImage(old)).toEqual({ format: 'qcow2', virtualSizeBytes: 64 * 2 ** 20 })
})

test('a raw disk is recognized by its boot sector, whatever its name', async () => {
  const file = path.join(dir, 'raw.qcow2')
  const sector = Buffer.alloc(1024)
  sector.writeUInt16BE(0x55aa, 510)
  writeFileSync(file, sector)
  expect(await inspectImage(file)).toEqual({ format: 'raw', virtualSizeBytes: 1024 })
})

test('an image that would read other files is refused before qemu-img opens it', async () => {
  const secret = path.join(dir, 'secret')
  writeFileSync(secret, Buffer.alloc(2 ** 20))
  await expect(inspectImage(create('b', '-f', 'qcow2', '-F', 'raw', '-b', secret, '1M'))).rejects.toThrow(
    /backing file/,
  )
  const external = create('d', '-f', 'qcow2', '-o', `data_file=${path.join(dir, 'data')}`, '1M')
  await expect(inspectImage(external)).rejects.toThrow(/data in another file/)
})

test('the name of a data file is refused even without its feature bit', async () => {
  const file = create('e', '-f', 'qcow2', '-o', `data_file=${path.join(dir, 'data2')}`, '1M')
  await using handle = await open(file, 'r+')
  await handle.write(Buffer.alloc(8), 0, 8, 72)
  await expect(inspectImage(file)).rejects.toThrow(/data in another file/)
})

test('an image with snapshots, or that claims to have thousands, is refused before qemu-img counts them', async () => {
  const file = create('snapshots', '-f', 'qcow2', '1M')
  await using handle = await open(file, 'r+')
  await handle.write(Buffer.from([0, 0, 0xff, 0xff]), 0, 4, 60)
  await expect(inspectImage(file)).rejects.toThrow(/65535 snapshots/)
})

/** A qcow2 with these words at these places of its header. */
async function forged(
  name: string,
  words: [at: number, value: bigint][],
  base = create(name, '-f', 'qcow2', '1M'),
) {
  await using handle = await open(base, 'r+')
  for (const [at, value] of words) {
    const word = Buffer.alloc(8)
    word.writeBigUInt64BE(value)
    await handle.write(word, 0, 8, at)
  }
  return base
}

test('a header that claims a table of gigabytes is refused at once', async () => {
  // The L1 table's size in entries shares its word with the type of encryption, which is none.
  await expect(inspectImage(await forged('l1', [[32, 0x1ffffffn]]))).rejects.toThrow(/damaged/)
  // The refcount table's place, and its size in clusters beside the number of snapshots.
  const refcounts = await forged('refcounts', [[56, 0x7fffffn << 32n]])
  await expect(inspectImage(refcounts)).rejects.toThrow(/damaged/)
  // The disk consists of tables only, with clusters of 2 MB, the largest size.
  const clusters = await forged('clusters', [
    [16, 21n],
    [24, 2048n * 2n ** 30n],
  ])
  await expect(inspectImage(clusters)).rejects.toThrow(/damaged/)
})

test.runIf(process.getuid?.() === 0)(
  'an image is looked at by a user who may read and write nothing of ours, wherever it lies',
  async () => {
    const closed = path.join(dir, 'closed')
    mkdirSync(path.join(closed, 'work'), { recursive: true, mode: 0o700 })
    const secret = path.join(closed, 'secret')
    writeFileSync(secret, Buffer.alloc(2 ** 20), { mode: 0o600 })
    const image = create('closed/work/disk', '-f', 'qcow2', '1M')
    chmodSync(image, 0o600)
    expect(await inspectImage(image)).toMatchObject({ format: 'qcow2' })
    // As root, qemu-img would open the file that this header names if the service's own check missed it.
    const leak = create('closed/work/leak', '-f', 'qcow2', '-F', 'raw', '-b', secret, '1M')
    const options = { timeoutMs: 10_000, owner: imageOwner(), cwd: path.dirname(leak) }
    chmodSync(leak, 0o644)
    await expect(qemuImg(['convert', '-O', 'raw', './leak', './out'], options)).rejects.toThrow(
      /Permission denied/,
    )

    const raw = path.join(closed, 'work/raw')
    const sector = Buffer.alloc(1024)
    sector.writeUInt16BE(0x55aa, 510)
    writeFileSync(raw, sector, { mode: 0o600 })
    mkdirSync(path.join(closed, 'work/out'))
    const converted = path.join(closed, 'work/out/disk.qcow2')
    await inspectImage(raw)
    await convertRaw(raw, converted)
    expect(statSync(converted).uid).toBe(0)
    expect(await inspectImage(converted)).toEqual({ format: 'qcow2', virtualSizeBytes: 1024 })
  },
)

test('an encrypted image is refused', async () => {
  const file = create('luks', '-f', 'qcow2', '1M')
  await using handle = await open(file, 'r+')
  // crypt_method, the last byte of a big-endian word: 2 is LUKS.
  await handle.write(Buffer.from([2]), 0, 1, 35)
  await expect(inspectImage(file)).rejects.toThrow(/encrypted/)
})

test('other formats and files that are not disks are refused with the name of their format', async () => {
  await expect(inspectImage(create('vmdk', '-f', 'vmdk', '1M'))).rejects.toThrow(/VMDK/)
  await expect(inspectImage(create('vhdx', '-f', 'vhdx', '1M'))).rejects.toThrow(/VHDX/)
  await expect(inspectImage(create('vdi', '-f', 'vdi', '1M'))).rejects.toThrow(/VDI/)
  const page = path.join(dir, 'page.qcow2')
  writeFileSync(page, `<html>${'not here '.repeat(100)}</html>`)
  await expect(inspectImage(page)).rejects.toThrow(/not a disk image/)
})

test('an absurd size and a truncated image are refused', async () => {
  await expect(inspectImage(create('huge', '-f', 'qcow2', '4T'))).rejects.toThrow(
    /4096 GB, more than the 2048 GB allowed/,
  )
  const cut = create('cut', '-f', 'qcow2', '-o', 'preallocation=full', '1M')
  truncateSync(cut, 70_000)
  await expect(inspectImage(cut)).rejects.toThrow(/damaged/)
})
