import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { mayBoot } from './boot-slots.ts'
import {
  cpuTypes,
  type Driver,
  DriverError,
  type HostFacts,
  type HostKey,
  type ImageSpec,
  type ImageState,
  type MachineSpec,
  type MachineState,
  type Measurement,
} from './driver.ts'
import { simulatedUse } from './simulated-use.ts'

/** How the simulated world behaves. All times are milliseconds; 0 is at once. */
export interface SimulatorOptions {
  clock: Clock
  imageMs?: number
  /** From start or reset to an answer on ssh. */
  bootMs?: number
  /** From the power button to off. */
  shutdownMs?: number
  host?: Partial<HostFacts>
  /** How many may boot side by side. */
  bootSlots?: number
  /** Where the machines are kept, so that they outlive the process as real ones do. */
  storage?: { load(): string | null; save(machines: string): void }
}

/** The part of a boot until the guest's kernel runs. */
const LOADER_SHARE = 0.4

/** One simulated machine, as it is kept. */
interface Machine {
  spec: Omit<MachineSpec, 'password' | 'userData'>
  diskGb: number
  isOn: boolean
  startedAt: number
  readyAt: number
  /** When the guest obeys the power button, or null. */
  offAt: number | null
  stopReason: 'guest_shutdown' | 'crashed' | null
}

type Method =
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

/**
 * Machines that exist in memory only, on the clock that is given: for tests, for building clients, and for hosts
 * without QEMU. It behaves as driver.ts promises; the same suite runs against it and against QEMU.
 */
export class Simulator implements Driver {
  readonly #options: Required<Omit<SimulatorOptions, 'storage' | 'host'>> &
    Pick<SimulatorOptions, 'storage' | 'host'>
  readonly #machines: Map<string, Machine>
  readonly #images = new Map<string, number>()
  readonly #listeners: ((serverId: string) => void)[] = []
  readonly #failures = new Map<Method, Error[]>()
  /** Guests whose system ignores the power button. */
  readonly #deaf = new Set<string>()

  constructor(options: SimulatorOptions) {
    this.#options = { imageMs: 0, bootMs: 0, shutdownMs: 0, bootSlots: Number.POSITIVE_INFINITY, ...options }
    const kept: [string, Machine][] = JSON.parse(options.storage?.load() ?? '[]')
    this.#machines = new Map(kept)
  }

  async host(): Promise<HostFacts> {
    return {
      compute: 'simulator',
      reason: 'machines exist in memory only',
      isReal: false,
      cpuTypes,
      cores: 64,
      ramMb: 512 * 1024,
      diskGb: 10_000,
      warnings: [],
      ...this.#options.host,
    }
  }

  async image(image: ImageSpec): Promise<ImageState> {
    this.#failIfTold('image')
    const { clock, imageMs } = this.#options
    const startedAt = this.#images.get(image.slug) ?? clock.now()
    this.#images.set(image.slug, startedAt)
    const progress = imageMs === 0 ? 1 : (clock.now() - startedAt) / imageMs
    if (progress >= 1) return { state: 'ready', bytes: 0, virtualSizeGb: 1, source: 'simulated' }
    return { state: 'preparing', progress, detail: `simulating ${Math.floor(progress * 100)}%` }
  }

  async define(spec: MachineSpec): Promise<void> {
    this.#failIfTold('define')
    const { password: _password, userData: _userData, ...kept } = spec
    const machine = this.#find(spec.serverId)
    if (!machine && !spec.image)
      throw new DriverError('not_found', 'The machine has no disk, and no image for one.')
    if (machine?.isOn)
      throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed.')
    const diskGb = Math.max(machine?.diskGb ?? 0, spec.diskGb)
    const fresh = { diskGb, isOn: false, startedAt: 0, readyAt: 0, offAt: null, stopReason: null }
    this.#machines.set(spec.serverId, { ...fresh, ...machine, spec: kept, diskGb })
    this.#save()
  }

