import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Driver,
  DriverError,
  type DriverErrorCode,
  type GuestLogin,
  type MachineSpec,
  type ServerNetwork,
} from './driver.ts'
import { isHashOf } from './guest/crypt.ts'
import { imageTests } from './image-suite.ts'
import type { ImageSpec } from './images.ts'
import type { Measurement } from './measurement.ts'
import { isSnapshot } from './snapshots.ts'
import { volumeTests } from './volume-suite.ts'

/** A driver under test, and the changes that the suite makes to its world from outside. */
export interface DriverWorld {
  driver: Driver
  /** A machine that this driver can run; the image is ready. */
  spec(serverId: string): MachineSpec
  network(serverId: string): ServerNetwork
  /** The number of machines that may boot at the same time; null: any number, because they boot immediately. */
  bootSlots: number | null
  /** An image whose guest never gets past its boot loader, if the driver boots machines. */
  loader?: ImageSpec
  /** Figures that this engine does not measure. */
  unknown?: readonly (keyof Measurement)[]
  /** Lets time pass until the condition holds. @throws Error if that takes longer than a boot may */
  until(what: string, holds: () => Promise<boolean>): Promise<void>
  /** Makes the machine vanish, as a bug in QEMU or the kernel's OOM killer would. */
  crash(serverId: string): Promise<void>
  /** Writes to the disk of a machine that is off, and reads it; required if the driver has snapshots. */
  write?(serverId: string, data: string): Promise<void>
  read?(serverId: string): Promise<string | null>
  /** Returns the hash of the login user's password in a running guest. */
  passwordHash(serverId: string): Promise<string>
  /** Restarts the service: `driver` is then a new one over the same machines. */
  restart(): Promise<void>
  /** The names of everything that is left of a machine: processes, files, ports. */
  leftovers(serverId: string): Promise<string[]>
  close(): Promise<void>
}

/**
 * Tests everything that driver.ts promises. Every driver, including the simulator, runs the suite, so that results on
 * the simulator also hold on real machines.
 */
