import { type Driver, DriverError, noSnapshotFiles } from './driver.ts'
import type { SnapshotFiles } from './snapshots.ts'

interface Zoned {
  driver?: string | undefined
  zone_slug?: string
}

/**
 * The drivers that serve side by side. A pool is the place where one driver runs machines, and has its name: the zones
 * of one driver share its pool, and so its capacity. For some drivers, each zone has a separate driver and pool. A
 * server's machine stays in the pool that its zone had when it was created, even if the default changes: no other
 * driver is ever asked for it.
 */
export class Drivers {
  readonly #default: string
  readonly #drivers: Readonly<Record<string, Driver>>
  readonly #perZone: readonly string[]

  /**
   * @param drivers the open drivers by pool, with the default one
   * @param perZone the names of the drivers that are separate for each zone
   */
  constructor(byDefault: string, drivers: Readonly<Record<string, Driver>>, perZone: readonly string[] = []) {
    this.#default = byDefault
    this.#drivers = drivers
    this.#perZone = perZone
  }

  /** The pools of the open drivers, the default one's first. */
  get pools(): string[] {
    const names = Object.keys(this.#drivers).filter((name) => name !== this.#default)
    return [this.#default, ...names]
  }

  /** The pool that new servers of a zone go to. */
  poolOf({ driver = this.#default, zone_slug = '' }: Zoned): string {
    return this.#perZone.includes(driver) ? `${driver}-${zone_slug}` : driver
  }

  /** The driver of a pool. If it is not open, every call of it is refused. */
  at(pool: string): Driver {
    const open = Object.entries(this.#drivers).find(([name]) => name === pool)
    return open?.[1] ?? new ClosedDriver(`The driver ${pool} is not open.`)
  }

  watch(listener: (serverId: string) => void): void {
    for (const driver of Object.values(this.#drivers)) driver.watch(listener)
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#drivers).map((driver) => driver.close()))
  }
}

/** Takes the place of a driver that cannot work here, so that the others still work. */
export class ClosedDriver implements Driver {
  readonly #why: string
  readonly snapshotFiles: SnapshotFiles

  /** @param why a sentence for operators */
  constructor(why: string) {
    this.#why = why
    this.snapshotFiles = noSnapshotFiles('unavailable', why)
  }

  readonly #refuse = async (): Promise<never> => {
    throw new DriverError('unavailable', this.#why)
  }
  readonly host = this.#refuse
  readonly image = this.#refuse
  readonly define = this.#refuse
  readonly growDisk = this.#refuse
  readonly insertIso = this.#refuse
  readonly rescue = this.#refuse
  readonly start = this.#refuse
  readonly shutdown = this.#refuse
  readonly reset = this.#refuse
  readonly powerOff = this.#refuse
  readonly destroy = this.#refuse
  readonly receive = this.#refuse
  readonly importImage = this.#refuse
  readonly snapshot = this.#refuse
  readonly removeSnapshot = this.#refuse
  readonly verifySnapshot = this.#refuse
  readonly trySnapshot = this.#refuse
  readonly endTrial = this.#refuse
  readonly listSnapshots = this.#refuse
  readonly inspect = this.#refuse
  readonly list = this.#refuse
  readonly measure = this.#refuse
  readonly ready = this.#refuse
  readonly connect = this.#refuse
  readonly setPassword = this.#refuse
  readonly setAddress = this.#refuse
  readonly openConsole = this.#refuse
  readonly openScreen = this.#refuse
  readonly volume = this.#refuse
  readonly attachVolume = this.#refuse
  readonly detachVolume = this.#refuse
  readonly removeVolume = this.#refuse
  readonly listVolumes = this.#refuse

  watch(): void {}

  async close(): Promise<void> {}
}
