import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { IncusWorld, PROJECT } from '../../../test/cluster/harness/world.ts'
import { at } from './client.ts'
import { volumeFolder } from './volume-devices.ts'

const id = '01a1fb45-1b02-7a3e-8c5d-6f1e2d3c4b5a'
const folder = volumeFolder(id)
const TIMEOUT_MS = 240_000

let world: IncusWorld
beforeAll(async () => {
  world = await IncusWorld.open(2)
})
afterAll(() => world?.close())
beforeEach(async () => {
  for (const server of (await world.driver.list()).keys()) await world.driver.destroy(server)
  await world.driver.removeVolume(id)
})

async function started(server: string): Promise<string> {
  await world.driver.define(world.spec(server))
  await world.driver.connect(new Map([[server, world.network(server)]]))
  await boot(server)
  return server
}

async function boot(server: string): Promise<void> {
  await world.driver.start(server)
  await world.until('the guest is ready', async () => (await world.driver.ready(server)) !== null)
}

async function ask<T>(
  method: string,
  url: string,
  query: Record<string, string> = {},
  body?: object,
): Promise<T> {
  const client = world.cluster.client()
  try {
    const sent = body === undefined ? {} : { body }
    const { metadata } = await client.call(method, at(url, { project: PROJECT, ...query }), sent)
    return metadata as T // as the API documents it for this path
  } finally {
    client.close()
  }
}

const CUSTOM = '/1.0/storage-pools/default/volumes/custom'
interface Found {
  name: string
  location: string
  config: Record<string, string>
}
const stored = () => ask<Found[]>('GET', CUSTOM, { recursion: '1' })
const names = async () => (await stored()).map(({ name, location }) => `${name} ${location}`).sort()
const homeOf = async (server: string) => (await ask<Found>('GET', `/1.0/instances/b-${server}`)).location

/** Writes zeros to the end of a file, and returns the error. */
const filled = (server: string, megabytes: number) =>
  world.root(server, `dd if=/dev/zero bs=1M count=${megabytes} >> ${folder}/filled 2> /tmp/dd; cat /tmp/dd`)

test('a volume holds its size, grows under a running guest, and moves to another member with data and owners', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [one, two] = [await started('one'), await started('two')]
  expect(await homeOf(one)).not.toBe(await homeOf(two))
  expect((await world.driver.host()).features).toContain('volumes')
  await world.driver.volume(id, 1)
  await world.driver.attachVolume(id, one)
  const write = `cd ${folder} && echo mine > own && chown 1000:1000 own && chmod 4750 own && ln -s /etc/shadow link`
  await world.root(one, write)
  const shown = `cd ${folder} && stat -c '%u %a' . && stat -c '%u %g %a' own && cat own && readlink link`
  const data = await world.root(one, shown)
  expect(data).toBe('0 711\n1000 1000 4750\nmine\n/etc/shadow')
  expect(await filled(one, 1100)).toMatch(/quota exceeded|No space left/i)
  await world.driver.volume(id, 2)
  expect(await filled(one, 100)).toMatch(/^(\d+)\+0 records in\n\1\+0 records out/)

  // A running guest keeps the volume, since nothing shows whether the guest still has it open.
  await expect(world.driver.detachVolume(id, one)).rejects.toMatchObject({ code: 'unsupported' })
  await expect(world.driver.attachVolume(id, two)).rejects.toMatchObject({ code: 'unavailable' })
  await expect(world.driver.removeVolume(id)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await world.root(one, shown)).toBe(data)
  await world.root(one, `rm ${folder}/filled; sync`)
  await world.driver.powerOff(one)
  await world.driver.detachVolume(id, one)
  expect(await names()).toEqual([`v-${id} ${await homeOf(one)}`])

  await world.driver.attachVolume(id, two)
  expect(await names()).toEqual([`v-${id} ${await homeOf(two)}`])
  expect(await world.root(two, shown)).toBe(data)
  expect(await filled(two, 1100)).toMatch(/^(\d+)\+0 records in\n\1\+0 records out/)
  await world.root(two, `rm ${folder}/filled; sync`)
  await world.driver.reset(two)
  await world.until('the guest is ready', async () => (await world.driver.ready(two)) !== null)
  expect(await world.root(two, shown)).toBe(data)
  await boot(one)
  expect(await world.root(one, `ls -d ${folder}/own || true`)).toBe('')
  for (const server of [one, two]) await world.driver.destroy(server)
  expect(await world.driver.listVolumes()).toEqual(new Map([[id, null]]))
  await world.driver.removeVolume(id)
  expect(await names()).toEqual([])
})

