import { setTimeout as sleep } from 'node:timers/promises'
import { KeyedMutex } from '../../concurrency.ts'
import { DriverError, type DriverErrorCode } from '../driver.ts'
import type { VolumeDriver } from '../volumes.ts'
import type { Devices } from './cards.ts'
import { IncusError } from './errors.ts'
import { serverIdOf, stateOf, withoutVolume, withVolume } from './instance.ts'
import type { Instances } from './instances.ts'
import type { Parts } from './parts.ts'
import { volumeName, volumesAmong } from './volume-devices.ts'
import { idOfVolume, isWhole, type Named, type Stored, VolumeStore } from './volume-store.ts'

interface VolumeParts extends Parts {
  instances: Instances
}

/** A volume on its way to another member. */
interface Move {
  ended: Promise<void>
  isEnded: boolean
  /** The failure, which the next call reports. */
  error: unknown
}

/** The time for which a call waits for a volume to be moved. */
const WAIT_MS = 60_000
const RUNS = 'A container gives back a volume only while it is off.'

/**
 * Custom volumes of Incus, which are file systems that a container finds in a folder. The cluster alone keeps their
 * state: devices of instances say which one has a volume. A running guest could keep a volume open after it has lost it,
 * so it loses none.
 */
export class IncusVolumes implements VolumeDriver {
  readonly #parts: VolumeParts
  readonly #store: VolumeStore
  readonly #moves = new Map<string, Move>()
  /** Two calls never change the same volume at once. */
  readonly #turns = new KeyedMutex()

  constructor(parts: VolumeParts) {
    this.#parts = parts
    this.#store = new VolumeStore(parts)
  }