export function driverSuite(name: string, makeWorld: () => Promise<DriverWorld>): void {
  describe(`${name} as a driver`, () => {
    let world: DriverWorld
    beforeAll(async () => {
      world = await makeWorld()
    })
    afterAll(() => world?.close())

    const inspect = (id: string) => world.driver.inspect(id)
    const isOff = async (id: string) => (await inspect(id)).power === 'stopped'
    const made = async (id: string, more: Partial<MachineSpec> = {}) => {
      await world.driver.define({ ...world.spec(id), ...more })
      await world.driver.connect(new Map([[id, world.network(id)]]))
      return id
    }
    const snapped = async (id: string, snapshotId: string) => {
      let state = await world.driver.snapshot(id, snapshotId)
      await world.until('the snapshot is ready', async () => {
        state = await world.driver.snapshot(id, snapshotId)
        return state.state !== 'copying'
      })
      return state
    }
    const verified = async (snapshotId: string) => {
      let found = await world.driver.verifySnapshot(snapshotId)
      await world.until('the snapshot is read', async () => {
        if (found.state === 'reading') found = await world.driver.verifySnapshot(snapshotId)
        return found.state !== 'reading'
      })
      return found.state
    }
    const hasSnapshots = async () => (await world.driver.host()).features.includes('snapshots')
    const started = async (id: string) => {
      await made(id)
      expect(await world.driver.start(id)).toBe('started')
      return id
    }

    test('a host says what it has', async () => {
      const facts = await world.driver.host()
      expect(facts.cpuTypes.length).toBeGreaterThan(0)
      expect(facts.compute).not.toBe('')
      expect(facts.reason).not.toBe('')
      expect(Math.min(facts.cores, facts.ramMb, facts.diskGb)).toBeGreaterThan(0)
    })

    test('an unknown machine is absent, and may be turned off and destroyed', async () => {
      expect(await inspect('nobody')).toEqual({ power: 'absent' })
      await world.driver.shutdown('nobody')
      await world.driver.powerOff('nobody')
      await world.driver.destroy('nobody')
      expect(await world.driver.ready('nobody')).toBeNull()
      expect((await world.driver.list()).has('nobody')).toBe(false)
      await refused(world.driver.start('nobody'), 'not_found')
      await refused(world.driver.reset('nobody'), 'not_found')
      const login = { username: 'ann', password: 'secret' }
      await refused(world.driver.setPassword('nobody', login), 'not_found')
    })

    test('defining is safe to repeat, and destroying leaves nothing', async () => {
      const id = await made('defined')
      await made(id)
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: null })
      expect((await world.driver.list()).get(id)).toEqual({ power: 'stopped', reason: null })
      await world.driver.shutdown(id)
      await refused(world.driver.reset(id), 'not_found')
      expect(await world.driver.ready(id)).toBeNull()
      await world.driver.destroy(id)
      await world.driver.destroy(id)
      expect(await inspect(id)).toEqual({ power: 'absent' })
      expect((await world.driver.list()).has(id)).toBe(false)
      expect(await world.leftovers(id)).toEqual([])
    })

    test('a command to remove an older disk does not touch a machine with a newer one', async () => {
      const id = await made('renewed', { diskId: '2' })
      // It keeps the name of the disk that it has, whatever it is defined with.
      await made(id, { diskId: '1' })
      await world.driver.destroy(id, '1')
      await world.driver.destroy(id, '2')
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: null })
      await world.driver.destroy(id, '3')
      expect(await inspect(id)).toEqual({ power: 'absent' })
      await world.driver.destroy(id, '3')
      expect(await world.leftovers(id)).toEqual([])
    })

    test('a machine keeps its disk, and a machine whose disk is missing does not get another', async () => {
      await refused(world.driver.define({ ...world.spec('diskless'), image: null }), 'not_found')
      await world.driver.destroy('diskless')
      const id = await made('kept')
      await world.driver.define({ ...world.spec(id), image: null })
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: null })
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
    })

    test('a machine starts only once it is connected, and stays connected when it is defined again', async () => {
      const id = 'connected'
      const networks = new Map([id, 'nobody'].map((name) => [name, world.network(name)] as const))
      await world.driver.connect(networks)
      expect((await world.driver.list()).has('nobody')).toBe(false)
      await world.driver.define(world.spec(id))
      await refused(world.driver.start(id), 'not_found')
      await world.driver.connect(networks)
      await world.driver.connect(networks)
      await world.driver.define({ ...world.spec(id), image: null })
      await world.restart()
      expect(await world.driver.start(id)).toBe('started')
      await world.driver.connect(networks)
      await world.driver.connect(new Map([[id, { ...world.network(id), ports: [], isCut: true }]]))
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
    })

    test('starting and pulling the plug are safe to repeat', async () => {
      const id = await started('plugged')
      const state = await inspect(id)
      expect(state).toMatchObject({ power: 'running', startedAt: expect.any(Number) })
      expect(await world.driver.start(id)).toBe('started')
      expect(await inspect(id)).toEqual(state)
      expect((await world.driver.list()).get(id)).toEqual(state)
      await refused(world.driver.define(world.spec(id)), 'start_failed')
      await world.driver.powerOff(id)
      await world.driver.powerOff(id)
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: null })
      expect(await world.driver.start(id)).toBe('started')
      await world.driver.destroy(id)
      expect(await inspect(id)).toEqual({ power: 'absent' })
      expect(await world.leftovers(id)).toEqual([])
    })

    test('a running machine is found again by the next service', async () => {
      const id = await started('found')
      const state = await inspect(id)
      await world.restart()
      expect(await inspect(id)).toEqual(state)
      expect(await world.driver.start(id)).toBe('started')
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
    })

    test('a machine that vanishes has crashed, until it is started again or turned off', async () => {
      const id = await started('crashed')
      const heard = listen(world.driver)
      await world.crash(id)
      await world.until('the crash is seen', () => isOff(id))
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: 'crashed' })
      await world.until('the listener is told', async () => heard.has(id))
      await world.restart()
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: 'crashed' })
      expect(await world.driver.start(id)).toBe('started')
      expect((await inspect(id)).power).toBe('running')
      await world.crash(id)
      await world.until('the crash is seen', () => isOff(id))
      await world.driver.powerOff(id)
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: null })
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
    })

    test('the usage of a machine is counted from its last start', async () => {
      const measure = async (id: string) => (await world.driver.measure([id, 'nobody'])).get(id)
      expect(await world.driver.measure(['nobody'])).toEqual(new Map())
      const id = await made('measured')
      const unknown = { cpuMs: null, memoryUsedBytes: null, diskReadBytes: null, diskWriteBytes: null }
      const off = { startedAt: null, cores: 1, ...unknown, networkRxBytes: null, networkTxBytes: null }
      expect(await measure(id)).toMatchObject({ ...off, diskUsedBytes: expect.any(Number) })
      await started(id)
      const state = await inspect(id)
      await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
      const memory = async () => (await measure(id))?.memoryUsedBytes ?? null
      await world.until('the guest tells its memory', async () => (await memory()) !== null)
      const first = await measure(id)
      if (state.power !== 'running' || !first) throw new Error('it does not run')
      expect(first.startedAt).toBe(state.startedAt)
      expect(first.memoryUsedBytes).toBeGreaterThan(2 ** 20)
      expect(first.memoryUsedBytes).toBeLessThanOrEqual(world.spec(id).ramMb * 2 ** 20)
      for (const counter of ['cpuMs', 'diskReadBytes', 'diskUsedBytes'] as const)
        if (world.unknown?.includes(counter)) expect(first[counter]).toBeNull()
        else expect(first[counter]).toBeGreaterThan(0)
      expect(first.cpuMs).toBeLessThanOrEqual(first.measuredAt - state.startedAt + 100)

      await world.restart()
      const second = await measure(id)
      expect(second?.startedAt).toBe(first.startedAt)
      expect(second?.cpuMs).toBeGreaterThanOrEqual(first.cpuMs ?? 0)
      expect(second?.diskReadBytes ?? 0).toBeGreaterThanOrEqual(first.diskReadBytes ?? 0)

      await world.driver.powerOff(id)
      expect(await measure(id)).toMatchObject(off)
      expect(await world.driver.start(id)).toBe('started')
      const third = await measure(id)
      expect(third?.startedAt).toBeGreaterThanOrEqual(first.startedAt ?? 0)
      expect(third?.cpuMs).toBeLessThan(second?.cpuMs ?? 0)
      await world.driver.destroy(id)
      expect(await measure(id)).toBeUndefined()
    })

    test('only so many machines boot at once', async (t) => {
      const slots = world.bootSlots ?? t.skip('machines are up at once')
      const ids = Array.from({ length: slots + 1 }, (_, index) => `queue-${index}`)
      for (const id of ids) await made(id, world.loader && { image: world.loader })
      const last = ids.pop() ?? ''
      for (const id of ids) expect(await world.driver.start(id)).toBe('started')
      expect(await world.driver.start(last)).toBe('queued')
      expect(await inspect(last)).toEqual({ power: 'stopped', reason: null })
      await world.restart()
      expect(await world.driver.start(last)).toBe('queued')
      await world.driver.powerOff(ids[0] ?? '')
      expect(await world.driver.start(last)).toBe('started')
      for (const id of [...ids, last]) await world.driver.destroy(id)
    })

    test('an owner who boots many machines delays nobody else, and a guest past its loader frees its slot', async (t) => {
      const slots = world.bootSlots ?? t.skip('machines are up at once')
      const ids = Array.from({ length: slots - 1 }, (_, index) => `greedy-${index}`)
      for (const id of [...ids, 'greedy-last']) await made(id, { owner: 'greedy' })
      await made('modest', { owner: 'modest' })
      for (const id of ids) expect(await world.driver.start(id)).toBe('started')
      expect(await world.driver.start('greedy-last')).toBe('queued')
      expect(await world.driver.start('modest')).toBe('started')
      await world.until('a slot is free', async () => (await world.driver.start('greedy-last')) === 'started')
      for (const id of [...ids, 'greedy-last', 'modest']) await world.driver.destroy(id)
    })

    volumeTests(() => world, made)

    imageTests(() => world, made)

    test('a machine boots the rescue system until the rescue ends, and its own disk before and after', async (t) => {
      if (!(await world.driver.host()).features.includes('rescue')) t.skip('there is no rescue system here')
      const id = await made('rescued')
      const boot = async () => {
        expect(await world.driver.start(id)).toBe('started')
        await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
        const keys = await world.driver.ready(id)
        await refused(world.driver.rescue(id, null), 'start_failed')
        await world.restart()
        await world.driver.powerOff(id)
        return keys
      }
      const { sshPublicKeys, image } = world.spec(id)
      if (!image || isSnapshot(image)) throw new Error('the suite begins with images')
      const rescue = {
        rescueId: 'first',
        image,
        hostname: 'rescue',
        username: 'root',
        sshPublicKeys,
        password: null,
      }
      await world.driver.rescue(id, null)
      const own = await boot()
      await world.driver.rescue(id, rescue)
      const first = await boot()
      expect(first).not.toEqual(own)
      await world.driver.rescue(id, rescue)
      await world.driver.define(world.spec(id))
      expect(await boot()).toEqual(first)
      await world.driver.rescue(id, { ...rescue, rescueId: 'second' })
      await world.driver.rescue(id, null)
      await world.driver.rescue(id, null)
      expect(await boot()).toEqual(own)
      await world.driver.rescue(id, rescue)
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
      await refused(world.driver.rescue(id, rescue), 'not_found')
    })

    test('a disk that is created from a snapshot has the data of that moment', async (t) => {
      if (!(await hasSnapshots())) t.skip('there are no snapshots here')
      const id = await made('snapped')
      await world.write?.(id, 'before')
      const state = await snapped(id, 'moment')
      expect(state).toMatchObject({
        state: 'ready',
        diskGb: world.spec(id).diskGb,
        consistency: 'filesystem',
      })
      await world.write?.(id, 'after')
      expect(await snapped(id, 'moment')).toEqual(state)
      await world.restart()
      const listed = await world.driver.listSnapshots(['moment', 'nobody'])
      expect([...listed]).toEqual([['moment', { isReady: true, bytes: expect.any(Number) }]])
      expect([...(await world.driver.listSnapshots()).keys()]).toContain('moment')
      expect((await world.driver.list()).size).toBe(1)
      const isUnread = state.state === 'ready' && (state.isOpaque || state.isExported)
      expect(await verified('moment')).toBe(isUnread ? 'exported' : 'intact')
      expect(await verified('nobody')).toBe('damaged')
      if (state.state === 'ready' && state.isOpaque)
        await refused(world.driver.snapshotFiles.list('moment'), 'unsupported')

      const image = { snapshotId: 'moment' }
      await made('copied', { image, diskGb: world.spec(id).diskGb + 1 })
      await world.driver.destroy(id, 'second')
      await made(id, { image, diskId: 'second' })
      await world.driver.removeSnapshot('moment')
      await world.driver.removeSnapshot('moment')
      expect(await world.driver.listSnapshots(['moment'])).toEqual(new Map())
      for (const copy of [id, 'copied']) {
        expect(await world.read?.(copy)).toBe('before')
        expect(await world.driver.start(copy)).toBe('started')
        await world.driver.destroy(copy)
        expect(await world.leftovers(copy)).toEqual([])
      }
      await refused(world.driver.define({ ...world.spec('late'), image }), 'not_found')
      await world.driver.destroy('late')
    })

    test('an image shares the data of its snapshot, and outlives it', async (t) => {
      if (!(await world.driver.host()).features.includes('images')) t.skip('there are no images here')
      const id = await made('model')
      await world.write?.(id, 'model')
      const state = await snapped(id, 'of-model')
      await refused(world.driver.importImage('image', { snapshotId: 'nobody' }), 'not_found')
      const imported = () => world.driver.importImage('image', { snapshotId: 'of-model' })
      await world.until('the image is ready', async () => (await imported()).state === 'ready')
      await world.driver.removeSnapshot('of-model')
      await world.driver.destroy(id)
      await world.restart()
      expect(await imported()).toEqual(state)
      expect([...(await world.driver.listSnapshots()).keys()]).toEqual(['image'])
      await made('made', { image: { snapshotId: 'image' } })
      await world.driver.removeSnapshot('image')
      expect(await world.read?.('made')).toBe('model')
      expect(await world.driver.start('made')).toBe('started')
      await world.driver.destroy('made')
      expect(await world.leftovers('made')).toEqual([])
      expect(await world.driver.listSnapshots()).toEqual(new Map())
    })

    test('an unfinished snapshot survives a restart of the service, and can be removed', async (t) => {
      if (!(await hasSnapshots())) t.skip('there are no snapshots here')
      await refused(world.driver.snapshot('nobody', 'of-nobody'), 'not_found')
      const id = await made('halfway')
      await world.driver.snapshot(id, 'half')
      await world.restart()
      expect((await world.driver.listSnapshots(['half'])).has('half')).toBe(true)
      await world.driver.removeSnapshot('half')
      expect(await world.driver.listSnapshots(['half'])).toEqual(new Map())
      await world.driver.removeSnapshot('of-nobody')
      expect(await snapped(id, 'half')).toMatchObject({ state: 'ready' })
      await world.driver.removeSnapshot('half')
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
    })

    test('a snapshot of a running machine continues when the machine turns off', async (t) => {
      if (!(await hasSnapshots())) t.skip('there are no snapshots here')
      const id = await started('snapped-on')
      await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
      const keys = await world.driver.ready(id)
      await world.driver.snapshot(id, 'on')
      await world.driver.powerOff(id)
      expect(await snapped(id, 'on')).toMatchObject({ state: 'ready' })
      const image = { snapshotId: 'on' }
      const bootOf = async (instanceId: string, diskId: string) => {
        await world.driver.destroy(id, diskId)
        await made(id, { image, instanceId, diskId })
        expect(await world.driver.start(id)).toBe('started')
        await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
        return world.driver.ready(id)
      }
      expect(await bootOf(world.spec(id).instanceId, 'second')).toEqual(keys)
      expect(await bootOf('another-instance', 'third')).not.toEqual(keys)
      await world.driver.removeSnapshot('on')
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
    })

    test('a guest becomes ready after a start and again after a reset, and can turn itself off', async () => {
      const isBooting = async () =>
        world.bootSlots !== null && expect(await world.driver.ready(id)).toBeNull()
      const id = await started('guest')
      await isBooting()
      await world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)
      const answer = await world.driver.ready(id)
      expect(answer?.hostKeys[0]).toEqual({
        type: 'ssh-ed25519',
        fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
        publicKey: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/),
      })
      // The guest's agent may come up later than SSH.
      const password = 'correct horse'
      const { username } = world.spec(id)
      await world.until('its password is set', () => sets(world.driver, id, { username, password }))
      expect(isHashOf(password, await world.passwordHash(id))).toBe(true)
      await refused(world.driver.setPassword(id, { username: 'nobody-here', password }), 'unavailable')
      // It no longer occupies a slot of its owner either, even for the next service.
      await world.restart()
      const other = await made('other', { owner: world.spec(id).owner })
      expect(await world.driver.start(other)).toBe('started')
      await world.driver.destroy(other)
      await world.driver.reset(id)
      await isBooting()
      await world.until('the guest is ready again', async () => (await world.driver.ready(id)) !== null)
      expect(await world.driver.ready(id)).toEqual(answer)

      const heard = listen(world.driver)
      await world.driver.shutdown(id)
      await world.until('the guest is off', () => isOff(id))
      await world.until('the listener is told', async () => heard.has(id))
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: 'guest_shutdown' })
      expect(await world.driver.ready(id)).toBeNull()
      await world.restart()
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: 'guest_shutdown' })
      await world.driver.define({ ...world.spec(id), diskGb: world.spec(id).diskGb + 1 })
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: 'guest_shutdown' })
      expect(await world.driver.start(id)).toBe('started')
      expect((await inspect(id)).power).toBe('running')
      await world.driver.powerOff(id)
      expect(await inspect(id)).toEqual({ power: 'stopped', reason: null })
      await world.driver.destroy(id)
      expect(await world.leftovers(id)).toEqual([])
    })
  })
}

function listen(driver: Driver): Set<string> {
  const heard = new Set<string>()
  driver.watch((serverId) => heard.add(serverId))
  return heard
}

async function sets(driver: Driver, id: string, login: GuestLogin): Promise<boolean> {
  try {
    await driver.setPassword(id, login)
    return true
  } catch (error) {
    if (!(error instanceof DriverError && error.code === 'unavailable')) throw error
    return false
  }
}

async function refused(call: Promise<unknown>, code: DriverErrorCode): Promise<void> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(DriverError)
  expect(error).toMatchObject({ code })
}
