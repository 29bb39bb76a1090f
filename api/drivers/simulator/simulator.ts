import { createHash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { mayBoot } from '../boot-slots.ts'
import {
  type Console,
  cpuTypes,
  type Driver,
  DriverError,
  features,
  type HostFacts,
  type HostKey,
  type MachineSpec,
  type MachineState,
  type Measurement,
  type ServerNetwork,
} from '../driver.ts'
import { type Connection, isLet } from '../firewall.ts'
import type { ImageSpec, ImageState } from '../images.ts'
import { known, type Machine, type MachineStore, stateOf } from './machine.ts'
import { SimulatedShell } from './shell.ts'
import { simulatedUse } from './use.ts'

/** How the simulated world behaves. All times are milliseconds; 0 is at once. */
export interface SimulatorOptions {
  clock: Clock
  imageMs?: number
  /** From start or reset to an answer on ssh. */
  bootMs?: number
  /** From the power button to off. */
  shutdownMs?: number
  host?: Partial<HostFacts>
  /** Whether ports of machines that are on change with their next start only. */
  hasFixedPorts?: boolean
  /** How many may boot side by side. */
  bootSlots?: number
  /** Where the machines are kept, so that they outlive the process as real ones do. */
  storage?: { load(): string | null; save(machines: string): Promise<void> }
  /** Where they are instead, if several processes share them. */
  shared?: MachineStore | undefined
}

/** The part of a boot until the guest's kernel runs. */
const LOADER_SHARE = 0.4

type Method =
  | 'host'
  | 'image'
  | 'define'
  | 'start'
  | 'shutdown'
  | 'reset'
  | 'powerOff'
  | 'destroy'
  | 'inspect'
  | 'measure'
  | 'ready'
  | 'connect'
  | 'openConsole'

/**
 * Machines that exist in memory only, on the clock that is given: for tests, for building clients, and for hosts
 * without QEMU. It behaves as driver.ts promises; the same suite runs against it and against QEMU.
 */
export class Simulator implements Driver {
  readonly #options: Required<Omit<SimulatorOptions, 'storage' | 'shared' | 'host' | 'hasFixedPorts'>> &
    Pick<SimulatorOptions, 'storage' | 'shared' | 'host' | 'hasFixedPorts'>
  readonly #machines: Map<string, Machine>
  readonly #images = new Map<string, number>()
  readonly #listeners: ((serverId: string) => void)[] = []
  readonly #failures = new Map<Method, Error[]>()
  /** Of machines whose console was opened since they are on. */
  readonly #shells = new Map<string, SimulatedShell>()
  /** Guests whose system ignores the power button. */
  readonly #deaf = new Set<string>()
  #writing: Promise<void> = Promise.resolve()
  /** What is written after it. */
  #next: Promise<void> | null = null

  constructor(options: SimulatorOptions) {
    this.#options = { imageMs: 0, bootMs: 0, shutdownMs: 0, bootSlots: Number.POSITIVE_INFINITY, ...options }
    const kept: [string, Machine][] = JSON.parse(options.storage?.load() ?? '[]')
    this.#machines = new Map(kept)
  }

  async host(): Promise<HostFacts> {
    this.#failIfTold('host')
    return {
      compute: 'simulator',
      reason: 'machines exist in memory only',
      isReal: false,
      cpuTypes,
      features,
      cores: 64,
      ramMb: 512 * 1024,
      diskGb: 10_000,
      warnings: [],
      ...this.#options.host,
    }
  }

  async image(image: ImageSpec, { isWanted } = { isWanted: true }): Promise<ImageState> {
    this.#failIfTold('image')
    const { clock, imageMs } = this.#options
    if (!isWanted && !this.#images.has(image.slug)) return { state: 'absent' }
    const startedAt = this.#images.get(image.slug) ?? clock.now()
    this.#images.set(image.slug, startedAt)
    const progress = imageMs === 0 ? 1 : (clock.now() - startedAt) / imageMs
    if (progress >= 1) return { state: 'ready', bytes: 0, virtualSizeGb: 1, source: 'simulated' }
    return { state: 'preparing', progress, detail: `simulating ${Math.floor(progress * 100)}%` }
  }

  async define(spec: MachineSpec): Promise<void> {
    this.#failIfTold('define')
    const { password: _password, userData: _userData, ...kept } = spec
    await this.#change(spec.serverId, (machine) => {
      if (!machine && !spec.image)
        throw new DriverError('not_found', 'The machine has no disk, and no image for one.')
      if (machine?.isOn)
        throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed.')
      const diskGb = Math.max(machine?.diskGb ?? 0, spec.diskGb)
      const fresh = { diskGb, isOn: false, startedAt: 0, readyAt: 0, offAt: null, stopReason: null }
      return { ...fresh, ...machine, spec: kept, diskGb }
    })
  }

  async start(serverId: string): Promise<'started' | 'queued'> {
    this.#failIfTold('start')
    let isQueued = false
    await this.#change(serverId, (kept) => {
      const machine = known(kept)
      if (machine.isOn) return machine
      if (!machine.network) throw new DriverError('not_found', 'The machine has no network.')
      isQueued = !this.#mayBoot(machine.spec.owner)
      if (isQueued) return machine
      const now = this.#options.clock.now()
      const readyAt = now + this.#options.bootMs
      return { ...machine, isOn: true, startedAt: now, readyAt, offAt: null, stopReason: null }
    })
    return isQueued ? 'queued' : 'started'
  }

  async shutdown(serverId: string): Promise<void> {
    this.#failIfTold('shutdown')
    if (this.#deaf.has(serverId)) return
    const { clock, shutdownMs } = this.#options
    void clock.sleep(shutdownMs).then(() => this.#find(serverId))
    await this.#change(serverId, (machine) =>
      machine?.isOn ? { ...machine, offAt: machine.offAt ?? clock.now() + shutdownMs } : machine,
    )
  }

  async reset(serverId: string): Promise<void> {
    this.#failIfTold('reset')
    await this.#change(serverId, (kept) => {
      const machine = known(kept)
      if (!machine.isOn) throw new DriverError('not_found', 'The machine is off; there is nothing to reset.')
      const now = this.#options.clock.now()
      return { ...machine, startedAt: now, readyAt: now + this.#options.bootMs, offAt: null }
    })
    this.#shells.get(serverId)?.boot()
  }

  async powerOff(serverId: string): Promise<void> {
    this.#failIfTold('powerOff')
    await this.#change(
      serverId,
      (machine) => machine && { ...machine, isOn: false, offAt: null, stopReason: null },
    )
    this.#hangUp(serverId)
  }

  async destroy(serverId: string): Promise<void> {
    this.#failIfTold('destroy')
    await this.#change(serverId, () => undefined)
    this.#hangUp(serverId)
  }

  async inspect(serverId: string): Promise<MachineState> {
    this.#failIfTold('inspect')
    await this.#refresh([serverId])
    const state = stateOf(this.#find(serverId))
    return state.power === 'running' && this.#options.hasFixedPorts
      ? { ...state, hasFixedPorts: true }
      : state
  }

  async list(): Promise<Map<string, MachineState>> {
    await this.#refresh()
    return new Map([...this.#machines.keys()].map((id) => [id, stateOf(this.#find(id))]))
  }

  async measure(serverIds: readonly string[]): Promise<Map<string, Measurement>> {
    this.#failIfTold('measure')
    await this.#refresh(serverIds)
    const now = this.#options.clock.now()
    const measurements = new Map<string, Measurement>()
    for (const serverId of serverIds) {
      const machine = this.#find(serverId)
      if (!machine) continue
      const size = { ...machine.spec, diskGb: machine.diskGb }
      measurements.set(serverId, simulatedUse(size, machine.isOn ? machine.startedAt : null, now))
    }
    return measurements
  }

  async ready(serverId: string): Promise<{ hostKeys: HostKey[] } | null> {
    this.#failIfTold('ready')
    await this.#refresh([serverId])
    const machine = this.#find(serverId)
    if (!machine?.isOn || machine.readyAt > this.#options.clock.now()) return null
    return { hostKeys: [hostKeyOf(serverId)] }
  }

  async connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void> {
    this.#failIfTold('connect')
    const { shared } = this.#options
    if (!shared) {
      for (const [serverId, network] of networks)
        Object.assign(this.#machines.get(serverId) ?? {}, { network })
      return this.#save()
    }
    const before = await shared.load([...networks.keys()])
    for (const [serverId, network] of networks)
      if (JSON.stringify(before.get(serverId)?.network) !== JSON.stringify(network))
        await this.#change(serverId, (machine) => machine && { ...machine, network })
  }

  async openConsole(serverId: string, seen?: Buffer): Promise<Console> {
    this.#failIfTold('openConsole')
    await this.#refresh([serverId])
    return this.#shell(serverId).line.open(seen)
  }

  watch(listener: (serverId: string) => void): void {
    this.#listeners.push(listener)
  }

  async close(): Promise<void> {
    await this.#writing
  }

  /** The next call of this method fails with this error. */
  failNext(method: Method, error: Error): void {
    this.#failures.set(method, [...(this.#failures.get(method) ?? []), error])
  }

  /** The guest turns itself off, or its machine dies. */
  turnsOffByItself(serverId: string, stopReason: 'guest_shutdown' | 'crashed'): void {
    Object.assign(this.#get(serverId), { isOn: false, offAt: null, stopReason })
    this.#hangUp(serverId)
    void this.#save()
    this.#tell(serverId)
  }

  /** From now on the guest does not hear the power button. */
  ignoresPowerButton(serverId: string): void {
    this.#deaf.add(serverId)
  }

  /** The guest of a machine that is on prints this on its console. */
  prints(serverId: string, bytes: Buffer): void {
    this.#shell(serverId).line.print(bytes)
  }

  /** The machine that one reaches by a card in a private network, at an address; null: none. */
  reaches(serverId: string, address: string): string | null {
    const cards = (id: string) => {
      const { network, isOn } = this.#get(id)
      return isOn && network && !network.isCut ? network.cards : []
    }
    const networks = new Set(cards(serverId).map(({ network }) => network))
    const isThere = (id: string) =>
      cards(id).some((card) => card.address === address && networks.has(card.network))
    return [...this.#machines.keys()].find((id) => id !== serverId && isThere(id)) ?? null
  }

  /** What leads to a machine, as it was told. */
  networkOf(serverId: string): ServerNetwork | undefined {
    return this.#get(serverId).network
  }

  /** Whether a connection gets through to a machine, or out of it. */
  passes(serverId: string, connection: Connection): boolean {
    const { network, isOn } = this.#get(serverId)
    return isOn && network !== undefined && !network.isCut && isLet(network.firewall, connection)
  }

  /** The size of the disk in GB, as the guest would see it. */
  diskOf(serverId: string): number {
    return this.#get(serverId).diskGb
  }

  #mayBoot(owner: string): boolean {
    const { bootMs, bootSlots, clock } = this.#options
    const loaded = clock.now() - bootMs * LOADER_SHARE
    const booting = [...this.#machines.values()].filter((other) => other.isOn && other.startedAt > loaded)
    const owners = booting.map(({ spec }) => spec.owner)
    return mayBoot(owner, owners, bootSlots)
  }

  /** Where others may have changed machines, takes them as they are by now. */
  async #refresh(serverIds?: readonly string[]): Promise<void> {
    const { shared } = this.#options
    if (!shared) return
    const machines = await shared.load(serverIds)
    for (const id of serverIds ?? [...this.#machines.keys()]) if (!machines.has(id)) this.#machines.delete(id)
    for (const [id, machine] of machines) this.#machines.set(id, machine)
  }

  async #change(
    serverId: string,
    change: (machine: Machine | undefined) => Machine | undefined,
  ): Promise<void> {
    const { shared } = this.#options
    const apply = (machine: Machine | undefined) => {
      if (machine) this.#machines.set(serverId, machine)
      else this.#machines.delete(serverId)
      const after = change(this.#find(serverId))
      if (after) this.#machines.set(serverId, after)
      else this.#machines.delete(serverId)
      return after
    }
    if (shared) return shared.change(serverId, apply)
    apply(this.#machines.get(serverId))
    await this.#save()
  }

  #failIfTold(method: Method): void {
    const error = this.#failures.get(method)?.shift()
    if (error) throw error
  }

  /** The machine as it is at this moment: the guest may have obeyed the power button meanwhile. */
  #find(serverId: string): Machine | undefined {
    const machine = this.#machines.get(serverId)
    if (machine && machine.offAt !== null && machine.offAt <= this.#options.clock.now()) {
      Object.assign(machine, { isOn: false, offAt: null, stopReason: 'guest_shutdown' })
      this.#hangUp(serverId)
      this.#tell(serverId)
    }
    return machine
  }

  /** @throws DriverError not_found */
  #shell(serverId: string): SimulatedShell {
    const machine = this.#get(serverId)
    if (!machine.isOn) throw new DriverError('not_found', 'The machine is off.')
    const shell = this.#shells.get(serverId) ?? new SimulatedShell(machine.spec.hostname, this.#options.clock)
    this.#shells.set(serverId, shell)
    return shell
  }

  #hangUp(serverId: string): void {
    this.#shells.get(serverId)?.line.end()
    this.#shells.delete(serverId)
  }

  #tell(serverId: string): void {
    for (const listener of this.#listeners) listener(serverId)
  }

  #get(serverId: string): Machine {
    return known(this.#find(serverId))
  }

  /** Writes what has changed; one at a time, so that what changes meanwhile is written together. */
  #save(): Promise<void> {
    const { storage } = this.#options
    if (!storage) return Promise.resolve()
    this.#next ??= this.#writing.then(() => {
      this.#next = null
      const written = storage.save(JSON.stringify([...this.#machines]))
      this.#writing = written.catch(() => {})
      return written
    })
    return this.#next
  }
}

function hostKeyOf(serverId: string): HostKey {
  const blob = createHash('sha256').update(serverId).digest()
  const fingerprint = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  return { type: 'ssh-ed25519', fingerprint: `SHA256:${fingerprint}`, publicKey: blob.toString('base64') }
}