  volume(volumeId: string, sizeGb: number): Promise<void> {
    return this.#turns.run(volumeId, async () => {
      const { instances, members } = this.#parts
      if (!(await members.hasVolumes()))
        throw new DriverError(
          'unsupported',
          'The storage pool of the zone does not hold volumes to their size.',
        )
      const found = await this.#find(volumeId)
      if (found) return this.#store.grow(found, sizeGb)
      const { target, done } = await members.place(await instances.list(), { serverId: '', ramMb: 0 })
      done()
      await this.#store.create(volumeId, sizeGb, target)
    })
  }

  attachVolume(volumeId: string, serverId: string): Promise<void> {
    return this.#turns.run(volumeId, async () => {
      const { instances, members, zone } = this.#parts
      const { location } = await instances.get(serverId)
      const found = await this.#find(volumeId)
      if (!found) throw new DriverError('not_found', 'The volume does not exist.')
      const isShared = await members.isStorageShared()
      const isThere = isShared || found.location === location
      for (const holder of holdersOf(found))
        if (holder !== serverId || !isThere) await this.#take(volumeId, holder, 'unavailable')
      const volume = isThere ? found : await this.#bring(volumeId, found, location)
      await this.#store.mark(volume)
      const pool = { name: zone.storage_pool, isShared }
      await instances.write(serverId, (instance) =>
        volumesAmong(instance.devices).includes(volumeId) ? null : withVolume(instance, volumeId, pool),
      )
    })
  }

  detachVolume(volumeId: string, serverId: string): Promise<void> {
    return this.#turns.run(volumeId, () => this.#take(volumeId, serverId, 'unsupported'))
  }

  removeVolume(volumeId: string): Promise<void> {
    return this.#turns.run(volumeId, async () => {
      await this.#requireRest(volumeId)
      const forms = await this.#forms(volumeId)
      for (const form of forms.filter(isWhole))
        for (const holder of holdersOf(await this.#store.get(form)))
          await this.#take(volumeId, holder, 'unavailable')
      // The volume itself is removed last, or else the remains of a move would become the volume.
      for (const form of forms.toSorted((a, b) => Number(isWhole(a)) - Number(isWhole(b))))
        await this.#store.remove(form)
    })
  }

  async listVolumes(): Promise<Map<string, string | null>> {
    const [all, instances] = await Promise.all([this.#store.all(), this.#parts.instances.list()])
    const holders = new Map(
      instances.flatMap(({ name, devices }) =>
        volumesAmong(devices).map((volumeId) => [volumeId, serverIdOf(name)] as const),
      ),
    )
    return new Map(
      all.flatMap(({ name }) => {
        const id = idOfVolume(name)
        return id === null ? [] : [[id, holders.get(id) ?? null] as const]
      }),
    )
  }

  /** Remembers on which member the volumes of a destroyed machine are. */
  leave(serverId: string, instance: { location: string; devices: Devices | null }): void {
    if (volumesAmong(instance.devices).length > 0) this.#parts.members.remember(serverId, instance.location)
  }

  /** Takes a volume from a machine that is off. @param code thrown if the machine is on */
  async #take(volumeId: string, serverId: string, code: DriverErrorCode): Promise<void> {
    const { instances } = this.#parts
    const found = await instances.find(serverId)
    if (!found) return
    if (found.config !== null && !volumesAmong(found.devices).includes(volumeId)) return
    await instances.write(serverId, (instance) => {
      if (!volumesAmong(instance.devices).includes(volumeId)) return null
      if (stateOf(instance).power !== 'stopped') throw new DriverError(code, RUNS)
      return withoutVolume(instance, volumeId)
    })
  }

  async #forms(volumeId: string): Promise<Named[]> {
    return (await this.#store.all()).filter(({ name }) => idOfVolume(name) === volumeId)
  }

  /** @throws IncusError while the volume is being moved */
  async #requireRest(volumeId: string): Promise<void> {
    const move = this.#moves.get(volumeId)
    if ((move && !move.isEnded) || (await this.#store.isMoving(volumeId)))
      throw new IncusError(0, 'The volume is being moved to another member')
  }

  /** Finds a volume, and first completes an interrupted move. @throws IncusError while it is being moved */
  async #find(volumeId: string): Promise<Stored | null> {
    const forms = await this.#forms(volumeId)
    const [only] = forms
    if (!only) return null
    if (forms.length === 1 && isWhole(only)) return this.#store.get(only)
    await this.#requireRest(volumeId)
    await this.#store.mend(volumeId, forms)
    const [whole, ...more] = (await this.#forms(volumeId)).filter(isWhole)
    if (more.length > 0) throw new IncusError(0, `${volumeName(volumeId)} has data on several members`)
    return whole ? this.#store.get(whole) : null
  }

  /** Moves a volume that no machine has to a member. @throws IncusError while it is being moved */
  async #bring(volumeId: string, volume: Stored, target: string): Promise<Stored> {
    if (!volume.isMarked) {
      await this.#store.remove(volume)
      await this.#store.create(volumeId, volume.sizeGb, target)
    } else {
      const move = this.#moves.get(volumeId) ?? this.#begin(volumeId, volume, target)
      await Promise.race([move.ended, sleep(WAIT_MS, undefined, { ref: false })])
      if (!move.isEnded) throw new IncusError(0, 'The volume is still being moved')
      this.#moves.delete(volumeId)
      if (move.error !== null) throw failureOf(move.error)
    }
    const brought = await this.#find(volumeId)
    if (brought?.location !== target) throw new IncusError(0, 'The volume was moved elsewhere meanwhile')
    return brought
  }

  #begin(volumeId: string, volume: Stored, target: string): Move {
    const { promise, resolve } = Promise.withResolvers<void>()
    const move: Move = { ended: promise, isEnded: false, error: null }
    this.#moves.set(volumeId, move)
    const end = (error: unknown) => {
      Object.assign(move, { error, isEnded: true })
      resolve()
    }
    this.#store.move(volumeId, volume, target).then(() => end(null), end)
    return move
  }
}

/** Returns the failure of a move. It is never a missing object, because the volume itself exists. */
function failureOf(error: unknown): unknown {
  const isFull = error instanceof IncusError && error.refusal === 'disk_full'
  return isFull ? error : new IncusError(0, 'The volume could not be moved', { cause: error })
}

/** The machines that have a volume. */
function holdersOf({ used_by }: Stored): string[] {
  return used_by.flatMap((user) => {
    const name = /^\/1\.0\/instances\/([^/?]+)(?:\?.*)?$/.exec(user)?.[1]
    return name === undefined ? [] : (serverIdOf(name) ?? [])
  })
}