  async start(serverId: string): Promise<'started' | 'queued'> {
    this.#failIfTold('start')
    const machine = this.#get(serverId)
    if (machine.isOn) return 'started'
    const now = this.#options.clock.now()
    const { bootMs, bootSlots } = this.#options
    const loaderMs = bootMs * LOADER_SHARE
    const booting = [...this.#machines.values()].filter(
      (other) => other.isOn && other.startedAt + loaderMs > now,
    )
    const owners = booting.map(({ spec }) => spec.owner)
    if (!mayBoot(machine.spec.owner, owners, bootSlots)) return 'queued'
    Object.assign(machine, {
      isOn: true,
      startedAt: now,
      readyAt: now + this.#options.bootMs,
      offAt: null,
      stopReason: null,
    })
    this.#save()
    return 'started'
  }

  async shutdown(serverId: string): Promise<void> {
    this.#failIfTold('shutdown')
    const machine = this.#find(serverId)
    if (!machine?.isOn || this.#deaf.has(serverId)) return
    const { clock, shutdownMs } = this.#options
    machine.offAt ??= clock.now() + shutdownMs
    this.#save()
    void clock.sleep(shutdownMs).then(() => this.#find(serverId))
  }

  async reset(serverId: string): Promise<void> {
    this.#failIfTold('reset')
    const machine = this.#get(serverId)
    if (!machine.isOn) throw new DriverError('not_found', 'The machine is off; there is nothing to reset.')
    const now = this.#options.clock.now()
    Object.assign(machine, { startedAt: now, readyAt: now + this.#options.bootMs, offAt: null })
    this.#save()
  }

  async powerOff(serverId: string): Promise<void> {
    this.#failIfTold('powerOff')
    const machine = this.#find(serverId)
    if (!machine) return
    Object.assign(machine, { isOn: false, offAt: null, stopReason: null })
    this.#save()
  }

  async destroy(serverId: string): Promise<void> {
    this.#failIfTold('destroy')
    this.#machines.delete(serverId)
    this.#save()
  }

  async inspect(serverId: string): Promise<MachineState> {
    this.#failIfTold('inspect')
    return stateOf(this.#find(serverId))
  }

  async list(): Promise<Map<string, MachineState>> {
    return new Map([...this.#machines.keys()].map((id) => [id, stateOf(this.#find(id))]))
  }

  async measure(serverIds: readonly string[]): Promise<Map<string, Measurement>> {
    this.#failIfTold('measure')
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
    const machine = this.#find(serverId)
    if (!machine?.isOn || machine.readyAt > this.#options.clock.now()) return null
    return { hostKeys: [hostKeyOf(serverId)] }
  }

  network() {
    return { ipv4: { address: '10.0.2.15', prefixLength: 24, gateway: '10.0.2.2' } }
  }

  watch(listener: (serverId: string) => void): void {
    this.#listeners.push(listener)
  }

  async close(): Promise<void> {}

  /** The next call of this method fails with this error. */
  failNext(method: Method, error: Error): void {
    this.#failures.set(method, [...(this.#failures.get(method) ?? []), error])
  }

  /** The guest turns itself off, or its machine dies. */
  turnsOffByItself(serverId: string, stopReason: 'guest_shutdown' | 'crashed'): void {
    Object.assign(this.#get(serverId), { isOn: false, offAt: null, stopReason })
    this.#save()
    this.#tell(serverId)
  }

  /** From now on the guest does not hear the power button. */
  ignoresPowerButton(serverId: string): void {
    this.#deaf.add(serverId)
  }

  /** The size of the disk in GB, as the guest would see it. */
  diskOf(serverId: string): number {
    return this.#get(serverId).diskGb
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
      this.#tell(serverId)
    }
    return machine
  }

  #tell(serverId: string): void {
    for (const listener of this.#listeners) listener(serverId)
  }

  #get(serverId: string): Machine {
    const machine = this.#find(serverId)
    if (!machine) throw new DriverError('not_found', 'The machine does not exist.')
    return machine
  }

  #save(): void {
    this.#options.storage?.save(JSON.stringify([...this.#machines]))
  }
}

function stateOf(machine: Machine | undefined): MachineState {
  if (!machine) return { power: 'absent' }
  return machine.isOn
    ? { power: 'running', startedAt: machine.startedAt }
    : { power: 'stopped', reason: machine.stopReason }
}

function hostKeyOf(serverId: string): HostKey {
  const blob = createHash('sha256').update(serverId).digest()
  const fingerprint = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  return { type: 'ssh-ed25519', fingerprint: `SHA256:${fingerprint}`, publicKey: blob.toString('base64') }
}
