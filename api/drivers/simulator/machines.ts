import type { ServerNetwork } from '../driver.ts'
import { known, type Machine, type MachineStore } from './machine.ts'

/** The place where machines are kept, so that they outlive the process as real ones do (default: memory only). */
export interface MachinePlace {
  storage?: { load(): string | null; save(machines: string): Promise<void> }
  /** Used in place of `storage` if several processes share the machines. */
  shared?: MachineStore | undefined
}

/** The machines of a simulator, in memory and in their place. */
export class Machines {
  readonly #machines: Map<string, Machine>
  readonly #place: MachinePlace
  readonly #settle: (serverId: string, machine: Machine) => void
  #writing: Promise<void> = Promise.resolve()
  /** The write that begins after the one in progress. */
  #next: Promise<void> | null = null

  /** @param settle brings a machine up to the present: its guest may have turned it off in the meantime */
  constructor(place: MachinePlace, settle: (serverId: string, machine: Machine) => void) {
    const kept: [string, Machine][] = JSON.parse(place.storage?.load() ?? '[]')
    this.#machines = new Map(kept)
    this.#place = place
    this.#settle = settle
  }

  get ids(): string[] {
    return [...this.#machines.keys()]
  }

  get entries(): [string, Machine][] {
    return [...this.#machines]
  }

  get all(): Machine[] {
    return [...this.#machines.values()]
  }

  /** Resolves when everything is written. */
  get written(): Promise<void> {
    return this.#writing
  }

  find(serverId: string): Machine | undefined {
    const machine = this.#machines.get(serverId)
    if (machine) this.#settle(serverId, machine)
    return machine
  }

  /** @throws DriverError not_found */
  get(serverId: string): Machine {
    return known(this.find(serverId))
  }

  /** Reads machines again that other processes may have changed. */
  async refresh(serverIds?: readonly string[]): Promise<void> {
    const { shared } = this.#place
    if (!shared) return
    const machines = await shared.load(serverIds)
    for (const id of serverIds ?? this.ids) if (!machines.has(id)) this.#machines.delete(id)
    for (const [id, machine] of machines) this.#machines.set(id, machine)
  }

  async change(
    serverId: string,
    change: (machine: Machine | undefined) => Machine | undefined,
  ): Promise<void> {
    const { shared } = this.#place
    const apply = (machine: Machine | undefined) => {
      this.#put(serverId, machine)
      const after = change(this.find(serverId))
      this.#put(serverId, after)
      return after
    }
    if (shared) return shared.change(serverId, apply)
    apply(this.#machines.get(serverId))
    await this.save()
  }

  /** Changes the networks of the machines that exist. */
  async connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void> {
    const { shared } = this.#place
    if (!shared) {
      for (const [serverId, network] of networks)
        Object.assign(this.#machines.get(serverId) ?? {}, { network })
      return this.save()
    }
    const before = await shared.load([...networks.keys()])
    for (const [serverId, network] of networks)
      if (JSON.stringify(before.get(serverId)?.network) !== JSON.stringify(network))
        await this.change(serverId, (machine) => machine && { ...machine, network })
  }

  /** Finds the machine that another one reaches at an address of a private network; null: none. */
  reaches(serverId: string, address: string): string | null {
    const cards = (id: string) => {
      const { network, isOn } = this.get(id)
      return isOn && network && !network.isCut ? network.cards : []
    }
    const networks = new Set(cards(serverId).map(({ network }) => network))
    const isThere = (id: string) =>
      cards(id).some((card) => card.address === address && networks.has(card.network))
    return this.ids.find((id) => id !== serverId && isThere(id)) ?? null
  }

  /** Writes all changes. Changes during a write are written together after it. */
  save(): Promise<void> {
    const { storage } = this.#place
    if (!storage) return Promise.resolve()
    this.#next ??= this.#writing.then(() => {
      this.#next = null
      const written = storage.save(JSON.stringify([...this.#machines]))
      this.#writing = written.catch(() => {})
      return written
    })
    return this.#next
  }

  #put(serverId: string, machine: Machine | undefined): void {
    if (machine) this.#machines.set(serverId, machine)
    else this.#machines.delete(serverId)
  }
}
