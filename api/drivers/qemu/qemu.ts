import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inParallel } from '../../concurrency.ts'
import type { Console } from '../console.ts'
import type {
  Driver,
  HostFacts,
  MachineSpec,
  MachineState,
  PublicPools,
  RescueSpec,
  ServerNetwork,
} from '../driver.ts'
import { Readiness } from '../guest/readiness.ts'
import type { ImageSpec, ImageState } from '../images.ts'
import { isSnapshot, type SnapshotFiles } from '../snapshots.ts'
import { BOOT_MS, BootingMachines } from './booting.ts'
import { hostCapacity } from './capacity.ts'
import { SerialConsoles } from './console.ts'
import { readyImage, readyIso, requireSupported } from './define.ts'
import { QemuGuests } from './guests.ts'
import { Hints } from './hints.ts'
import { type AccelChoice, offeredCpuTypes } from './host/accel.ts'
import type { ImageStore, StoredImage } from './images/images.ts'
import { type Context, lastWords } from './launch.ts'
import { Machine } from './machine.ts'
import { abilitiesOf } from './network/public.ts'
import { Snapshots } from './snapshots.ts'

const TEND_MS = 10_000
/** The time for which a round of measurements waits for a connection to a machine. */
const LINK_MS = 1_500

interface Settings extends Omit<Context, 'changed' | 'kernelRuns'> {
  warnings: readonly string[]
  choice: AccelChoice
  version: string
  images: ImageStore
  pools: () => PublicPools
}

/** Runs each machine as a QEMU process on this host. openQemu (open.ts) makes it. */
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
