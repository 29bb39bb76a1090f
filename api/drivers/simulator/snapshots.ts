import type { Clock } from '../../clock.ts'
import { DriverError, type MachineSpec } from '../driver.ts'
import {
  isSnapshot,
  type SnapshotDriver,
  type SnapshotSpec,
  type SnapshotState,
  type VerifyState,
} from '../snapshots.ts'
import { bytesOf, copied, copyId, known, type Machine } from './machine.ts'
import type { Machines } from './machines.ts'
import { SimulatedVolumes } from './volumes.ts'

/** The snapshots of a simulator, each of which is kept as a machine that never runs. */
export abstract class SimulatedSnapshots extends SimulatedVolumes implements SnapshotDriver {
  protected abstract readonly machines: Machines
  protected abstract readonly options: { clock: Clock; copyMs: number }

  async snapshot(serverId: string, snapshotId: string): Promise<SnapshotState> {
    this.failIfTold('snapshot')
    const { copyMs } = this.options
    await this.machines.refresh([serverId])
    return this.#copy(snapshotId, (now) => copied(this.machines.get(serverId), now, copyMs))
  }

  async importImage(imageId: string, { snapshotId }: SnapshotSpec): Promise<SnapshotState> {
    this.failIfTold('importImage')
    const id = copyId(snapshotId)
    await this.machines.refresh([id])
    return this.#copy(imageId, (now) => {
      const { copy, ...machine } = this.machines.get(id)
      const readyAt = now + this.options.copyMs
      return { ...machine, copy: { consistency: copy?.consistency ?? 'crash', readyAt } }
    })
  }

  /** @param make makes the copy, unless it is there */
  async #copy(snapshotId: string, make: (now: number) => Machine): Promise<SnapshotState> {
    const { clock, copyMs } = this.options
    const id = copyId(snapshotId)
    await this.machines.change(id, (kept) => kept ?? make(clock.now()))
    const made = this.machines.get(id)
    const leftMs = (made.copy?.readyAt ?? 0) - clock.now()
    if (leftMs > 0) return { state: 'copying', progress: 1 - leftMs / copyMs }
    const consistency = made.copy?.consistency ?? 'crash'
    return { state: 'ready', bytes: bytesOf(made), diskGb: made.diskGb, consistency }
  }

  async removeSnapshot(snapshotId: string): Promise<void> {
    this.failIfTold('removeSnapshot')
    await this.machines.change(copyId(snapshotId), () => undefined)
  }

  async verifySnapshot(snapshotId: string): Promise<VerifyState> {
    this.failIfTold('verifySnapshot')
    const id = copyId(snapshotId)
    await this.machines.refresh([id])
    const copy = this.machines.find(id)
    if (copy && !copy.isDamaged) return { state: 'intact' }
    return { state: 'damaged', message: copy ? 'The snapshot has changed.' : 'The snapshot is missing.' }
  }

  /** Lets a snapshot rot on its disk. */
  damages(snapshotId: string): Promise<void> {
    return this.machines.change(copyId(snapshotId), (copy) => ({ ...known(copy), isDamaged: true }))
  }

  async listSnapshots(snapshotIds?: readonly string[]): ReturnType<SnapshotDriver['listSnapshots']> {
    this.failIfTold('listSnapshots')
    await this.machines.refresh(snapshotIds?.map(copyId))
    const wanted = snapshotIds && new Set(snapshotIds.map(copyId))
    const found = this.machines.entries.flatMap(([id, machine]) => {
      if (!machine.copy || (wanted && !wanted.has(id))) return []
      return [
        [id.slice(copyId('').length), { isReady: this.isReady(machine), bytes: bytesOf(machine) }] as const,
      ]
    })
    return new Map(found)
  }

  /** The snapshot that a machine's disk is created from. */
  protected async copyOf({ image }: MachineSpec): Promise<Machine | undefined> {
    if (!image || !isSnapshot(image)) return undefined
    const id = copyId(image.snapshotId)
    await this.machines.refresh([id])
    return this.machines.find(id)
  }

  /** @throws DriverError not_found, image_not_ready */
  protected requireReady(from: Machine | undefined): void {
    if (!from) throw new DriverError('not_found', 'The snapshot does not exist.')
    if (!this.isReady(from)) throw new DriverError('image_not_ready', 'The snapshot is not ready.')
  }

  protected isReady({ copy }: Machine): boolean {
    return copy !== undefined && copy.readyAt <= this.options.clock.now()
  }
}
