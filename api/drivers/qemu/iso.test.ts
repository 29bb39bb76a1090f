import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ImageSpec } from '../images.ts'
import { bootableIso } from '../test-iso.ts'
import { TestViewer } from '../test-viewer.ts'
import { qmpSocket } from './command.ts'
import { microSpec } from './images/test-image.ts'
import { Qmp } from './qmp.ts'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
let image: ImageSpec
beforeAll(async () => {
  world = await QemuWorld.open()
  image = await world.makeLoader()
})
afterAll(() => world?.close())

/** A host under load has no slot for another machine that boots. */
const started = (id: string) =>
  world.until(`${id} is started`, async () => (await world.driver.start(id)) === 'started')

/** Returns everything that the BIOS and its programs printed; empty until the log exists. */
const printed = (id: string) => {
  const log = join(world.dataDir, 'vms', id, 'log/serial.log')
  return existsSync(log) ? stripVTControlCharacters(readFileSync(log, 'latin1')) : ''
}
const times = (id: string, text: string) => printed(id).split(text).length - 1

async function kept(id: string, file: Buffer): Promise<string> {
  const spec = { owner: 'ann', bytes: file.length, sha256: null, isIso: true }
  await world.driver.receive(
    id,
    0,
    (async function* () {
      yield file
    })(),
  )
  await world.until('the ISO is read', async () => {
    const state = await world.driver.importImage(id, spec)
    if (state.state === 'failed') throw new Error(state.message)
    return state.state === 'ready'
  })
  return id
}

const isoFile = (id: string) => join(world.dataDir, 'snapshots', id, 'disk.iso')

test('a server boots the ISO in its drive, as its screen shows, and the ISO can be changed while it runs', async () => {
  const one = await kept('0e000000-0000-4000-8000-000000000001', bootableIso('FIRST INSTALLER '.repeat(40)))
  const two = await kept('0e000000-0000-4000-8000-000000000002', bootableIso('SECOND INSTALLER '))
  const id = 'install'
  await world.make(id, { image })
  await world.driver.insertIso(id, one)
  await started(id)
  await world.until('the ISO has booted', async () => times(id, 'FIRST INSTALLER') === 40)
  const viewer = await TestViewer.open(await world.driver.openScreen(id))
  // Each of the 600 letters has some pixels.
  await world.until('it is on the screen', async () => (await viewer.lit()) > 6000)
  await world.restart()
  for (let time = 0; time < 2; time++) await world.driver.insertIso(id, two)
  await world.driver.reset(id)
  await world.until('the other ISO has booted', async () => times(id, 'SECOND INSTALLER') === 1)
  for (let time = 0; time < 2; time++) await world.driver.insertIso(id, null)
  await world.driver.reset(id)
  await world.until('the disk has booted', async () => printed(id).includes('Booting from Hard Disk'))
  expect(times(id, 'FIRST INSTALLER')).toBe(40)
  await world.driver.insertIso(id, one)
  await world.driver.powerOff(id)
  await started(id)
  await world.until('it is in the drive of the next start, too', async () =>
    printed(id).trimEnd().endsWith('FIRST INSTALLER'),
  )
  await world.driver.destroy(id)
  expect(readFileSync(isoFile(one)).equals(bootableIso('FIRST INSTALLER '.repeat(40)))).toBe(true)
  expect(statSync(isoFile(one))).toMatchObject({ uid: process.getuid?.(), mode: 0o100444 })
})

test('a server whose kernel needs no loader boots an ISO, too', async () => {
  const iso = await kept('0e000000-0000-4000-8000-000000000003', bootableIso('INSTALLER '))
  await world.make('direct', { image: microSpec })
  await world.driver.insertIso('direct', iso)
  await started('direct')
  await world.until('the ISO has booted', async () => printed('direct').includes('INSTALLER '))
  await world.driver.powerOff('direct')
  await world.driver.insertIso('direct', null)
  await started('direct')
  await world.untilReady('direct')
  await world.driver.destroy('direct')
})

test('an ISO that is also a qcow2 with a backing file is never read as a qcow2, and no disk is created from it', async () => {
  const hostile = bootableIso('HOSTILE ')
  hostile.write('QFI\xfb', 0, 'latin1')
  hostile.writeUInt32BE(3, 4)
  hostile.writeBigUInt64BE(1024n, 8)
  hostile.writeUInt32BE(11, 16)
  hostile.write('/etc/shadow', 1024)
  const iso = await kept('0e000000-0000-4000-8000-000000000004', hostile)
  const lost = { code: 'not_found' }
  await expect(world.make('from-iso', { image: { snapshotId: iso } })).rejects.toMatchObject(lost)
  await world.make('polyglot', { image })
  await expect(world.driver.insertIso('polyglot', 'none')).rejects.toMatchObject(lost)
  await started('polyglot')
  // A reset before SeaBIOS has copied itself into memory leaves QEMU without it.
  await world.until('the BIOS runs', async () => printed('polyglot') !== '')
  await world.driver.insertIso('polyglot', iso)
  await world.driver.reset('polyglot')
  await world.until('it has booted', async () => printed('polyglot').includes('HOSTILE '))
  await world.driver.close()
  const qmp = await Qmp.connect(qmpSocket(join(world.dataDir, 'vms', 'polyglot', 'run')), 2000)
  const blocks = (await qmp.run('query-block')) as { qdev: string; inserted?: object }[]
  qmp.close()
  expect(blocks.find(({ qdev }) => qdev === 'cd0')?.inserted).toMatchObject({
    ...{ drv: 'raw', ro: true, backing_file_depth: 0 },
    image: { format: 'raw', 'virtual-size': hostile.length },
  })
  await world.restart()
  await world.driver.destroy('polyglot')
})

test("the operator's ISO is fetched as it is, booted by servers, and replaced in the next drive when it changes", async () => {
  const file = join(world.dataDir, 'operator.iso')
  const content = bootableIso('OPERATOR ONE ')
  writeFileSync(file, content)
  const iso: ImageSpec = { slug: 'debian', sources: [{ type: 'file', path: file }], isIso: true }
  await world.make('offered', { image })
  const early = world.driver.insertIso('offered', iso)
  await expect(early).rejects.toMatchObject({ code: 'image_not_ready' })
  const ready = () =>
    world.until('it is ready', async () => (await world.driver.image(iso)).state === 'ready')
  await ready()
  // A file is an ISO or a disk by its place in the catalogue, never by its content.
  const asDisk = { slug: 'disk', sources: iso.sources }
  expect((await world.driver.image(asDisk, { isWanted: false })).state).toBe('absent')
  for (let time = 0; time < 2; time++) await world.driver.insertIso('offered', iso)
  await started('offered')
  await world.until('it has booted', async () => times('offered', 'OPERATOR ONE') === 1)
  writeFileSync(file, bootableIso('OPERATOR TWO '))
  await ready()
  await world.restart()
  await world.driver.insertIso('offered', iso)
  await world.driver.reset('offered')
  await world.until('the other has booted', async () => times('offered', 'OPERATOR TWO') === 1)
  const folder = join(world.dataDir, 'images/isos')
  const kept = readdirSync(folder).filter((name) => /^[0-9a-f]{64}$/.test(name))
  const files = kept.map((name) => join(folder, name, 'disk.iso'))
  // Guests share the files, but could not change them.
  expect(files.filter((path) => readFileSync(path).equals(content))).toHaveLength(1)
  for (const path of files) expect(statSync(path)).toMatchObject({ mode: 0o100444 })
  await world.driver.insertIso('offered', null)
  await world.driver.destroy('offered')
})
