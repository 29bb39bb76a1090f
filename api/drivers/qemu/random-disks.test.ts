import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ImageSpec } from '../images.ts'
import type { SnapshotSpec } from '../snapshots.ts'
import { qmpSocket } from './command.ts'
import { Qmp } from './qmp.ts'
import { QemuWorld } from './test-world.ts'

// Random sequences of disk operations on real QEMU are compared with a model that has one byte for each disk.

let world: QemuWorld
let image: ImageSpec
beforeAll(async () => {
  world = await QemuWorld.open()
  image = await world.makeLoader()
})
afterAll(() => world?.close())

const run = promisify(execFile)
const AT = '200M'
const LENGTH = '64k'
const VOLUME_AT = 2 ** 20

interface Machine {
  mark: number
  gb: number
  isOn: boolean
}
interface Volume {
  mark: number
  gb: number
  machine: string | null
}
interface Model {
  machines: Map<string, Machine>
  snapshots: Map<string, { mark: number; gb: number }>
  volumes: Map<string, Volume>
  /** Numbers whatever is created: names of disks sort by age. */
  count: number
}

const KINDS = [
  ...['write', 'write', 'create', 'rebuild', 'destroy', 'power', 'power', 'crash', 'service', 'grow'],
  ...['snapshot', 'snapshot', 'cut', 'restore', 'fork', 'forget'],
  ...['volume', 'attach', 'attach', 'detach', 'writeVolume', 'growVolume', 'removeVolume'],
] as const
type Kind = (typeof KINDS)[number]
/** `first` and `second` choose among the existing objects. */
const move = fc.record({ kind: fc.constantFrom(...KINDS), first: fc.nat(), second: fc.nat() })

const fileOf = (id: string) => join(world.dataDir, 'volumes', id, 'disk.raw')

/** Writes to a machine's disk as its guest does: through QEMU's device if it is on, because QEMU locks the disk. */
async function write(id: string, { isOn, mark }: Machine): Promise<void> {
  const command = `write -P ${mark} ${AT} ${LENGTH}`
  // A killed QEMU counts as off a moment before the kernel has closed its files.
  if (!isOn) return world.until(`the disk of ${id} is free`, () => wrote(command, world.diskOf(id)))
  await world.driver.close()
  const qmp = await Qmp.connect(qmpSocket(join(world.dataDir, 'vms', id, 'run')), 20_000)
  for (const line of [command, 'flush']) {
    const args = { 'command-line': `qemu-io -d /machine/peripheral/disk0/virtio-backend "${line}"` }
    // The monitor returns failures only; results go to QEMU's own output.
    expect(await qmp.run('human-monitor-command', args, 20_000)).toBe('')
  }
  qmp.close()
  await world.restart()
}

/** @returns false if another process still locks the disk */
async function wrote(command: string, file: string): Promise<boolean> {
  return run('qemu-io', ['-c', command, file]).then(
    () => true,
    (error: Error) => {
      if (error.message.includes('lock')) return false
      throw error
    },
  )
}

/** Checks a disk, which may be open elsewhere; qemu-io fails if the data differs from the mark. */
async function expectMark(file: string, mark: number): Promise<void> {
  await run('qemu-io', ['-r', '-U', '-c', `read -P ${mark} ${AT} ${LENGTH}`, file])
}

async function start(id: string): Promise<void> {
  await world.until(`${id} is started`, async () => (await world.driver.start(id)) === 'started')
}

/** @param base any snapshot, since the driver decides if the copy becomes a difference to it */
async function copy(id: string, snapshotId: string, base: Pick['snapshot']): Promise<void> {
  expect(await world.copied(id, snapshotId, base?.[0])).toHaveProperty('state', 'ready')
}

