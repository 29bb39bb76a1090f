import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/harness/clock.ts'
import { PLAIN_NETWORK } from '../driver.ts'
import { type DriverWorld, driverSuite } from '../driver-suite.ts'
import { Simulator } from './simulator.ts'
import { volumesOf } from './volumes.ts'

const BOOT_SLOTS = 2

/** The simulator's world: machines that outlive it in a string, and a clock that is turned while one waits. */
class SimulatedWorld implements DriverWorld {
  readonly #volumes = volumesOf()
  readonly #clock = new ManualClock()
  #kept: string | null = null
  driver = this.#open()
  readonly bootSlots = BOOT_SLOTS

  spec(serverId: string) {
    return {
      serverId,
      owner: serverId,
      hostname: serverId,
      cpu: 1,
      ramMb: 128,
      diskGb: 1,
      diskId: 'first',
      instanceId: serverId,
      cpuType: 'amd' as const,
      image: { slug: 'micro', sources: [] },
      username: 'ann',
      sshPublicKeys: [],
      password: 'secret',
      userData: null,
      interfaces: [{ mac: '52:54:00:00:00:01', addresses: [] }],
    }
  }

  network() {
    const ports = [{ protocol: 'tcp' as const, hostPort: 22_000, port: 22 }]
    return { ...PLAIN_NETWORK, number: 1, ports }
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (let waited = 0; !(await holds()); waited += 100) {
      if (waited > 300_000) throw new Error(`it never came: ${what}`)
      this.#clock.advance(100)
    }
  }

  async crash(serverId: string): Promise<void> {
    this.driver.turnsOffByItself(serverId, 'crashed')
  }

  async write(serverId: string, data: string): Promise<void> {
    await this.driver.writes(serverId, data)
  }

  async read(serverId: string): Promise<string | null> {
    return this.driver.dataOf(serverId)
  }

  async passwordHash(serverId: string): Promise<string> {
    return this.driver.guestOf(serverId).passwordHash ?? ''
  }

  async restart(): Promise<void> {
    await this.driver.close()
    this.driver = this.#open()
  }

  async leftovers(serverId: string): Promise<string[]> {
    return [...(await this.driver.list()).keys()].filter((id) => id === serverId)
  }

  async close(): Promise<void> {
    await this.driver.close()
  }

  #open(): Simulator {
    const save = async (machines: string) => {
      this.#kept = machines
    }
    const storage = { load: () => this.#kept, save }
    const delays = { imageMs: 1_000, copyMs: 1_000, bootMs: 5_000, shutdownMs: 2_000 }
    return new Simulator({
      clock: this.#clock,
      ...delays,
      bootSlots: BOOT_SLOTS,
      storage,
      volumes: this.#volumes,
    })
  }
}

driverSuite('the simulator', async () => new SimulatedWorld())

test('a slot is freed when the guest is past its boot loader, before it answers on SSH', async () => {
  const clock = new ManualClock()
  const driver = new Simulator({ clock, bootMs: 10_000, bootSlots: 1 })
  const world = new SimulatedWorld()
  for (const id of ['first', 'second']) {
    await driver.define(world.spec(id))
    await driver.connect(new Map([[id, world.network()]]))
  }
  expect(await driver.start('first')).toBe('started')
  expect(await driver.start('second')).toBe('queued')
  clock.advance(5_000)
  expect(await driver.ready('first')).toBeNull()
  expect(await driver.start('second')).toBe('started')
})
