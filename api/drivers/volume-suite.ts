import { expect, test } from 'vitest'
import type { Driver, MachineSpec, ServerNetwork } from './driver.ts'

/** A driver under test. */
interface World {
  driver: Driver
  network(serverId: string): ServerNetwork
  restart(): Promise<void>
  leftovers(serverId: string): Promise<string[]>
}

/**
 * The part of the drivers' suite that concerns volumes.
 * @param made defines a machine
 */
export function volumeTests(
  world: () => World,
  made: (id: string, more?: Partial<MachineSpec>) => Promise<string>,
): void {
  const [first, second] = ['01a1fb45-1b02-7a3e-8c5d-6f1e2d3c4b5a', '01a1fb45-1b03-7a3e-8c5d-6f1e2d3c4b5a']
  const hasVolumes = async () => (await world().driver.host()).features.includes('volumes')
  const listed = () => world().driver.listVolumes()

  test('a volume is attached to one machine at a time, and every call is safe to repeat', async (t) => {
    if (!(await hasVolumes())) t.skip('there are no volumes here')
    const { driver } = world()
    const [one, two] = [await made('with-volume'), await made('without-volume')]
    await expect(driver.attachVolume(first, one)).rejects.toMatchObject({ code: 'not_found' })
    for (const id of [first, second, first]) await driver.volume(id, 1)
    await driver.volume(first, 2)
    await driver.volume(first, 1)
    const none = '01a1fb45-1b04-7a3e-8c5d-6f1e2d3c4b5a'
    await expect(driver.attachVolume(first, none)).rejects.toMatchObject({ code: 'not_found' })
    for (const machine of [one, one, two, one]) await driver.attachVolume(first, machine)
    await driver.detachVolume(first, two)
    expect(await listed()).toEqual(
      new Map<string, string | null>([
        [first, one],
        [second, null],
      ]),
    )
    await world().restart()
    expect(await listed()).toEqual(
      new Map<string, string | null>([
        [first, one],
        [second, null],
      ]),
    )
    await world().driver.detachVolume(first, one)
    await world().driver.detachVolume(first, one)
    expect(await listed()).toEqual(
      new Map<string, string | null>([
        [first, null],
        [second, null],
      ]),
    )
    for (const id of [first, second, second]) await world().driver.removeVolume(id)
    expect(await listed()).toEqual(new Map())
    for (const id of [one, two]) await world().driver.destroy(id)
  })

  test('a machine keeps its volume when its network or size changes', async (t) => {
    if (!(await hasVolumes())) t.skip('there are no volumes here')
    const { driver } = world()
    const id = await made('with-volume')
    await driver.volume(first, 1)
    await driver.attachVolume(first, id)
    await made('with-volume', { cpu: 2, diskGb: 3 })
    await driver.connect(new Map([[id, { ...world().network(id), ports: [], bandwidthMbit: 50 }]]))
    await driver.connect(new Map([[id, { ...world().network(id), isCut: true }]]))
    await driver.connect(new Map([[id, world().network(id)]]))
    expect(await listed()).toEqual(new Map([[first, id]]))
    await driver.start(id)
    await driver.volume(first, 2)
    expect(await listed()).toEqual(new Map([[first, id]]))
    await driver.destroy(id)
    await driver.removeVolume(first)
  })

  test('a volume outlives its machine, and leaves nothing behind with it', async (t) => {
    if (!(await hasVolumes())) t.skip('there are no volumes here')
    const { driver } = world()
    const id = await made('with-volume')
    await driver.volume(first, 1)
    await driver.attachVolume(first, id)
    expect(await driver.start(id)).toBe('started')
    await driver.destroy(id)
    expect(await listed()).toEqual(new Map([[first, null]]))
    expect(await world().leftovers(id)).toEqual([])
    await driver.removeVolume(first)
  })
}
