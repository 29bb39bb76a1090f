import { readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '../../clock.ts'
import { inParallel } from '../../concurrency.ts'
import type { Console } from '../console.ts'
import {
  type Driver,
  DriverError,
  type HostFacts,
  type MachineSpec,
  type MachineState,
  type PortRange,
  type PublicPools,
  type RescueSpec,
  type ServerNetwork,
} from '../driver.ts'
import { Readiness } from '../guest/readiness.ts'
import type { ImageSpec, ImageState } from '../images.ts'
import type { Log } from '../log.ts'
import { isSnapshot, type SnapshotFiles } from '../snapshots.ts'
import { BOOT_MS, BootingMachines } from './booting.ts'
import { hostCapacity } from './capacity.ts'
import { SerialConsoles } from './console.ts'
import { readyImage, readyIso, requireSupported } from './define.ts'
import { examine } from './examine.ts'
import { QemuGuests } from './guests.ts'
import { Hints } from './hints.ts'
import { type Accel, type AccelChoice, offeredCpuTypes } from './host/accel.ts'
import { Cgroups } from './host/cgroup.ts'
import type { ImageStore, StoredImage } from './images/images.ts'
import { type Context, lastWords } from './launch.ts'
import { Layout } from './layout.ts'
import { Machine } from './machine.ts'
import { GuestNetwork } from './network/guest-network.ts'
import { abilitiesOf } from './network/public.ts'
import type { NetworkKind } from './passt.ts'
import { runningCards } from './running.ts'
import { Snapshots } from './snapshots.ts'
import { VolumeShelf } from './volume-shelf.ts'

export interface QemuOptions {
  dataDir: string
  images: ImageStore
  accel: 'auto' | Accel
  /** The host's address on which the ports that lead to guests listen (default: 127.0.0.1). */
  address?: string
  /** The ports that may lead to guests, for networks that have to open all of them at once. */
  ports?: PortRange
  /** Returns the current ranges of public addresses (default: none). */
  pools?: () => PublicPools
  /** The kind of network for guests (default: one network for all of them if the host allows it). */
  network?: NetworkKind
  log: Log
  clock?: Clock
}

const NO_POOLS: PublicPools = { ipv4: [], ipv6: [] }
const TEND_MS = 10_000
/** The time for which a round of measurements waits for a connection to a machine. */
const LINK_MS = 1_500

/**
 * @throws DriverError unavailable if machines can't run here, unsafe if they could only run as root; the message says
 *   what to do
 */
export async function openQemu(options: QemuOptions): Promise<QemuDriver> {
  const layout = new Layout(resolve(options.dataDir))
  const address = options.address ?? '127.0.0.1'
  let guests: GuestNetwork | null = null
  const { version, choice, network, isolation, ownerObstacle } = await examine(options, layout, async () => {
    const { ports = { first: 0, last: -1 }, pools = () => NO_POOLS, log, dataDir } = options
    const running = () => runningCards(layout)
    guests = await GuestNetwork.open({ dataDir, address, ports, pools, log, running })
  })
  if (ownerObstacle !== null && process.getuid?.() === 0)
    throw new DriverError(
      'unsafe',
      `Machines would run as root, and so would a guest that breaks out of QEMU: ${ownerObstacle}.`,
    )
  const unwalled = isolation.confinement
  const wallsWarning =
    unwalled && `A guest that breaks out of QEMU sees files and processes of this host: ${unwalled}`
  const driver = new QemuDriver({
    choice,
    version,
    images: options.images,
    layout,
    accel: choice.accel,
    network: network.kind,
    warnings: [network.warning, wallsWarning].filter((warning) => warning !== null),
    guests,
    address,
    pools: options.pools ?? (() => NO_POOLS),
    volumes: new VolumeShelf(layout),
    cgroups: await Cgroups.open(`berth-${layout.hash}`),
    clock: options.clock ?? systemClock,
    log: options.log,
    ownUsers: ownerObstacle === null,
    isWalled: unwalled === null,
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
  pools: () => PublicPools
}

/** Runs each machine as a QEMU process on this host. Create it with openQemu. */
export class QemuDriver extends QemuGuests implements Driver {
  readonly #settings: Settings
  readonly #context: Context
  readonly #readiness: Readiness
  readonly #consoles: SerialConsoles
  readonly #machines = new Map<string, Machine>()
  readonly #booting: BootingMachines
  readonly #snapshots: Snapshots
  readonly #hints: Hints
  /** The machines that were last seen running: if one is found off, it turned off by itself. */
  readonly #running = new Set<string>()
  readonly #listeners = new Set<(serverId: string) => void>()
  readonly #timer: NodeJS.Timeout

  constructor(settings: Settings) {
    super(settings.volumes)
    this.#settings = settings
    this.#booting = new BootingMachines(settings.clock)
    this.#hints = new Hints((serverId) => this.#lookAt(serverId))
    this.#context = {
      ...settings,
      changed: (serverId) => void this.#hints.changed(serverId),
      kernelRuns: (serverId) => this.#booting.end(serverId),
    }
    this.#snapshots = new Snapshots({
      booting: this.#booting,
      context: this.#context,
      machine: (serverId) => this.machine(serverId),
      inspect: (serverId) => this.inspect(serverId),
    })
    this.#readiness = new Readiness(settings.address)
    this.#consoles = new SerialConsoles(settings, (serverId) => this.inspect(serverId))
    this.#timer = setInterval(() => void this.#tend(), TEND_MS).unref()
    settings.guests?.watch()
  }

  /**
   * Finds the machines that an earlier process of the service left running, and cleans up what it left unfinished.
   */
  async adopt(): Promise<void> {
    const { layout, log, clock } = this.#context
    for (const [serverId, state] of await this.list()) {
      if (state.power !== 'running') continue
      log.info({ server_id: serverId }, 'Found the machine running')
      const isYoung = clock.now() - state.startedAt < BOOT_MS
      const machine = this.machine(serverId)
      if (isYoung && !(await machine.hasKernel()))
        this.#booting.begin(serverId, machine.owner, state.startedAt)
    }
    for (const name of await readdir(layout.trash))
      await rm(join(layout.trash, name), { recursive: true, force: true })
    await this.#snapshots.adopt()
  }

  async host(): Promise<HostFacts> {
    const { choice, version, cgroups, layout } = this.#settings
    const { features, lack } = abilitiesOf(this.#context.guests, this.#settings.pools())
    const warnings = [...this.#settings.warnings, ...lack]
    if (cgroups.missing.length > 0)
      warnings.push(
        `The ${cgroups.missing.join(', ')} limits of machines are not enforced, because control groups for them are missing`,
      )
    return {
      compute: `QEMU ${version} with ${choice.accel.toUpperCase()}`,
      reason: choice.reason,
      isReal: true,
      cpuTypes: offeredCpuTypes(choice.accel),
      features,
      ...(await hostCapacity(layout)),
      warnings,
    }
  }

  image(image: ImageSpec, { isWanted } = { isWanted: true }): Promise<ImageState> {
    return isWanted ? this.#settings.images.ensure(image) : this.#settings.images.state(image)
  }

  async define(spec: MachineSpec): Promise<void> {
    requireSupported(spec, this.#settings.choice.accel)
    const { image, serverId } = spec
    const define = (base: () => Promise<StoredImage>) => this.machine(serverId).define(spec, base)
    if (image && isSnapshot(image)) await this.#snapshots.use(image.snapshotId, define)
    else await define(() => readyImage(this.#settings.images, image))
  }

  rescue(serverId: string, rescue: RescueSpec | null): Promise<void> {
    const image = () => readyImage(this.#settings.images, rescue?.image ?? null)
    return this.machine(serverId).rescue(rescue, image)
  }

  async start(serverId: string): Promise<'started' | 'queued'> {
    const machine = this.machine(serverId)
    const outcome = await machine
      .start(() => this.#booting.admit(serverId, machine.owner))
      .catch((error: unknown) => {
        this.#booting.end(serverId)
        throw error
      })
    if (outcome === 'started') this.#running.add(serverId)
    return outcome
  }

  shutdown(serverId: string): Promise<void> {
    return this.machine(serverId).shutdown()
  }

  reset(serverId: string): Promise<void> {
    return this.machine(serverId).reset()
  }

  async powerOff(serverId: string): Promise<void> {
    const machine = this.machine(serverId)
    this.#running.delete(serverId)
    await machine.powerOff()
    this.#booting.end(serverId)
  }

  async insertIso(serverId: string, iso: string | ImageSpec | null): Promise<void> {
    const machine = this.machine(serverId)
    if (typeof iso === 'string') return this.#snapshots.useIso(iso, (lent) => machine.insertIso(lent))
    await machine.insertIso(iso && (await readyIso(this.#settings.images, iso)))
  }

  async destroy(serverId: string, olderThan?: string): Promise<void> {
    const machine = this.machine(serverId)
    const base = (await machine.readRecord())?.base ?? ''
    if ((await machine.destroy(olderThan)) === 'kept') return
    await this.#snapshots.released(base)
    this.#running.delete(serverId)
    this.#booting.end(serverId)
    this.#forget(machine)
  }

  readonly snapshot: Driver['snapshot'] = (...copy) => this.#snapshots.state(...copy)

  readonly receive: Driver['receive'] = (...part) => this.#snapshots.receive(...part)

  readonly importImage: Driver['importImage'] = (...image) => this.#snapshots.import(...image)

  get snapshotFiles(): SnapshotFiles {
    return this.#snapshots.files
  }

  readonly removeSnapshot = (snapshotId: string) => this.#snapshots.remove(snapshotId)

  readonly verifySnapshot = (snapshotId: string) => this.#snapshots.verify(snapshotId)

  readonly trySnapshot: Driver['trySnapshot'] = (...trial) => this.#snapshots.trials.state(...trial)

  readonly endTrial = (snapshotId: string) => this.#snapshots.trials.end(snapshotId)

  listSnapshots(snapshotIds?: readonly string[]): ReturnType<Driver['listSnapshots']> {
    return this.#snapshots.list(snapshotIds)
  }

  async inspect(serverId: string): Promise<MachineState> {
    const machine = this.machine(serverId)
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

  async measure(serverIds: readonly string[]): ReturnType<Driver['measure']> {
    const measurements: Awaited<ReturnType<Driver['measure']>> = new Map()
    const traffic = await this.#context.guests?.traffic().catch(() => null)
    await inParallel(serverIds, async (serverId) => {
      const machine = this.machine(serverId)
      if (!machine.isLinked) {
        const look = this.inspect(serverId).catch(() => {})
        await Promise.race([look, sleep(LINK_MS, undefined, { ref: false })])
      }
      const measurement = await machine.measure(traffic?.get(serverId))
      if (measurement) measurements.set(serverId, measurement)
    })
    return measurements
  }

  async ready(serverId: string): ReturnType<Driver['ready']> {
    const machine = this.machine(serverId)
    if (!machine.isLinked) {
      const state = await this.inspect(serverId)
      if (state.power !== 'running') return null
    }
    await this.#context.guests?.probe(serverId, true)
    const answer = await this.#readiness.ask(machine)
    if (answer) this.#booting.end(serverId)
    if (answer) await this.#context.guests?.probe(serverId, false)
    return answer
  }

  async connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void> {
    await inParallel([...networks], ([serverId, network]) => this.machine(serverId).connect(network))
    await this.#context.guests?.change(networks)
    const failures: unknown[] = []
    await inParallel([...networks.keys()], (serverId) =>
      this.machine(serverId)
        .plug()
        .catch((error: unknown) => void failures.push(error)),
    )
    if (failures.length > 0) throw failures[0]
  }

  openConsole(serverId: string, seen?: Buffer): Promise<Console> {
    return this.#consoles.open(serverId, seen)
  }

  watch(listener: (serverId: string) => void): void {
    this.#listeners.add(listener)
  }

  async close(): Promise<void> {
    this.#hints.close()
    clearInterval(this.#timer)
    await this.#snapshots.close()
    this.#listeners.clear()
    this.#readiness.close()
    this.#consoles.close()
    await Promise.all([...this.#machines.values()].map((machine) => machine.close()))
    await this.#context.guests?.close()
    await this.#context.cgroups.close()
    this.#context.layout.close()
    await this.#settings.images.close()
  }

  protected machine(serverId: string): Machine {
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

  /** Looks at a machine that may have changed, which notifies the listeners if it is off. */
  async #lookAt(serverId: string): Promise<void> {
    try {
      await this.inspect(serverId)
    } catch (error) {
      this.#context.log.error({ server_id: serverId, err: error }, 'The machine cannot be inspected')
    }
  }

  /** Notifies the listeners of a machine that was last seen running and that the service did not turn off. */
  async #tell(machine: Machine, reason: 'guest_shutdown' | 'crashed' | null): Promise<void> {
    const serverId = machine.id
    this.#booting.end(serverId)
    if (reason === 'crashed')
      this.#context.log.error(
        { server_id: serverId, words: await lastWords(machine.files) },
        'The machine crashed',
      )
    for (const listener of this.#listeners) listener(serverId)
  }

  async #tend(): Promise<void> {
    for (const serverId of this.#running) {
      const machine = this.machine(serverId)
      await machine
        .boundLogs()
        .catch((error: unknown) => this.#context.log.error({ server_id: serverId, err: error }, 'Bad log'))
      if (!machine.isLinked) await this.#hints.changed(serverId)
    }
  }
}