/** Replaces a machine's disk, as a rebuild and a restore do. */
async function replace(
  model: Model,
  id: string,
  source: ImageSpec | SnapshotSpec,
  made: Machine,
): Promise<void> {
  const name = `disk-${String(++model.count).padStart(4, '0')}`
  await world.driver.destroy(id, name)
  for (const volume of model.volumes.values()) if (volume.machine === id) volume.machine = null
  await world.make(id, { image: source, diskId: name, diskGb: made.gb })
  model.machines.set(id, made)
}

const acts: Record<Kind, (model: Model, pick: Pick) => Promise<void>> = {
  async write(model, { machine: [id, one] }) {
    one.mark = 1 + (++model.count % 255)
    await write(id, one)
  },
  async create(model) {
    if (model.machines.size < 3)
      await replace(model, `m${model.count}`, image, { mark: 0, gb: 1, isOn: false })
  },
  rebuild: (model, { machine: [id] }) => replace(model, id, image, { mark: 0, gb: 1, isOn: false }),
  async destroy(model, { machine: [id] }) {
    await world.driver.destroy(id)
    model.machines.delete(id)
    for (const volume of model.volumes.values()) if (volume.machine === id) volume.machine = null
    expect(await world.leftovers(id)).toEqual([])
  },
  async power(_model, { machine: [id, one] }) {
    if (one.isOn) await world.driver.powerOff(id)
    else await start(id)
    one.isOn = !one.isOn
  },
  async crash(_model, { machine: [id, one] }) {
    if (!one.isOn) return
    await world.crash(id)
    await world.until(`${id} is off`, async () => (await world.driver.inspect(id)).power === 'stopped')
    one.isOn = false
  },
  service: () => world.restart(),
  async grow(_model, { machine: [id, one] }) {
    one.gb++
    if (one.isOn) await world.driver.growDisk(id, one.gb)
    else await world.make(id, { image: null, diskGb: one.gb })
  },
  async snapshot(model, { machine: [id, one], snapshot }) {
    const name = `s${++model.count}`
    await copy(id, name, snapshot)
    model.snapshots.set(name, { mark: one.mark, gb: one.gb })
  },
  /** A copy during which the service ends, and the machine or its guest. */
  async cut(model, { machine: [id, one], snapshot, second }) {
    const name = `s${++model.count}`
    await world.driver.snapshot(id, name, snapshot?.[0])
    if (second % 3 === 0) return world.driver.removeSnapshot(name)
    await world.restart()
    if (second % 3 === 1) await acts.crash(model, { machine: [id, one] } as Pick)
    await copy(id, name, snapshot)
    model.snapshots.set(name, { mark: one.mark, gb: one.gb })
  },
  async restore(model, { machine: [id, { gb }], snapshot }) {
    if (!snapshot) return
    const made = { mark: snapshot[1].mark, gb: Math.max(gb, snapshot[1].gb), isOn: false }
    await replace(model, id, { snapshotId: snapshot[0] }, made)
  },
  async fork(model, { snapshot }) {
    if (snapshot && model.machines.size < 3)
      await replace(model, `m${model.count}`, { snapshotId: snapshot[0] }, { ...snapshot[1], isOn: false })
  },
  async forget(model, { snapshot }) {
    if (!snapshot) return
    await world.driver.removeSnapshot(snapshot[0])
    model.snapshots.delete(snapshot[0])
  },
  async volume(model) {
    if (model.volumes.size === 3) return
    const id = `01a1fb45-1b02-7a3e-8c5d-${String(++model.count).padStart(12, '0')}`
    await world.driver.volume(id, 1)
    model.volumes.set(id, { mark: 0, gb: 1, machine: null })
  },
  async attach(_model, { volume, machine: [id] }) {
    if (!volume) return
    await world.driver.attachVolume(volume[0], id)
    volume[1].machine = id
  },
  async detach(_model, { volume }) {
    if (volume?.[1].machine == null) return
    await world.driver.detachVolume(volume[0], volume[1].machine)
    volume[1].machine = null
  },
  async writeVolume(model, { volume }) {
    if (!volume) return
    volume[1].mark = 1 + (++model.count % 255)
    await using file = await open(fileOf(volume[0]), 'r+')
    await file.write(Buffer.alloc(4096, volume[1].mark), 0, 4096, VOLUME_AT)
  },
  async growVolume(_model, { volume }) {
    if (volume) await world.driver.volume(volume[0], ++volume[1].gb)
  },
  async removeVolume(model, { volume }) {
    if (!volume) return
    await world.driver.removeVolume(volume[0])
    model.volumes.delete(volume[0])
  },
}

