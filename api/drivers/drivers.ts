import { type Driver, DriverError, type DriverName } from './driver.ts'

interface Zoned {
  driver?: DriverName | undefined
  zone_slug?: string
}

/** The pools of zones on Incus: each zone has its own, after this. */
export const INCUS_POOL = 'incus-'

/**
 * The drivers that serve side by side. A pool is what one driver runs machines on, and has its name; the zones that
 * share a driver share its pool, and so its capacity. Of Incus each zone has a driver and a pool of its own, as each
 * has other members. A server's machine stays in the pool that its zone had when it
 * was made, whatever the default is by then: no other driver is ever asked for it.
 */
export class Drivers {
  readonly #default: DriverName
  readonly #drivers: Readonly<Record<string, Driver>>

  /** @param drivers all that are open by their pools, the default one among them */
  constructor(byDefault: DriverName, drivers: Readonly<Record<string, Driver>>) {
    this.#default = byDefault
    this.#drivers = drivers
  }

  /** The pools of the drivers that are open, the default one's first. */
  get pools(): string[] {
    const names = Object.keys(this.#drivers).filter((name) => name !== this.#default)
    return [this.#default, ...names]
  }

  /** The pool that new servers of a zone go to. */
  poolOf({ driver = this.#default, zone_slug = '' }: Zoned): string {
    return driver === 'incus' ? `${INCUS_POOL}${zone_slug}` : driver
  }

  /** The driver of a pool. One that is not open refuses all, and knows nothing of what its machines do. */
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
  readonly connect = this.#refuse
  readonly openConsole = this.#refuse

  watch(): void {}

  async close(): Promise<void> {}
}
