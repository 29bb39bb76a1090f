import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ImageSpec } from '../images.ts'
import { volumeDevice } from '../volumes.ts'
import { qmpSocket } from './command.ts'
import { Qmp } from './qmp.ts'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
let image: ImageSpec
beforeAll(async () => {
  world = await QemuWorld.open()
  image = await world.makeLoader()
})
afterAll(() => world?.close())

const GIB = 2 ** 30
const id = '01a1fb45-1b02-7a3e-8c5d-6f1e2d3c4b5a'
const device = volumeDevice(id)
const fileOf = (volumeId: string) => join(world.dataDir, 'volumes', volumeId, 'disk.raw')
const lentTo = (machine: string) => existsSync(join(world.dataDir, 'vms', machine, 'run', `${id}.raw`))

async function booted(machine: string): Promise<void> {
  await world.make(machine)
  await world.driver.start(machine)
  await world.untilReady(machine)
}

/** Waits until a guest has the volume, or has lost it. */
function untilSeen(machine: string, isThere: boolean): Promise<void> {
  return world.until(`${machine} ${isThere ? 'sees' : 'has lost'} the volume`, async () => {
    const seen = await world.ssh(machine, `[ -b ${device} ] && echo there || echo gone`)
    return (seen === 'there') === isThere
  })
}

const mounted = (machine: string, then: string) =>
  world.ssh(
    machine,
    `sudo -n sh -c 'mkdir -p /mnt/v && mount -t ext4 ${device} /mnt/v && cd /mnt/v && ${then}'`,
  )

/** The nodes and devices of volumes in a machine's QEMU. No driver may be open. */
async function volumesIn(machine: string): Promise<string[]> {
  const run = join(world.dataDir, 'vms', machine, 'run')
  const qmp = await Qmp.connect(qmpSocket(run), 2000)
  const nodes = await qmp.run('query-named-block-nodes', { flat: true })
  const devices = await qmp.run('qom-list', { path: '/machine/peripheral' })
  qmp.close()
  const names = [
    ...(nodes as { 'node-name': string }[]).map((node) => node['node-name']),
    ...(devices as { name: string }[]).map(({ name }) => name),
  ]
  return names.filter((name) => name.startsWith('v-'))
}

test('a volume moves between two running guests with its data, grows in place, and outlives both', async () => {
  await booted('one')
  await booted('two')
  await world.driver.volume(id, 1)
  await world.driver.attachVolume(id, 'one')
  await untilSeen('one', true)
  await world.ssh('one', `sudo -n mke2fs ${device} >/dev/null 2>&1`)
  const sum = await mounted('one', 'head -c 8000000 /dev/urandom > data && sync && sha256sum data')
  await world.ssh('one', 'sudo -n umount /mnt/v')
  await world.driver.detachVolume(id, 'one')
  await untilSeen('one', false)
  expect(lentTo('one')).toBe(false)

  await world.driver.attachVolume(id, 'two')
  await untilSeen('two', true)
  expect(await mounted('two', 'sha256sum data')).toBe(sum)
  await world.driver.volume(id, 3)
  await world.until('the guest sees its size', async () => {
    return (await world.ssh('two', `sudo -n blockdev --getsize64 ${device}`)) === String(3 * GIB)
  })
  // The write is beyond the limit that the size of the machine's own disk sets.
  const written = `sudo -n dd if=/mnt/v/data of=${device} bs=1M count=4 seek=2500 conv=fsync 2>&1`
  expect(await world.ssh('two', written)).not.toMatch(/error|too large/i)

  // The guest still uses it, and its loss stops neither guest nor host.
  await world.driver.detachVolume(id, 'two')
  await untilSeen('two', false)
  await world.driver.attachVolume(id, 'two')
  await world.driver.powerOff('two')
  await world.driver.start('two')
  await world.untilReady('two')
  await untilSeen('two', true)
  expect(await mounted('two', 'sha256sum data')).toBe(sum)

  for (const machine of ['one', 'two']) await world.driver.destroy(machine)
  expect(await world.driver.listVolumes()).toEqual(new Map([[id, null]]))
  expect(statSync(fileOf(id)).size).toBe(3 * GIB)
  await world.driver.removeVolume(id)
  expect(readdirSync(join(world.dataDir, 'volumes'))).toEqual([])
})