test('a snapshot contains nothing of a volume, and a machine that is created again finds its volume', {
  timeout: TIMEOUT_MS,
}, async () => {
  const server = await started('renewed')
  await world.driver.volume(id, 1)
  await world.driver.attachVolume(id, server)
  await world.root(server, `echo mine > ${folder}/own; sync`)
  const home = await homeOf(server)
  await world.until('the snapshot is ready', async () => {
    const { state } = await world.driver.snapshot(server, 'renewed')
    return state === 'ready'
  })
  expect(Object.keys((await world.raw().show('s-renewed')).devices)).toEqual(['root'])
  const sources = [{ snapshotId: 'renewed' }, world.template]
  for (const [turn, image] of sources.entries()) {
    const diskId = `later-${turn}`
    await world.driver.destroy(server, diskId)
    await world.driver.define({ ...world.spec(server), image, diskId })
    await world.driver.connect(new Map([[server, world.network(server)]]))
    await boot(server)
    expect(await world.root(server, `ls ${folder} || true`)).toBe('')
    expect(await homeOf(server)).toBe(home)
    await world.driver.powerOff(server)
    await world.driver.attachVolume(id, server)
    await boot(server)
    expect(await world.root(server, `cat ${folder}/own`)).toBe('mine')
  }
  await world.driver.removeSnapshot('renewed')
})

test('a machine keeps its volume while its ports change at the same time', {
  timeout: TIMEOUT_MS,
}, async () => {
  const server = 'changed'
  await world.driver.define(world.spec(server))
  await world.driver.volume(id, 1)
  const network = world.network(server)
  for (let turn = 0; turn < 6; turn++) {
    const ports = turn % 2 === 0 ? [] : network.ports
    await Promise.all([
      world.driver.attachVolume(id, server),
      world.driver.connect(new Map([[server, { ...network, ports }]])),
      world.driver.define({ ...world.spec(server), ramMb: 128 + turn }),
    ])
    const { config, devices } = await world.raw().show(`b-${server}`)
    expect(Object.keys(devices).filter((name) => name.startsWith('tcp-')).length).toBe(ports.length)
    expect(config['limits.memory']).toBe(`${128 + turn}MiB`)
    expect(await world.driver.listVolumes()).toEqual(new Map([[id, server]]))
    await world.driver.detachVolume(id, server)
  }
})

test('a guest on an evacuated member stays there with its volume, and runs again after the restore', {
  timeout: TIMEOUT_MS,
}, async () => {
  const server = await started('waiting')
  await world.driver.volume(id, 1)
  await world.driver.attachVolume(id, server)
  await world.root(server, `echo mine > ${folder}/own; sync`)
  const home = await homeOf(server)
  const change = async (action: string) => {
    await ask('POST', `/1.0/cluster/members/${home}/state`, {}, { action })
    await world.until(`the member is ${action}d`, async () => {
      const inDefault = { project: 'default' }
      const { running = [] } = await ask<Record<string, unknown[]>>('GET', '/1.0/operations', inDefault)
      return running.length === 0
    })
  }
  await change('evacuate')
  expect(await world.driver.inspect(server)).toEqual({ power: 'away', isMoving: false })
  expect((await world.driver.list()).get(server)).toEqual({ power: 'away', isMoving: false })
  await change('restore')
  await world.until('it runs', async () => (await world.driver.inspect(server)).power === 'running')
  expect(await world.root(server, `cat ${folder}/own`)).toBe('mine')
})

