import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { IncusWorld } from '../../../test/cluster/harness/world.ts'
import type { Console } from '../console.ts'
import { PLAIN_NETWORK } from '../driver.ts'
import { driverSuite } from '../driver-suite.ts'
import { connected, type Instance } from './instance.ts'

driverSuite('Incus', () => IncusWorld.open(1))

let world: IncusWorld
beforeAll(async () => {
  world = await IncusWorld.open(1)
})
afterAll(() => world?.close())

async function started(id: string): Promise<string> {
  await world.driver.define(world.spec(id))
  await world.driver.connect(new Map([[id, world.network(id)]]))
  await world.driver.start(id)
  await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
  return id
}

/** An instance without the data of its disk, as an interrupted copy leaves it. */
const EMPTY = { source: { type: 'none' }, devices: { root: { type: 'disk', path: '/', pool: 'default' } } }

async function copied(id: string, snapshotId: string): Promise<void> {
  await world.until('the snapshot is ready', async () => {
    const { state } = await world.driver.snapshot(id, snapshotId)
    if (state === 'failed') throw new Error('the snapshot failed')
    return state === 'ready'
  })
}

async function printed(console: Console, wanted: string): Promise<string> {
  let text = ''
  while (!text.includes(wanted)) {
    const next = await console.read()
    if (next === null) throw new Error(`the console ended after: ${text}`)
    text += next.bytes.toString('latin1')
  }
  return text
}

test('a console shows the guest’s output to every viewer, and passes on their input', async () => {
  const id = await started('console')
  const first = await world.driver.openConsole(id)
  first.write(Buffer.from('\recho $((6 * 7))-fold\r'))
  await printed(first, '42-fold')
  const second = await world.driver.openConsole(id)
  await printed(second, '42-fold')
  second.write(Buffer.from('echo $((7 * 7))-fold\r'))
  await printed(first, '49-fold')
  second.close()
  first.close()
  const third = await world.driver.openConsole(id)
  third.write(Buffer.from('\recho $((8 * 7))-fold\r'))
  await printed(third, '56-fold')
  await world.driver.powerOff(id)
  expect(await ended(third)).toBe(true)
  await world.driver.destroy(id)
})

async function ended(console: Console): Promise<boolean> {
  while ((await console.read()) !== null);
  return true
}

test('guests reach neither each other nor their host, by the rules that operators are given', async () => {
  const [a, b] = [await started('a'), await started('b')]
  expect(await world.ssh(a, 'hostname')).toBe('host-a')
  const reaches = (address: string) =>
    world.ssh(a, `nc -w 2 ${address} 22 < /dev/null && echo yes || echo no`)
  expect(await reaches(world.addressOf(a))).toContain('yes')
  expect(await reaches(world.addressOf(b))).toBe('no')
  expect(await reaches('169.254.0.1')).toBe('no')
  for (const id of [a, b]) await world.driver.destroy(id)
})

test('an instance whose creation was interrupted is created again, or deleted', async () => {
  for (const id of ['half', 'half-again']) {
    await world.driver.define(world.spec(id))
    await world.cluster.breakOff(`b-${id}`)
  }
  await started('half')
  for (const id of ['half', 'half-again']) {
    await world.driver.destroy(id)
    expect(await world.leftovers(id)).toEqual([])
  }
})

test('a snapshot whose copy was interrupted is copied again, from the moment that was fixed first', async () => {
  const id = 'torn'
  await world.driver.define(world.spec(id))
  await world.write(id, 'then')
  const { call, names } = world.raw()
  // A process or an Incus that ends midway can leave each of these behind.
  await call(`/instances/b-${id}/snapshots`, { name: 'd-torn-1-000001' })
  await call(`/instances/b-${id}/snapshots`, { name: 's-torn-1' })
  for (const name of ['d-torn-1-000002', `t-${id}-000003`, 't-other-000004'])
    await call('/instances', { name, ...EMPTY })
  await world.write(id, 'later')
  expect(await world.driver.listSnapshots(['torn-1'])).toEqual(
    new Map([['torn-1', { isReady: false, bytes: 0 }]]),
  )
  await copied(id, 'torn-1')
  expect(await names()).toEqual(['b-torn', 's-torn-1', 't-other-000004', 't-torn-000003'])
  await call(`/instances/b-${id}/snapshots`, { name: 's-torn-1' })
  await copied(id, 'torn-1')
  await world.driver.destroy(id)
  const image = { snapshotId: 'torn-1' }
  await call('/instances', { name: `t-${id}-000005`, ...EMPTY })
  await world.driver.define({ ...world.spec(id), image })
  expect(await world.read(id)).toBe('then')
  await world.driver.destroy(id)
  await world.driver.destroy('other')
  expect(await names()).toEqual(['s-torn-1'])
  await world.driver.removeSnapshot('torn-1')
  expect(await names()).toEqual([])
})

