import { KeyedMutex } from '../../concurrency.ts'
import { DriverError } from '../driver.ts'
import type { VolumeDriver } from '../volumes.ts'
import type { Machine } from './machine.ts'
import type { VolumeShelf } from './volume-shelf.ts'

/** The volumes of this host. */
export abstract class QemuVolumes implements VolumeDriver {
  readonly #shelf: VolumeShelf
  /** Two calls never change the same volume at once. */
  readonly #turns = new KeyedMutex()

  constructor(shelf: VolumeShelf) {
    this.#shelf = shelf
  }

  protected abstract machine(serverId: string): Machine

  volume(volumeId: string, sizeGb: number): Promise<void> {
    return this.#turns.run(volumeId, async () => {
      await this.#shelf.make(volumeId, sizeGb)
      const holder = (await this.#shelf.find(volumeId))?.serverId
      if (holder) await this.machine(holder).growVolume(volumeId)
    })
  }

  attachVolume(volumeId: string, serverId: string): Promise<void> {
    return this.#turns.run(volumeId, async () => {
      const note = await this.#shelf.find(volumeId)
      if (!note) throw new DriverError('not_found', 'The volume does not exist')
      if (note.serverId !== null && note.serverId !== serverId)
        await this.machine(note.serverId).detachVolume(volumeId)
      await this.machine(serverId).attachVolume(volumeId)
    })
  }

  detachVolume(volumeId: string, serverId: string): Promise<void> {
    return this.#turns.run(volumeId, async () => {
      if ((await this.#shelf.find(volumeId))?.serverId === serverId)
        await this.machine(serverId).detachVolume(volumeId)
    })
  }

  removeVolume(volumeId: string): Promise<void> {
    return this.#turns.run(volumeId, async () => {
      const holder = (await this.#shelf.find(volumeId))?.serverId
      if (holder) await this.machine(holder).detachVolume(volumeId)
      await this.#shelf.remove(volumeId)
    })
  }

  async listVolumes(): Promise<Map<string, string | null>> {
    return new Map([...(await this.#shelf.all())].map(([id, { serverId }]) => [id, serverId]))
  }
}
