import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Clock, systemClock } from '../../clock.ts'
import { mayBoot } from '../boot-slots.ts'
import {
  type Driver,
  DriverError,
  type HostFacts,
  type ImageSpec,
  type ImageState,
  type MachineSpec,
  type MachineState,
  type Measurement,
} from '../driver.ts'
import type { ImageStore, StoredImage } from '../images/images.ts'
import { Readiness } from './guest/readiness.ts'
import { type Accel, type AccelChoice, chooseAccel, offeredCpuTypes, QEMU } from './host/accel.ts'
import { hostCapacity } from './host/capacity.ts'
import { Cgroups } from './host/cgroup.ts'
import { raiseFirewall } from './host/firewall.ts'
import { ownerObstacle } from './host/owner.ts'
import type { Context, Log } from './launch.ts'
import { Layout } from './layout.ts'
import { Machine } from './machine.ts'
import { chooseNetwork, GUEST_ADDRESS, type NetworkKind } from './network.ts'

export interface QemuOptions {
  dataDir: string
  images: ImageStore
  accel: 'auto' | Accel
  /** Of this host: where the ports listen that lead to guests; 127.0.0.1 by default. */
  address?: string
  /** passt where it works, unless told. */
  network?: NetworkKind
  log: Log
  clock?: Clock
}

/** A machine counts as booting until its guest's kernel runs, but no longer than this. */
const BOOT_MS = 60_000
const TEND_MS = 10_000
/** How many machines are looked at at the same time. */
const WIDTH = 32
/** How long a round of measurements waits for the link to a machine that has none. */
const LINK_MS = 1_500

/** @throws DriverError unavailable, with what to do, when machines cannot be run here */
export async function openQemu(options: QemuOptions): Promise<QemuDriver> {
  const version = await qemuVersion()
  const layout = new Layout(resolve(options.dataDir))
  const choice = await chooseAccel(options.accel, layout.kvmMemory)
  const obstacle = ownerObstacle(layout.machines, choice.accel)
  // The firewall knows machines by their users; slirp is QEMU itself, which has one only where nothing stands against it.
  const unguarded = await raiseFirewall()
  const network = await chooseNetwork({ passt: unguarded, slirp: unguarded ?? obstacle }, options.network)
  const ownerWarning =
    obstacle !== null && process.getuid?.() === 0
      ? `QEMU runs as root, and so would a guest that breaks out of it: ${obstacle}`
      : null
  const driver = new QemuDriver({
    choice,
    version,
    images: options.images,
    layout,
    accel: choice.accel,
    network: network.kind,
    warnings: [network.warning, ownerWarning].filter((warning) => warning !== null),
    address: options.address ?? '127.0.0.1',
    cgroups: await Cgroups.open(
      `berth-${createHash('sha256').update(layout.dataDir).digest('hex').slice(0, 12)}`,
    ),
    clock: options.clock ?? systemClock,
    log: options.log,
    ownUsers: obstacle === null,
  })
  await driver.adopt()
  options.log.info({ accel: choice.accel, reason: choice.reason, qemu: version }, 'Machines run on QEMU')
  return driver
}

interface Settings extends Omit<Context, 'changed' | 'kernelRuns'> {
  warnings: readonly string[]
  choice: AccelChoice
  version: string
  images: ImageStore
}

/** Real machines: one QEMU process each, on this host. Remember by openQemu. */
export class QemuDriver implements Driver {
  readonly #settings: Settings
  readonly #context: Context
  readonly #images: ImageStore
  readonly #readiness: Readiness
  readonly #machines = new Map<string, Machine>()
  /** Machines that are booting: since when, and whose. */
  readonly #booting = new Map<string, { since: number; owner: string }>()
  /** Machines that were last seen running, and so turn off by themselves if they are found off. */
  readonly #running = new Set<string>()
  readonly #listeners = new Set<(serverId: string) => void>()
  readonly #timer: NodeJS.Timeout
  #isClosed = false