test('a snapshot keeps nothing of its machine but the disk, and takes its space from the zone', async () => {
  const { diskGb } = await world.driver.host()
  const id = await started('secret')
  await copied(id, 'bare')
  expect((await world.driver.host()).diskGb).toBe(diskGb - 1)
  const { config, devices } = await world.raw().show('s-bare')
  expect(Object.keys(devices)).toEqual(['root'])
  const keys = Object.keys(config).filter((key) => !/^(volatile|image)\./.test(key))
  expect(keys.sort()).toEqual(['cluster.evacuate', 'security.idmap.isolated'])
  await world.driver.destroy(id)
  await world.driver.removeSnapshot('bare')
  await world.until('its space is free', async () => (await world.driver.host()).diskGb === diskGb)
})

test('links in the way of its seed are removed from a restored disk, and lead to no file of the host', async () => {
  const target = mkdtempSync(path.join(tmpdir(), 'berth-link-'))
  onTestFinished(() => rmSync(target, { recursive: true }))
  const file = path.join(target, 'user-data')
  writeFileSync(file, 'of the host')
  const id = await started('linked')
  const seed = '/var/lib/seed'
  const links = [
    `rm -rf ${seed}; ln -s ${target} ${seed}`,
    `rm -rf ${seed}; mkdir ${seed}; ln -s ${file} ${seed}/user-data`,
    `rm -rf ${seed}; echo > ${seed}`,
  ]
  const image = { snapshotId: 'linked' }
  for (const [turn, command] of links.entries()) {
    await world.root(id, `${command}; sync`)
    await copied(id, 'linked')
    await world.driver.destroy(id)
    await world.driver.define({ ...world.spec(id), image, diskId: `${turn}`, userData: '#!/bin/sh' })
    await world.driver.removeSnapshot('linked')
    await world.driver.connect(new Map([[id, world.network(id)]]))
    await world.driver.start(id)
    await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
    expect(await world.root(id, `cat ${seed}/user-data`)).toBe('#!/bin/sh')
    expect([readdirSync(target), readFileSync(file, 'utf8')]).toEqual([['user-data'], 'of the host'])
  }
  await world.root(id, 'mv /var/lib /lib-of-var; ln -s /lib-of-var /var/lib; sync')
  await world.until('it is refused', async () => {
    const state = await world.driver.snapshot(id, 'linked')
    if (state.state === 'failed') expect(state.message).toContain('/var/lib,')
    return state.state === 'failed'
  })
  expect(await world.driver.listSnapshots()).toEqual(new Map())
  await world.driver.destroy(id)
  expect(await world.leftovers(id)).toEqual([])
})

test('operations finish without events of the cluster, and through another of its addresses', async () => {
  const { address, close } = await world.cluster.deaf()
  onTestFinished(async () => {
    close()
    await world.restart()
  })
  await world.restart(['unix:/nowhere/unix.socket', address])
  await started('deaf')
  await world.driver.destroy('deaf')
  expect(await world.driver.inspect('deaf')).toEqual({ power: 'absent' })
})

test('a plan’s bandwidth limits a card in both directions, and can be lifted', () => {
  const card = JSON.stringify({ mac: '52:54:00:12:00:01', address: '10.64.0.6' })
  const instance: Instance = {
    ...{ name: 'b-fast', status_code: 103, location: 'none', last_used_at: '', architecture: 'x86_64' },
    ...{ ephemeral: false, stateful: false, profiles: [], description: '' },
    config: { 'user.berth.card': card },
    devices: { root: { type: 'disk', path: '/', pool: 'default' } },
  }
  const network = { ...PLAIN_NETWORK, number: 1 }
  const around = { listen: '127.0.0.1', uplink: null, project: '', prefix: '' }
  const fast = connected(instance, { ...network, bandwidthMbit: 50 }, around)
  expect(fast?.devices?.eth0).toMatchObject({ 'limits.ingress': '50Mbit', 'limits.egress': '50Mbit' })
  const slow = connected({ ...instance, ...fast }, network, around)
  expect(slow?.devices?.eth0).toMatchObject({ nictype: 'routed', hwaddr: '52:54:00:12:00:01' })
  expect(Object.keys(slow?.devices?.eth0 ?? {}).filter((key) => key.startsWith('limits.'))).toEqual([])
})
