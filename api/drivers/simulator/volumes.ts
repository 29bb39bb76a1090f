import { DriverError } from '../driver.ts'
import type { SharedStore } from '../module.ts'
import type { VolumeDriver } from '../volumes.ts'
import { isVolume, type Method, VOLUME_PREFIX } from './machine.ts'

/** A simulated volume, as it is stored. */
interface Volume {
  sizeGb: number
  /** The machine that has it. */
  serverId: string | null
}

/** The place where simulated volumes are kept. */
export interface VolumeStore {
  load(): Promise<Map<string, Volume>>
  /** Changes, creates or deletes a volume. */
  change(volumeId: string, change: (volume: Volume | undefined) => Volume | undefined): Promise<void>
  /** Detaches all volumes of a machine. */
  release(serverId: string): Promise<void>
}

type Base = Omit<VolumeStore, 'release'>

/** Volumes in memory, and in a file if they must outlive the process. */
export function volumesOf(file?: {
  load(): string | null
  save(volumes: string): Promise<void>
}): VolumeStore {
  const entries: [string, Volume][] = JSON.parse(file?.load() ?? '[]')
  const volumes = new Map(entries)
  let writing = Promise.resolve()
  return releasing({
    load: async () => volumes,
    change: async (volumeId, change) => {
      const after = change(volumes.get(volumeId))
      if (after) volumes.set(volumeId, after)
      else volumes.delete(volumeId)
      const written = writing.then(() => file?.save(JSON.stringify([...volumes])))
      writing = written.catch(() => {})
      await written
    },
  })
}

/** Volumes that several processes share. */
export function volumesIn(shared: SharedStore): VolumeStore {
  return releasing({
    load: async () =>
      new Map(
        [...(await shared.load())].flatMap(([name, text]) =>
          isVolume(name) ? [[name.slice(VOLUME_PREFIX.length), parsed(text)] as const] : [],
        ),
      ),
    change: (volumeId, change) =>
      shared.change(VOLUME_PREFIX + volumeId, (text) => {
        const after = change(text === undefined ? undefined : parsed(text))
        return after && JSON.stringify(after)
      }),
  })
}

function releasing(base: Base): VolumeStore {
  return {
    ...base,
    release: async (serverId) => {
      for (const [id, volume] of await base.load())
        if (volume.serverId === serverId) await base.change(id, detachedFrom(serverId))
    },
  }
}

const detachedFrom = (serverId: string) => (volume: Volume | undefined) =>
  volume?.serverId === serverId ? { ...volume, serverId: null } : volume

/** Parses a volume without checks, since only the simulator writes volumes. */
function parsed(text: string): Volume {
  const volume: Volume = JSON.parse(text)
  return volume
}

/** The volumes of a simulator, and the failures that tests inject. */
export class SimulatedVolumes implements VolumeDriver {
  protected readonly volumes: VolumeStore
  readonly #failures = new Map<Method, Error[]>()

  /** @param volumes (default: memory only) */
  constructor(volumes = volumesOf()) {
    this.volumes = volumes
  }

  async volume(volumeId: string, sizeGb: number): Promise<void> {
    this.failIfTold('volume')
    await this.volumes.change(volumeId, (volume = { sizeGb, serverId: null }) => ({
      ...volume,
      sizeGb: Math.max(volume.sizeGb, sizeGb),
    }))
  }

  async attachVolume(volumeId: string, serverId: string): Promise<void> {
    this.failIfTold('attachVolume')
    await this.volumes.change(volumeId, (volume) => {
      if (!volume) throw new DriverError('not_found', 'The volume does not exist.')
      return { ...volume, serverId }
    })
  }

  async detachVolume(volumeId: string, serverId: string): Promise<void> {
    this.failIfTold('detachVolume')
    await this.volumes.change(volumeId, detachedFrom(serverId))
  }

  async removeVolume(volumeId: string): Promise<void> {
    this.failIfTold('removeVolume')
    await this.volumes.change(volumeId, () => undefined)
  }

  async listVolumes(): Promise<Map<string, string | null>> {
    return new Map([...(await this.volumes.load())].map(([id, { serverId }]) => [id, serverId]))
  }

  /** The size of a volume in GB, as a guest would see it; null: there is none. */
  async sizeOfVolume(volumeId: string): Promise<number | null> {
    return (await this.volumes.load()).get(volumeId)?.sizeGb ?? null
  }

  /** Lets the next call of a method fail with this error. */
  failNext(method: Method, error: Error): void {
    this.#failures.set(method, [...(this.#failures.get(method) ?? []), error])
  }

  protected failIfTold(method: Method): void {
    const error = this.#failures.get(method)?.shift()
    if (error) throw error
  }
}