interface Left {
  name: string
  target: string
  tag: string
  isUsed?: boolean
}

async function left({ name, target, tag, isUsed = true }: Left): Promise<void> {
  const config = { size: '1GiB', 'user.tag': tag, ...(isUsed && { 'user.berth.used': 'true' }) }
  await ask('POST', CUSTOM, { target }, { name, content_type: 'filesystem', config })
}

const [whole, copy, old] = [`v-${id}`, `c-${id}-00000a`, `o-${id}-00000a`]
const original = { target: 'm1', tag: 'original' }
const copied = { target: 'm2', tag: 'copy' }
const late = { name: whole, tag: 'late', isUsed: false }
/** The volumes that an interruption leaves at each moment, and the one that must become the volume. */
const breaks: [Left[], string][] = [
  [
    [
      { name: whole, ...original },
      { name: copy, ...copied },
    ],
    'original m1',
  ],
  [
    [
      { name: old, ...original },
      { name: copy, ...copied },
      { name: `c-${id}-00000b`, ...copied },
    ],
    'copy m2',
  ],
  [
    [
      { name: old, ...original },
      { name: whole, ...copied },
    ],
    'copy m2',
  ],
  [[{ name: old, ...original }], 'original m1'],
  [
    [
      { name: whole, ...original },
      { ...late, target: 'm2' },
    ],
    'original m1',
  ],
  [
    [
      { name: old, ...original },
      { name: copy, ...copied },
      { ...late, target: 'm1' },
    ],
    'copy m2',
  ],
  [
    [
      { name: old, ...original },
      { name: copy, ...copied },
      { ...late, target: 'm2' },
    ],
    'copy m2',
  ],
]

test('a move or creation interrupted at any moment leaves one volume, the one with the data', {
  timeout: TIMEOUT_MS,
}, async () => {
  for (const [forms, wanted] of breaks) {
    for (const form of forms) await left(form)
    await world.driver.volume(id, 1)
    const found = await stored()
    expect(found.map(({ name }) => name)).toEqual([whole])
    expect(`${found[0]?.config['user.tag']} ${found[0]?.location}`).toBe(wanted)
    await world.driver.removeVolume(id)
    expect(await names()).toEqual([])
  }
  // No program can know the right one of two with data.
  for (const target of ['m1', 'm2']) await left({ name: whole, target, tag: target })
  await expect(world.driver.volume(id, 1)).rejects.toMatchObject({ code: 'unavailable' })
  expect((await names()).length).toBe(2)
  await world.driver.removeVolume(id)
})

test('a link that a guest puts in the place of its volume leads to a place within the guest', {
  timeout: TIMEOUT_MS,
}, async () => {
  const outside = mkdtempSync(path.join(tmpdir(), 'berth-link-'))
  onTestFinished(() => rmSync(outside, { recursive: true }))
  const server = await started('leading')
  await world.driver.volume(id, 1)
  const link = `mkdir -p /volumes ${outside}; ln -s ${outside} ${folder}; sync`
  await world.root(server, link)
  await world.driver.attachVolume(id, server)
  await world.root(server, `echo mine > ${folder}/own; sync`)
  await world.root(server, `umount ${folder}; rm -r ${folder}; ${link}`)
  await world.driver.powerOff(server)
  // The machine can't start until the volume is detached.
  await expect(world.driver.start(server)).rejects.toMatchObject({ code: 'start_failed' })
  await world.until('it has given it back', () =>
    world.driver.detachVolume(id, server).then(
      () => true,
      () => false,
    ),
  )
  await boot(server)
  await world.root(server, `rm ${folder}`)
  await world.driver.attachVolume(id, server)
  expect(await world.root(server, `cat ${folder}/own`)).toBe('mine')
  expect(readdirSync(outside)).toEqual([])
})