  constructor(settings: Settings) {
    this.#settings = settings
    this.#images = settings.images
    this.#context = {
      ...settings,
      changed: (serverId) => void this.#changed(serverId),
      kernelRuns: (serverId) => void this.#booting.delete(serverId),
    }
    this.#readiness = new Readiness(settings.address, settings.network)
    this.#timer = setInterval(() => void this.#tend(), TEND_MS).unref()
  }

  /** Finds the machines that an earlier process of the service left running, and clears away what it left half. */
  async adopt(): Promise<void> {
    const { layout, log, clock } = this.#context
    for (const [serverId, state] of await this.list()) {
      if (state.power !== 'running') continue
      log.info({ serverId }, 'Found the machine running')
      if (clock.now() - state.startedAt < BOOT_MS) this.#book(serverId, state.startedAt)
    }
    for (const name of await readdir(layout.trash))
      await rm(join(layout.trash, name), { recursive: true, force: true })
  }

  async host(): Promise<HostFacts> {
    const { choice, version, cgroups, layout } = this.#settings
    const warnings = [...this.#settings.warnings]
    if (cgroups.missing.length > 0)
      warnings.push(
        `Machines are not held to their ${cgroups.missing.join(', ')} limits: no control groups for that`,
      )
    return {
      compute: `QEMU ${version} with ${choice.accel.toUpperCase()}`,
      reason: choice.reason,
      isReal: true,
      cpuTypes: offeredCpuTypes(choice.accel),
      ...(await hostCapacity(layout)),
      warnings,
    }
  }

  image(image: ImageSpec): Promise<ImageState> {
    return this.#images.ensure(image)
  }

  async define(spec: MachineSpec): Promise<void> {
    this.#requireSupported(spec)
    await this.#machine(spec.serverId).define(spec, () => this.#readyImage(spec))
  }

  async start(serverId: string): Promise<'started' | 'queued'> {
    const outcome = await this.#machine(serverId)
      .start(() => this.#admit(serverId))
      .catch((error: unknown) => {
        this.#booting.delete(serverId)
        throw error
      })
    if (outcome === 'started') this.#running.add(serverId)
    return outcome
  }

  shutdown(serverId: string): Promise<void> {
    return this.#machine(serverId).shutdown()
  }

  reset(serverId: string): Promise<void> {
    return this.#machine(serverId).reset()
  }

  async powerOff(serverId: string): Promise<void> {
    const machine = this.#machine(serverId)
    this.#running.delete(serverId)
    await machine.powerOff()
    this.#booting.delete(serverId)
  }

  async destroy(serverId: string): Promise<void> {
    const machine = this.#machine(serverId)
    this.#running.delete(serverId)
    await machine.destroy()
    this.#booting.delete(serverId)
    this.#forget(machine)
  }

  async inspect(serverId: string): Promise<MachineState> {
    const machine = this.#machine(serverId)
    const state = await machine.inspect()
    if (state.power === 'running') this.#running.add(serverId)
    if (state.power === 'stopped' && this.#running.delete(serverId)) await this.#tell(machine, state.reason)
    if (state.power === 'absent') this.#forget(machine)
    return state
  }

  async list(): Promise<Map<string, MachineState>> {
    const states = new Map<string, MachineState>()
    const names = (await readdir(this.#context.layout.machines)).filter((name) =>
      /^[A-Za-z0-9_-]{1,64}$/.test(name),
    )
    await inParallel(names, async (name) => {
      const state = await this.inspect(name)
      if (state.power !== 'absent') states.set(name, state)
    })
    return states
  }

  async measure(serverIds: readonly string[]): Promise<Map<string, Measurement>> {
    const measurements = new Map<string, Measurement>()
    await inParallel(serverIds, async (serverId) => {
      const machine = this.#machine(serverId)
      if (!machine.isLinked) {
        const look = this.inspect(serverId).catch(() => {})
        await Promise.race([look, sleep(LINK_MS, undefined, { ref: false })])
      }
      const measurement = await machine.measure()
      if (measurement) measurements.set(serverId, measurement)
    })
    return measurements
  }

  async ready(serverId: string): ReturnType<Driver['ready']> {
    const machine = this.#machine(serverId)
    if (!machine.isLinked) {
      const state = await this.inspect(serverId)
      if (state.power !== 'running') return null
    }
    const answer = await this.#readiness.ask(machine)
    if (answer) this.#booting.delete(serverId)
    return answer
  }

  network(): ReturnType<Driver['network']> {
    return { ipv4: { ...GUEST_ADDRESS } }
  }

  watch(listener: (serverId: string) => void): void {
    this.#listeners.add(listener)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#listeners.clear()
    this.#readiness.close()
    await Promise.all([...this.#machines.values()].map((machine) => machine.close()))
    await this.#context.cgroups.close()
    this.#context.layout.close()
    await this.#images.close()
  }

  #machine(serverId: string): Machine {
    let machine = this.#machines.get(serverId)
    if (!machine) {
      machine = new Machine(serverId, this.#context)
      this.#machines.set(serverId, machine)
    }
    return machine
  }

  #forget(machine: Machine): void {
    if (machine.isIdle && this.#machines.get(machine.id) === machine) this.#machines.delete(machine.id)
  }

  /**
   * Whether one more machine may boot now. Guests that boot all at once under emulation starve each other until
   * their kernels give up on their timers.
   */
  #admit(serverId: string): boolean {
    const now = this.#context.clock.now()
    for (const [id, { since }] of this.#booting) if (now - since >= BOOT_MS) this.#booting.delete(id)
    const owners = [...this.#booting.values()].map(({ owner }) => owner)
    const { owner } = this.#machine(serverId)
    if (!this.#booting.has(serverId) && !mayBoot(owner, owners, availableParallelism())) return false
    this.#book(serverId, now)
    return true
  }

  #book(serverId: string, since: number): void {
    this.#booting.set(serverId, { since, owner: this.#machine(serverId).owner })
  }

  /** A hint came that something happened to a machine: looks, and so tells the listeners if it is off. */
  async #changed(serverId: string): Promise<void> {
    if (this.#isClosed) return
    try {
      await this.inspect(serverId)
    } catch (error) {
      this.#context.log.error({ serverId, err: error }, 'The machine cannot be looked at')
    }
  }

  /** The machine was running when it was last looked at, and nobody here turned it off. */
  async #tell(machine: Machine, reason: 'guest_shutdown' | 'crashed' | null): Promise<void> {
    const serverId = machine.id
    this.#booting.delete(serverId)
    if (reason === 'crashed')
      this.#context.log.error({ serverId, words: await machine.lastWords() }, 'The machine crashed')
    for (const listener of this.#listeners) listener(serverId)
  }

  async #tend(): Promise<void> {
    for (const serverId of this.#running) {
      const machine = this.#machine(serverId)
      await machine
        .boundLogs()
        .catch((error: unknown) => this.#context.log.error({ serverId, err: error }, 'Bad log'))
      if (!machine.isLinked) await this.#changed(serverId)
    }
  }

  /** @throws DriverError not_found, image_not_ready */
  async #readyImage({ image }: MachineSpec): Promise<StoredImage> {
    if (!image) throw new DriverError('not_found', 'The machine has no disk, and no image for one')
    const ready = await this.#images.ready(image)
    if (!ready) throw new DriverError('image_not_ready', 'The image is not ready yet')
    return ready
  }

  #requireSupported({ cpuType, interfaces }: MachineSpec): void {
    if (interfaces.length !== 1)
      throw new DriverError('unavailable', 'A machine has exactly one network interface here')
    const offered = offeredCpuTypes(this.#settings.choice.accel)
    if (!offered.includes(cpuType))
      throw new DriverError(
        'unavailable',
        `This host has no ${cpuType} processor to offer (only ${offered.join(', ')})`,
      )
  }
}

async function inParallel(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  const next = names.values()
  const worker = async () => {
    for (const name of next) await work(name)
  }
  await Promise.all(Array.from({ length: WIDTH }, worker))
}

async function qemuVersion(): Promise<string> {
  try {
    await promisify(execFile)('qemu-img', ['--version'], { timeout: 10_000 })
    const { stdout } = await promisify(execFile)(QEMU, ['--version'], { timeout: 10_000 })
    return /version (\d+(?:\.\d+)+)/.exec(stdout)?.[1] ?? basename(QEMU)
  } catch (error) {
    throw new DriverError(
      'unavailable',
      'QEMU is not installed. Install it (Debian, Ubuntu: qemu-system-x86 qemu-utils; Fedora: qemu-kvm qemu-img).',
      { cause: error },
    )
  }
}