test('a service and QEMUs killed at any moment of a move leave the volume complete, and attached once', async () => {
  const data = randomBytes(2 ** 20)
  for (const machine of ['from', 'to']) {
    await world.make(machine, { image })
    await world.driver.start(machine)
  }
  await world.driver.volume(id, 1)
  await world.driver.attachVolume(id, 'from')
  const written = join(world.dataDir, 'data')
  writeFileSync(written, data)
  await promisify(execFile)('dd', [`if=${written}`, `of=${fileOf(id)}`, 'seek=1', 'bs=1M', 'conv=notrunc'])
  await world.driver.close()
  const effects = (await mover(1, 0)) ?? 0
  // The moments differ with each run of this test; an error names the one that it needs.
  for (let round = 0; round < 10; round++) {
    const killAt = 1 + Math.floor(Math.random() * effects)
    await mover(2 + round, killAt)
    const crashed = [null, 'from', 'to', null, null][round % 5]
    if (crashed) await world.crash(crashed)
    await mover(2 + round, 0)
    const place = `round ${round}, effect ${killAt} of ${effects}`
    const present = await volumesIn('from').catch(() => null)
    if (crashed !== 'from') expect(present?.length, place).toBe(2)
    if (crashed !== 'to') expect(await volumesIn('to'), place).toEqual([])
    expect(lentTo('to'), place).toBe(false)
    expect(statSync(fileOf(id)).size, place).toBe((2 + round) * GIB)
    const kept = Buffer.alloc(data.length)
    await using file = await open(fileOf(id))
    await file.read(kept, 0, kept.length, 2 ** 20)
    expect(kept.equals(data), place).toBe(true)
    if (!crashed) continue
    await world.restart()
    for (const machine of ['from', 'to']) await world.driver.start(machine)
    expect(await world.driver.listVolumes()).toEqual(new Map([[id, 'from']]))
    await world.driver.close()
  }
  await world.restart()
  for (const machine of ['from', 'to']) await world.driver.destroy(machine)
  await world.driver.removeVolume(id)
})

/** Moves in a process that kills itself at an effect. @returns the number of effects, or null if it was killed */
async function mover(sizeGb: number, killAt: number): Promise<number | null> {
  const script = join(import.meta.dirname, 'test-mover.ts')
  const args = [script, world.dataDir, id, String(sizeGb), 'from', 'to', String(killAt)]
  try {
    return Number((await promisify(execFile)(process.execPath, args)).stdout)
  } catch (error) {
    if (Object(error).signal === 'SIGKILL') return null
    throw error
  }
}

test('a volume counts as detached only when no process has it open, so that no machine keeps access', async () => {
  await world.make('keeper', { image })
  await world.driver.start('keeper')
  await world.driver.volume(id, 1)
  await world.driver.attachVolume(id, 'keeper')
  // A guest that took over its QEMU could keep the file open like this.
  const kept = await open(fileOf(id))
  await expect(world.driver.detachVolume(id, 'keeper')).rejects.toMatchObject({ code: 'unavailable' })
  expect(await world.driver.listVolumes()).toEqual(new Map([[id, 'keeper']]))
  await kept.close()
  await world.driver.detachVolume(id, 'keeper')
  expect(statSync(fileOf(id))).toMatchObject({ uid: process.getuid?.(), mode: 0o100600 })
  await world.driver.destroy('keeper')
  await world.driver.removeVolume(id)
})

test('a volume whose file a guest enlarged beyond its size is attached to no machine', async () => {
  await world.make('greedy', { image })
  await world.driver.start('greedy')
  await world.driver.volume(id, 1)
  await promisify(execFile)('truncate', ['-s', '2G', fileOf(id)])
  await expect(world.driver.attachVolume(id, 'greedy')).rejects.toThrow(/larger than its 1 GB/)
  await world.driver.destroy('greedy')
  await world.driver.removeVolume(id)
})