interface Pick {
  machine: [string, Machine]
  snapshot: [string, { mark: number; gb: number }] | undefined
  volume: [string, Volume] | undefined
  second: number
}

/** Chooses existing objects by numbers; at least one machine always exists. */
function pick({ machines, snapshots, volumes }: Model, first: number, second: number): Pick | null {
  const machine = [...machines][first % machines.size]
  if (!machine) return null
  const snapshot = [...snapshots][second % Math.max(snapshots.size, 1)]
  const volume = [...volumes][second % Math.max(volumes.size, 1)]
  return { machine, snapshot, volume, second }
}

/** Compares the whole state of the host with the model. */
async function compare({ machines, snapshots, volumes }: Model): Promise<void> {
  const states = await world.driver.list()
  const isOn = [...machines].map(([id, one]) => [id, one.isOn ? 'running' : 'stopped'])
  expect([...states].map(([id, { power }]) => [id, power]).sort()).toEqual(isOn.sort())
  for (const [id, one] of machines) {
    await expectMark(world.diskOf(id), one.mark)
    expect(await virtualGb(world.diskOf(id)), id).toBe(one.gb)
  }
  expect([...(await world.driver.listSnapshots()).keys()].sort()).toEqual([...snapshots.keys()].sort())
  for (const [id, { mark, gb }] of snapshots) {
    await expectMark(world.copyOf(id), mark)
    expect(await virtualGb(world.copyOf(id)), id).toBe(gb)
  }
  const places = [...volumes].map(([id, { machine }]) => [id, machine] as const)
  expect(await world.driver.listVolumes()).toEqual(new Map(places))
  for (const [id, { mark, gb }] of volumes) {
    await using file = await open(fileOf(id))
    const { buffer } = await file.read(Buffer.alloc(4096), 0, 4096, VOLUME_AT)
    expect(
      buffer.every((byte) => byte === mark),
      id,
    ).toBe(true)
    expect((await file.stat()).size, id).toBe(gb * 2 ** 30)
  }
}

async function virtualGb(file: string): Promise<number> {
  const { stdout } = await run('qemu-img', ['info', '-U', '--output=json', file])
  return JSON.parse(stdout)['virtual-size'] / 2 ** 30
}

test('after any sequence of operations, each disk has the expected data, and nothing is left at the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 40, maxLength: 40 }), async (moves) => {
      const model: Model = { machines: new Map(), snapshots: new Map(), volumes: new Map(), count: 0 }
      for (const { kind, first, second } of moves) {
        if (model.machines.size === 0)
          await replace(model, `m${model.count}`, image, { mark: 0, gb: 1, isOn: false })
        const chosen = pick(model, first, second)
        if (chosen) await acts[kind](model, chosen)
      }
      await compare(model)
      for (const id of model.machines.keys()) await world.driver.destroy(id)
      for (const id of model.snapshots.keys()) await world.driver.removeSnapshot(id)
      for (const id of model.volumes.keys()) await world.driver.removeVolume(id)
      expect(readdirSync(join(world.dataDir, 'vms'))).toEqual([])
      expect(readdirSync(join(world.dataDir, 'snapshots'))).toEqual(['tmp'])
      expect(readdirSync(join(world.dataDir, 'volumes'))).toEqual([])
    }),
    // A run takes half a minute, so a failure is not shortened. Its message has the seed that repeats it.
    { numRuns: Number(process.env.BERTH_DISK_RUNS ?? 1), endOnFailure: true },
  )
})
