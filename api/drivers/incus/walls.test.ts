// These tests let a guest's root try to exceed the size of its disk and volumes, which are on btrfs.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Bits, ioctlProgram } from '../../../test/cluster/harness/ioctl-program.ts'
import { IncusWorld, PROJECT } from '../../../test/cluster/harness/world.ts'
import { at } from './client.ts'
import { volumeFolder } from './volume-devices.ts'
import { SUBVOLUME_CALLS } from './walls.ts'

const TIMEOUT_MS = 240_000
const NOT_SUPPORTED = '25'
const volumeId = '01a1fb45-1b02-7a3e-8c5d-6f1e2d3c4b5a'
const folder = volumeFolder(volumeId)
type Call = keyof typeof SUBVOLUME_CALLS
// As Object.keys is typed for any object.
const calls = Object.keys(SUBVOLUME_CALLS) as Call[]

let world: IncusWorld
beforeAll(async () => {
  world = await IncusWorld.open(1)
})
afterAll(() => world?.close())

const isReady = async (id: string) => (await world.driver.ready(id)) !== null

async function defined(id: string): Promise<string> {
  onTestFinished(() => world.driver.destroy(id))
  await world.driver.define(world.spec(id))
  await connect(id)
  return id
}

const connect = (id: string) => world.driver.connect(new Map([[id, world.network(id)]]))

async function start(id: string): Promise<void> {
  await world.driver.start(id)
  await world.until('the guest is ready', () => isReady(id))
}

/** Returns the error of a call that a guest's root makes in a folder; 0: it succeeded. */
function called(id: string, call: Call, bits: Bits, place = '/root'): Promise<string> {
  const program = [...ioctlProgram(bits, SUBVOLUME_CALLS[call])]
  const text = program.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
  const written = `printf '${text}' > /root/call && chmod 755 /root/call`
  return world.root(id, `${written} && cd ${place} && { /root/call; echo $?; }`)
}

/** Writes zeros to a file as root of a guest, and returns the error of `dd`. */
const filled = (id: string, file: string) =>
  world.root(id, `dd if=/dev/zero of=${file} bs=1M count=1100 2>&1; rm ${file}; sync`)

/** Changes an instance past the driver, and waits. */
async function change(method: string, id: string, part: string, body: object): Promise<void> {
  const client = world.cluster.client()
  const path = at(`/1.0/instances/b-${id}${part}`, { project: PROJECT })
  const { operation } = await client.call(method, path, { body })
  if (operation) await client.get(`${operation}/wait`, 30_000)
  client.close()
}

test.runIf(process.arch === 'x64')(
  'a guest’s root makes no subvolume, in which data would not count',
  {
    timeout: TIMEOUT_MS,
  },
  async () => {
    const id = await defined('bounded')
    await world.driver.volume(volumeId, 1)
    await world.driver.attachVolume(volumeId, id)
    await start(id)
    for (const bits of [64, 32] as const)
      for (const call of calls)
        expect([call, bits, await called(id, call, bits)]).toEqual([call, bits, NOT_SUPPORTED])
    for (const bits of [64, 32] as const)
      for (const call of ['BTRFS_IOC_SUBVOL_CREATE', 'BTRFS_IOC_SUBVOL_CREATE_V2'] as const)
        expect(await called(id, call, bits, folder)).toBe(NOT_SUPPORTED)
    for (const file of ['/root/large', `${folder}/large`])
      expect(await filled(id, file)).toMatch(/quota exceeded|No space left/i)
    await world.driver.destroy(id)
    await world.driver.removeVolume(volumeId)
  },
)

test.runIf(process.arch === 'x64')(
  'the walls reach a guest that runs without them when it reboots',
  {
    timeout: TIMEOUT_MS,
  },
  async () => {
    const id = await defined('earlier')
    const call = 'BTRFS_IOC_SUBVOL_CREATE'
    await change('PATCH', id, '', { config: { 'security.syscalls.deny': '' } })
    await change('PUT', id, '/state', { action: 'start', timeout: 30 })
    await world.until('the guest is ready', () => isReady(id))
    for (const bits of [64, 32] as const) {
      expect(await called(id, call, bits)).toBe('0')
      await world.root(id, 'rmdir /root/made')
    }
    await connect(id)
    expect(await called(id, call, 64)).toBe('0')
    await world.root(id, 'rmdir /root/made; touch /run/before; reboot').catch(() => {})
    // The guest's own folder /run is new after each boot.
    await world.until('the guest has rebooted', () =>
      world.root(id, 'ls /run/before || echo booted').then(
        (shown) => shown.endsWith('booted'),
        () => false,
      ),
    )
    for (const bits of [64, 32] as const) expect(await called(id, call, bits)).toBe(NOT_SUPPORTED)
  },
)
