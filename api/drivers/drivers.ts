import { type Driver, DriverError, type DriverName } from './driver.ts'

/**
 * The pool of the driver that the installation has by default. A pool is what one driver runs machines on; the zones
 * that share a driver share its pool, and so its capacity. Other drivers' pools have their names.
 */
const LOCAL = 'local'

/** The drivers that serve side by side. A server's machine stays in the pool that its zone had when it was made. */
export class Drivers {
  readonly #default: DriverName
  readonly #drivers: Partial<Record<DriverName, Driver>>

  /** @param drivers all that are open, the default one among them */
  constructor(byDefault: DriverName, drivers: Partial<Record<DriverName, Driver>>) {
    this.#default = byDefault
    this.#drivers = drivers
  }

  /** The pools of the drivers that are open, the default one's first. */
  get pools(): string[] {
    const names = Object.keys(this.#drivers).filter((name) => name !== this.#default)
    return [LOCAL, ...names]
  }

  /** The pool that new servers of a zone go to. */
  poolOf({ driver = this.#default }: { driver?: DriverName | undefined }): string {
    return driver === this.#default ? LOCAL : driver
  }

  /** The driver of a pool. One that is not open refuses all, and knows nothing of what its machines do. */
  at(pool: string): Driver {
    const name = pool === LOCAL ? this.#default : pool
    const open = Object.entries(this.#drivers).find(([candidate]) => candidate === name)
    return open?.[1] ?? new ClosedDriver(`The driver ${name} is not open.`)
  }

  watch(listener: (serverId: string) => void): void {
    for (const driver of Object.values(this.#drivers)) driver.watch(listener)
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#drivers).map((driver) => driver.close()))
  }
}

/** A driver that cannot work here, in the place of one that can: others go on beside it. */
export class ClosedDriver implements Driver {
  readonly #why: string

  /** @param why a sentence for operators */
  constructor(why: string) {
    this.#why = why
  }

  readonly #refuse = async (): Promise<never> => {
    throw new DriverError('unavailable', this.#why)
  }
  readonly host = this.#refuse
  readonly image = this.#refuse
  readonly define = this.#refuse
  readonly start = this.#refuse
  readonly shutdown = this.#refuse
  readonly reset = this.#refuse
  readonly powerOff = this.#refuse
  readonly destroy = this.#refuse
  readonly inspect = this.#refuse
  readonly list = this.#refuse
  readonly measure = this.#refuse
  readonly ready = this.#refuse

  network() {
    return { ipv4: null }
  }

  watch(): void {}

  async close(): Promise<void> {}
}
