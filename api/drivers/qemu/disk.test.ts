import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
beforeAll(async () => {
  world = await QemuWorld.open()
})
afterAll(() => world?.close())

const fileOf = (id: string, name: string) => join(world.dataDir, 'vms', id, name)

test('machines survive a renaming of the data folder, on or off', async () => {
  for (const id of ['on', 'off', 'old']) {
    await world.make(id)
    await world.driver.start(id)
    await world.untilReady(id)
    await world.ssh(id, `echo ${id} > file; sync`)
  }
  await world.driver.powerOff('off')
  await world.driver.powerOff('old')
  await asBefore('old')
  await world.move('moved')

  const found = await world.driver.inspect('on')
  expect(found.power).toBe('running')
  await world.untilReady('on')
  expect(await world.ssh('on', 'cat file')).toBe('on')
  await world.driver.powerOff('on')
  for (const id of ['on', 'off', 'old']) {
    if (id !== 'off') await world.make(id, { image: null, diskGb: 2 })
    expect(await world.driver.start(id)).toBe('started')
    await world.untilReady(id)
    expect(await world.ssh(id, 'cat file')).toBe(id)
    await world.driver.destroy(id)
    expect(await world.leftovers(id)).toEqual([])
  }
})

/** Rewrites a machine's files as earlier versions wrote them, with the image's absolute path. */
async function asBefore(id: string): Promise<void> {
  const record = fileOf(id, 'spec.json')
  const { base, direct, ...rest } = JSON.parse(readFileSync(record, 'utf8'))
  const absolute = (path: string) => join(world.dataDir, 'vms', id, path)
  const old = {
    base: absolute(base),
    direct: { ...direct, kernel: absolute(direct.kernel), initrd: absolute(direct.initrd) },
  }
  writeFileSync(record, JSON.stringify({ ...rest, ...old }))
  const disk = fileOf(id, 'disk.qcow2')
  execFileSync('qemu-img', ['rebase', '-u', '-f', 'qcow2', '-F', 'qcow2', '-b', old.base, disk])
}

test("a disk's header, which a guest may have forged, opens no file that its machine may not read", async () => {
  const id = 'hostile'
  const secret = join(world.dataDir, 'secret')
  writeFileSync(secret, Buffer.alloc(2 ** 20, 'secret'), { mode: 0o600 })
  await world.make(id)
  const disk = fileOf(id, 'disk.qcow2')
  execFileSync('qemu-img', ['rebase', '-u', '-f', 'qcow2', '-F', 'raw', '-b', secret, disk])
  await world.make(id, { diskGb: 2 })
  expect(await world.driver.start(id)).toBe('started')
  await world.untilReady(id)
  await world.driver.powerOff(id)

  if (process.getuid?.() !== 0) return
  const options = `data_file=${secret},data_file_raw=on`
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-o', options, disk, '1M'])
  const text = 'secret'.repeat(2 ** 18).slice(0, 2 ** 20)
  writeFileSync(secret, text)
  await expect(world.make(id, { diskGb: 3 })).rejects.toThrow(/refers to an external data file/)
  await expect(world.driver.start(id)).rejects.toThrow(/Permission denied|No such file/)
  expect(readFileSync(secret, 'latin1')).toBe(text)
  await world.driver.destroy(id)
})

test('a disk whose header claims snapshots is refused', async () => {
  const id = 'snapshots'
  await world.make(id)
  const disk = openSync(fileOf(id, 'disk.qcow2'), 'r+')
  const count = Buffer.alloc(4)
  count.writeUInt32BE(65_535)
  // nb_snapshots
  writeSync(disk, count, 0, 4, 60)
  closeSync(disk)
  await expect(world.make(id, { diskGb: 2 })).rejects.toThrow(/claims snapshots/)
  await world.driver.destroy(id)
})

test('blocks that a guest deletes and trims take no space on the host', async () => {
  const id = 'trim'
  await world.make(id)
  await world.driver.start(id)
  await world.untilReady(id)
  const used = () => statSync(fileOf(id, 'disk.qcow2')).blocks * 512
  await world.ssh(id, 'dd if=/dev/urandom of=big bs=1M count=20 2>/dev/null; sync')
  const full = used()
  await world.ssh(id, 'rm big; sync; sudo -n fstrim /; sync')
  expect(full - used()).toBeGreaterThan(15 * 2 ** 20)
  await world.driver.destroy(id)
})
