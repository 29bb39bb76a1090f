import type { Clock } from '../../clock.ts'
import { mayBoot } from '../boot-slots.ts'
import type { Console } from '../console.ts'
import {
  type Driver,
  DriverError,
  type GuestLogin,
  type HostFacts,
  type HostKey,
  hasDisk,
  type MachineSpec,
  type MachineState,
  type PrivateCard,
  type RescueSpec,
  type ServerNetwork,
} from '../driver.ts'
import { type Connection, isLet } from '../firewall.ts'
import type { ImageSpec, ImageState } from '../images.ts'
import type { Measurement } from '../measurement.ts'
import { isSnapshot } from '../snapshots.ts'
import { HOST } from './host.ts'
import {
  hostKeyOf,
  known,
  type Machine,
  newDisk,
  requireOff,
  stateOf,
  withAddress,
  withDisk,
  withPassword,
  withRescue,
} from './machine.ts'
import { type MachinePlace, Machines } from './machines.ts'
import { SimulatedScreen } from './screen.ts'
import { SimulatedShell } from './shell.ts'
import { SimulatedSnapshots } from './snapshots.ts'
import { simulatedUse } from './use.ts'
import type { VolumeStore } from './volumes.ts'

/** The behaviour of the simulated world. All times are in milliseconds; 0 is immediately. */
export interface SimulatorOptions extends MachinePlace {
  clock: Clock
  imageMs?: number
  /** The time that a snapshot takes. */
  copyMs?: number
  /** The time from start or reset to an answer on SSH. */
  bootMs?: number
  /** The time from the power button until the machine is off. */
  shutdownMs?: number
  host?: Partial<HostFacts>
  /** True if the ports of running machines change only with their next start. */
  hasFixedPorts?: boolean
  /** The number of machines that may boot at the same time. */
  bootSlots?: number
  /** The place where volumes are kept (default: memory only). */
  volumes?: VolumeStore
}

/** The share of a boot that passes before the guest's kernel runs. */
const LOADER_SHARE = 0.4

/**
 * Runs machines that exist in memory only: for tests, for building clients, and for hosts without QEMU. It behaves as
 * driver.ts promises; the same suite runs against it, QEMU and Incus.
 */
export class Simulator extends SimulatedSnapshots implements Driver {
  protected readonly options: Required<
    Omit<SimulatorOptions, keyof MachinePlace | 'host' | 'hasFixedPorts' | 'volumes'>
  > &
    Pick<SimulatorOptions, 'host' | 'hasFixedPorts'>
  protected readonly machines: Machines
  readonly #images = new Map<string, number>()
  readonly #listeners: ((serverId: string) => void)[] = []
  /** The shells of machines whose console was opened since they started. */
  readonly #shells = new Map<string, SimulatedShell>()
  /** The screens of machines that were looked at since they started. */
  readonly #screens = new Map<string, SimulatedScreen>()
  /** Guests that ignore the power button. */
  readonly #deaf = new Set<string>()

