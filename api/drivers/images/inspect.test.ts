import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { inspectImage } from './inspect.ts'

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

test('a raw disk is known by its boot sector, whatever its name', async () => {
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

test('a name of a data file is refused without its feature bit too', async () => {
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

test('an encrypted image is refused', async () => {
  const file = create('luks', '-f', 'qcow2', '1M')
  await using handle = await open(file, 'r+')
  // crypt_method, the last byte of a big-endian word: 2 is LUKS.
  await handle.write(Buffer.from([2]), 0, 1, 35)
  await expect(inspectImage(file)).rejects.toThrow(/encrypted/)
})

test('other formats and things that are no disk are refused by name', async () => {
  await expect(inspectImage(create('vmdk', '-f', 'vmdk', '1M'))).rejects.toThrow(/VMDK/)
  await expect(inspectImage(create('vhdx', '-f', 'vhdx', '1M'))).rejects.toThrow(/VHDX/)
  await expect(inspectImage(create('vdi', '-f', 'vdi', '1M'))).rejects.toThrow(/VDI/)
  const page = path.join(dir, 'page.qcow2')
  writeFileSync(page, `<html>${'not here '.repeat(100)}</html>`)
  await expect(inspectImage(page)).rejects.toThrow(/not a disk image/)
})

test('an absurd size and an image that is cut off are refused', async () => {
  await expect(inspectImage(create('huge', '-f', 'qcow2', '4T'))).rejects.toThrow(
    /4096 GB, more than the 2048 GB allowed/,
  )
  const cut = create('cut', '-f', 'qcow2', '-o', 'preallocation=full', '1M')
  truncateSync(cut, 70_000)
  await expect(inspectImage(cut)).rejects.toThrow(/damaged/)
})