  constructor(options: SimulatorOptions) {
    super(options.volumes)
    this.options = {
      imageMs: 0,
      copyMs: 0,
      bootMs: 0,
      shutdownMs: 0,
      bootSlots: Number.POSITIVE_INFINITY,
      ...options,
    }
    this.machines = new Machines(options, (serverId, machine) => this.#settle(serverId, machine))
  }

  async host(): Promise<HostFacts> {
    this.failIfTold('host')
    return { ...HOST, ...this.options.host }
  }

  async image(image: ImageSpec, { isWanted } = { isWanted: true }): Promise<ImageState> {
    this.failIfTold('image')
    const { clock, imageMs } = this.options
    if (!isWanted && !this.#images.has(image.slug)) return { state: 'absent' }
    const startedAt = this.#images.get(image.slug) ?? clock.now()
    this.#images.set(image.slug, startedAt)
    const progress = imageMs === 0 ? 1 : (clock.now() - startedAt) / imageMs
    if (progress >= 1) return { state: 'ready', bytes: 0, virtualSizeGb: 1, source: 'simulated' }
    return { state: 'preparing', progress, detail: `simulating ${Math.floor(progress * 100)}%` }
  }

  async define(spec: MachineSpec): Promise<void> {
    this.failIfTold('define')
    const { password: _password, userData: _userData, ...kept } = spec
    const from = await this.copyOf(spec)
    await this.machines.change(spec.serverId, (machine) => {
      if (!machine && !spec.image)
        throw new DriverError('not_found', 'The machine has no disk, and no image for one.')
      if (!machine && spec.image && isSnapshot(spec.image)) this.requireReady(from)
      requireOff(machine)
      const diskId = machine ? machine.spec.diskId : spec.diskId
      const disk = machine ? { diskGb: Math.max(machine.diskGb, spec.diskGb) } : newDisk(kept, from)
      const fresh = { isOn: false, startedAt: 0, readyAt: 0, offAt: null, stopReason: null }
      return { ...fresh, ...machine, spec: { ...kept, diskId }, ...disk }
    })
  }

  async rescue(serverId: string, rescue: RescueSpec | null): Promise<void> {
    this.failIfTold('rescue')
    await this.machines.change(serverId, (machine) => withRescue(machine, rescue))
  }

  async growDisk(serverId: string, diskGb: number): Promise<void> {
    this.failIfTold('growDisk')
    await this.machines.change(serverId, (machine) => withDisk(known(machine), diskGb))
  }

  async insertIso(serverId: string, iso: string | ImageSpec | null): Promise<void> {
    this.failIfTold('insertIso')
    if (typeof iso === 'string') await this.requireIso(iso)
    else if (iso && (await this.image(iso, { isWanted: false })).state !== 'ready')
      throw new DriverError('image_not_ready', 'The ISO is not ready yet.')
    await this.machines.change(serverId, (machine) => {
      const { iso: _before, ...others } = known(machine)
      return iso === null ? others : { ...others, iso: typeof iso === 'string' ? iso : iso.slug }
    })
  }

  async start(serverId: string): Promise<'started' | 'queued'> {
    this.failIfTold('start')
    let isQueued = false
    await this.machines.change(serverId, (kept) => {
      const machine = known(kept)
      if (machine.isOn) return machine
      if (!machine.network) throw new DriverError('not_found', 'The machine has no network.')
      isQueued = !this.#mayBoot(machine.spec.owner)
      if (isQueued) return machine
      const now = this.options.clock.now()
      const readyAt = now + this.options.bootMs
      return { ...machine, isOn: true, startedAt: now, readyAt, offAt: null, stopReason: null }
    })
    return isQueued ? 'queued' : 'started'
  }

  async shutdown(serverId: string): Promise<void> {
    this.failIfTold('shutdown')
    if (this.#deaf.has(serverId)) return
    const { clock, shutdownMs } = this.options
    void clock.sleep(shutdownMs).then(() => this.machines.find(serverId))
    await this.machines.change(serverId, (machine) =>
      machine?.isOn ? { ...machine, offAt: machine.offAt ?? clock.now() + shutdownMs } : machine,
    )
  }

  async reset(serverId: string): Promise<void> {
    this.failIfTold('reset')
    await this.machines.change(serverId, (kept) => {
      const machine = known(kept)
      if (!machine.isOn) throw new DriverError('not_found', 'The machine is off; there is nothing to reset.')
      const now = this.options.clock.now()
      return { ...machine, startedAt: now, readyAt: now + this.options.bootMs, offAt: null }
    })
    this.#shells.get(serverId)?.boot()
  }

  async powerOff(serverId: string): Promise<void> {
    this.failIfTold('powerOff')
    await this.machines.change(
      serverId,
      (machine) => machine && { ...machine, isOn: false, offAt: null, stopReason: null },
    )
    this.#hangUp(serverId)
  }

  async destroy(serverId: string, olderThan?: string): Promise<void> {
    this.failIfTold('destroy')
    await this.machines.change(serverId, (machine) => {
      if (machine && hasDisk(machine.spec.diskId, olderThan)) return machine
      this.#hangUp(serverId)
      return undefined
    })
    if (!this.machines.find(serverId)) await this.volumes.release(serverId)
  }

  override async attachVolume(volumeId: string, serverId: string): Promise<void> {
    await this.machines.refresh([serverId])
    this.machines.get(serverId)
    await super.attachVolume(volumeId, serverId)
  }

  async inspect(serverId: string): Promise<MachineState> {
    this.failIfTold('inspect')
    await this.machines.refresh([serverId])
    const state = stateOf(this.machines.find(serverId))
    return state.power === 'running' && this.options.hasFixedPorts ? { ...state, hasFixedPorts: true } : state
  }

  async list(): Promise<Map<string, MachineState>> {
    await this.machines.refresh()
    const machines = this.machines.entries.filter(([, { copy }]) => !copy)
    return new Map(machines.map(([id]) => [id, stateOf(this.machines.find(id))]))
  }

  async measure(serverIds: readonly string[]): Promise<Map<string, Measurement>> {
    this.failIfTold('measure')
    await this.machines.refresh(serverIds)
    const now = this.options.clock.now()
    const measurements = new Map<string, Measurement>()
    for (const serverId of serverIds) {
      const machine = this.machines.find(serverId)
      if (!machine) continue
      const size = { ...machine.spec, diskGb: machine.diskGb }
      measurements.set(serverId, simulatedUse(size, machine.isOn ? machine.startedAt : null, now))
    }
    return measurements
  }

  async ready(serverId: string): Promise<{ hostKeys: HostKey[] } | null> {
    this.failIfTold('ready')
    await this.machines.refresh([serverId])
    const machine = this.machines.find(serverId)
    if (!machine?.isOn || machine.readyAt > this.options.clock.now()) return null
    return { hostKeys: [hostKeyOf(machine)] }
  }

  async connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void> {
    this.failIfTold('connect')
    await this.machines.connect(networks)
  }

  async setPassword(serverId: string, login: GuestLogin): Promise<void> {
    this.failIfTold('setPassword')
    const now = this.options.clock.now()
    await this.machines.change(serverId, (machine) => withPassword(known(machine), login, now))
  }

  async setAddress(serverId: string, card: PrivateCard): Promise<void> {
    this.failIfTold('setAddress')
    const now = this.options.clock.now()
    await this.machines.change(serverId, (machine) => withAddress(known(machine), card, now))
  }

  async openConsole(serverId: string, seen?: Buffer): Promise<Console> {
    this.failIfTold('openConsole')
    await this.machines.refresh([serverId])
    return this.#shell(serverId).line.open(seen)
  }

  async openScreen(serverId: string): Promise<Console> {
    this.failIfTold('openScreen')
    await this.machines.refresh([serverId])
    if (!this.machines.get(serverId).isOn) throw new DriverError('not_found', 'The machine is off.')
    const screen = this.#screens.get(serverId) ?? new SimulatedScreen()
    this.#screens.set(serverId, screen)
    return screen.open()
  }

  watch(listener: (serverId: string) => void): void {
    this.#listeners.push(listener)
  }

  async close(): Promise<void> {
    await this.machines.written
  }

  /** Lets a guest turn itself off, or its machine crash. */
  turnsOffByItself(serverId: string, stopReason: 'guest_shutdown' | 'crashed'): void {
    Object.assign(this.machines.get(serverId), { isOn: false, offAt: null, stopReason })
    this.#hangUp(serverId)
    void this.machines.save()
    this.#tell(serverId)
  }

  /** Lets the guest of a machine write to its disk. */
  writes(serverId: string, data: string): Promise<void> {
    return this.machines.change(serverId, (machine) => ({ ...known(machine), data }))
  }

  /** The last data that a guest wrote to its disk; null: none. */
  dataOf(serverId: string): string | null {
    return this.machines.get(serverId).data ?? null
  }

  /** Lets the guest ignore the power button from this call on. */
  ignoresPowerButton(serverId: string): void {
    this.#deaf.add(serverId)
  }

  /** Lets the guest of a running machine print on its console. */
  prints(serverId: string, bytes: Buffer): void {
    this.#shell(serverId).line.print(bytes)
  }

  /** The keys that were pressed at the screen of a running machine, as keysyms of X11. */
  keysOf(serverId: string): readonly number[] {
    return this.#screens.get(serverId)?.keys ?? []
  }

  /** Finds the machine that another one reaches at an address of a private network; null: none. */
  reaches(serverId: string, address: string): string | null {
    return this.machines.reaches(serverId, address)
  }

  /** The network of a machine, as the last `connect` left it. */
  networkOf(serverId: string): ServerNetwork | undefined {
    return this.machines.get(serverId).network
  }

  /** True if a connection to or from a machine is allowed. */
  passes(serverId: string, connection: Connection): boolean {
    const { network, isOn } = this.machines.get(serverId)
    return isOn && network !== undefined && !network.isCut && isLet(network.firewall, connection)
  }

  /** The hash of the password, and the addresses, that were set while the guest ran. */
  guestOf(serverId: string): Pick<Machine, 'passwordHash' | 'addresses'> {
    return this.machines.get(serverId)
  }

  /** The ISO in the drive of a machine, the operator's by its slug; null: none. */
  isoOf(serverId: string): string | null {
    return this.machines.get(serverId).iso ?? null
  }

  /** The size of the disk in GB, as the guest would see it. */
  diskOf(serverId: string): number {
    return this.machines.get(serverId).diskGb
  }

  #mayBoot(owner: string): boolean {
    const { bootMs, bootSlots, clock } = this.options
    const loaded = clock.now() - bootMs * LOADER_SHARE
    const booting = this.machines.all.filter((other) => other.isOn && other.startedAt > loaded)
    const owners = booting.map(({ spec }) => spec.owner)
    return mayBoot(owner, owners, bootSlots)
  }

  /** Turns a machine off once its guest has obeyed the power button. */
  #settle(serverId: string, machine: Machine): void {
    if (machine.offAt === null || machine.offAt > this.options.clock.now()) return
    Object.assign(machine, { isOn: false, offAt: null, stopReason: 'guest_shutdown' })
    this.#hangUp(serverId)
    this.#tell(serverId)
  }

  /** @throws DriverError not_found */
  #shell(serverId: string): SimulatedShell {
    const machine = this.machines.get(serverId)
    if (!machine.isOn) throw new DriverError('not_found', 'The machine is off.')
    const shell = this.#shells.get(serverId) ?? new SimulatedShell(machine.spec.hostname, this.options.clock)
    this.#shells.set(serverId, shell)
    return shell
  }

  #hangUp(serverId: string): void {
    this.#shells.get(serverId)?.line.end()
    this.#shells.delete(serverId)
    this.#screens.get(serverId)?.end()
    this.#screens.delete(serverId)
  }

  #tell(serverId: string): void {
    for (const listener of this.#listeners) listener(serverId)
  }
}
