import { inParallel } from '../../concurrency.ts'
import type { Console } from '../console.ts'
import {
  type Driver,
  DriverError,
  type GuestLogin,
  type HostFacts,
  hasDisk,
  type MachineSpec,
  type MachineState,
  noSnapshotFiles,
  type PrivateCard,
  type RescueSpec,
  type ServerNetwork,
  type TrialMachine,
  WithoutDevices,
} from '../driver.ts'
import { addressScript } from '../guest/card-address.ts'
import { hashPassword } from '../guest/crypt.ts'
import { Readiness } from '../guest/readiness.ts'
import type { ImageSpec, ImageState } from '../images.ts'
import type { Log } from '../log.ts'
import type { Measurement } from '../measurement.ts'
import { isSnapshot, type SnapshotFiles, type SnapshotState, type VerifyState } from '../snapshots.ts'
import { prefixFor } from './cards.ts'
import { at, type IncusClient } from './client.ts'
import { IncusConsoles } from './console.ts'
import { IncusError, toDriverError, unless } from './errors.ts'
import { IncusExports } from './exports.ts'
import { Host, type IncusServer } from './host.ts'
import { IncusImages } from './images.ts'
import {
  changed,
  diskOf,
  type Instance,
  isServer,
  isUnfinished,
  nameOf,
  networkOf,
  newInstance,
  powered,
  resized,
  serverIdOf,
  stateOf,
} from './instance.ts'
import { Instances, isByItself } from './instances.ts'
import { Measures } from './measures.ts'
import { Members } from './members.ts'
import { Networks } from './networks.ts'
import { Operations } from './operations.ts'
import { IncusSnapshots } from './snapshots.ts'
import { Spool } from './spool.ts'
import { IncusTrials } from './trials.ts'
import { IncusVolumes } from './volumes.ts'
import { Watch } from './watch.ts'
import type { IncusZone } from './zone.ts'

export interface IncusOptions {
  zone: IncusZone
  /** The address where ports listen that lead to machines (default: that of the zone). */
  address: string
  log: Log
  /** The folder of exports that are brought back (default: snapshots are not exported). */
  folder?: string | undefined
}

/** Milliseconds between checks for machines that turned off without an event. */
const TEND_MS = 5_000
/** A call for at most this many machines reads each by itself; a larger call reads the list of all. */
const FEW = 8
/** The time that a guest has to obey its power button; callers usually give up sooner. */
const SHUTDOWN_SECONDS = 600

const OPAQUE = 'Snapshots here are kept in the storage of the cluster, and cannot be read.'

interface Settings extends IncusOptions {
  client: IncusClient
  server: IncusServer
}

/** Runs containers of Incus or LXD, on one machine or on a cluster. Opened by openIncus. */
export class IncusDriver extends WithoutDevices implements Driver {
  readonly #settings: Settings
  readonly #client: IncusClient
  readonly #operations: Operations
  readonly #instances: Instances
  readonly #members: Members
  readonly #host: Host
  readonly #images: IncusImages
  readonly #consoles: IncusConsoles
  readonly #measures: Measures
  readonly #networks: Networks
  readonly #snapshots: IncusSnapshots
  readonly #trials: IncusTrials
  readonly #volumes: IncusVolumes
  readonly #spool: Spool | null
  readonly snapshotFiles: SnapshotFiles
  readonly #readiness: Readiness
  readonly #watch: Watch
  readonly #timer: NodeJS.Timeout

  constructor(settings: Settings) {
    super()
    const { client, zone, address, log, folder, server } = settings
    const { project, group, storage_pool: storagePool } = zone
    this.#settings = settings
    this.#client = client
    this.#operations = new Operations(client, log, ({ source }) => this.#watch.hint(source))
    this.#watch = new Watch(
      (serverId) => this.inspect(serverId),
      (serverId) => this.#consoles.end(serverId),
    )
    const isClustered = server.environment.server_clustered
    this.#members = new Members(client, { group, storagePool, isClustered })
    this.#instances = new Instances(client, this.#operations, this.#members, project)
    this.#host = new Host(this.#members, server, zone, () => this.#snapshots.keptGb())
    this.#images = new IncusImages(client, this.#operations, project)
    this.#consoles = new IncusConsoles(client, project)
    this.#measures = new Measures(client, project)
    const around = { listen: address, uplink: zone.uplink ?? null, project, prefix: prefixFor(project) }
    this.#networks = new Networks(client, around, log)
    const parts = { client, zone, log, operations: this.#operations, members: this.#members }
    this.#spool = zone.exports && folder !== undefined ? new Spool(folder) : null
    const areExported = this.#spool !== null
    this.#snapshots = new IncusSnapshots({ ...parts, instances: this.#instances, areExported })
    this.#trials = new IncusTrials({ ...parts, instances: this.#instances })
    this.#volumes = new IncusVolumes({ ...parts, instances: this.#instances })
    this.snapshotFiles = this.#spool
      ? new IncusExports({ ...parts, spool: this.#spool })
      : noSnapshotFiles('unsupported', OPAQUE)
    this.#readiness = new Readiness(address)
    this.#timer = setInterval(() => void this.#tend(), TEND_MS).unref()
  }

  host(): Promise<HostFacts> {
    return this.#host.facts()
  }

  image(image: ImageSpec, { isWanted } = { isWanted: true }): Promise<ImageState> {
    return this.#try(() => this.#images.ensure(image, isWanted))
  }

  async define(spec: MachineSpec): Promise<void> {
    await this.#try(async () => {
      const instance = await this.#instances.find(spec.serverId)
      if (!instance) return this.#create(spec)
      if (spec.image && isUnfinished(instance)) return this.#finish(spec)
      if (stateOf(await this.#instances.get(spec.serverId)).power !== 'stopped')
        throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed.')
      await this.#instances.write(spec.serverId, (found) => resized(found, spec))
    })
  }

  async start(serverId: string): Promise<'started' | 'queued'> {
    await this.#try(async () => {
      const instance = await this.#instances.get(serverId)
      if (!networkOf(instance)) throw new DriverError('not_found', 'The machine has no network.')
      if (stateOf(instance).power === 'running') return
      await this.#instances.write(serverId, (found) => changed(found, powered('on')))
      await this.#instances.power(serverId, { action: 'start' }).catch(unless('running'))
    })
    await this.inspect(serverId)
    return 'started'
  }

  async shutdown(serverId: string): Promise<void> {
    await this.#try(async () => {
      const instance = await this.#instances.find(serverId)
      if (!instance || stateOf(instance).power !== 'running') return
      const body = { action: 'stop', timeout: SHUTDOWN_SECONDS }
      await this.#operations
        .begin('PUT', this.#instances.path(serverId, '/state'), { body })
        .catch(unless('stopped', 'busy'))
    })
  }

  async reset(serverId: string): Promise<void> {
    await this.#try(async () => {
      if (stateOf(await this.#instances.get(serverId)).power !== 'running')
        throw new DriverError('not_found', 'The machine is off; there is nothing to reset.')
      await this.#instances.power(serverId, { action: 'restart', force: true })
      this.#consoles.end(serverId)
    })
    await this.inspect(serverId)
  }

  async powerOff(serverId: string): Promise<void> {
    await this.#try(() => this.#turnOff(serverId))
  }

  async destroy(serverId: string, olderThan?: string): Promise<void> {
    await this.#try(async () => {
      const found = olderThan === undefined ? null : await this.#instances.find(serverId)
      if (found && hasDisk(diskOf(found), olderThan)) return
      const instance = await this.#turnOff(serverId)
      if (instance) this.#volumes.leave(serverId, instance)
      await this.#snapshots.abandon(serverId, olderThan)
      await this.#operations.run('DELETE', this.#instances.path(serverId)).catch(unless('missing'))
      await this.#networks.leave(instance?.devices ?? null)
    })
  }

  async rescue(_serverId: string, rescue: RescueSpec | null): Promise<void> {
    if (rescue) throw new DriverError('unsupported', 'Containers have no rescue system.')
  }

  volume = (id: string, sizeGb: number) => this.#try(() => this.#volumes.volume(id, sizeGb))
  attachVolume = (id: string, serverId: string) => this.#try(() => this.#volumes.attachVolume(id, serverId))
  detachVolume = (id: string, serverId: string) => this.#try(() => this.#volumes.detachVolume(id, serverId))
  removeVolume = (id: string) => this.#try(() => this.#volumes.removeVolume(id))
  listVolumes = () => this.#try(() => this.#volumes.listVolumes())

  snapshot(serverId: string, snapshotId: string): Promise<SnapshotState> {
    return this.#try(() => this.#snapshots.snapshot(serverId, snapshotId))
  }

  async receive(): Promise<never> {
    throw new DriverError('unsupported', 'There are no images here.')
  }

  async importImage(): Promise<never> {
    throw new DriverError('unsupported', 'There are no images here.')
  }

  removeSnapshot(snapshotId: string): Promise<void> {
    return this.#try(() => this.#snapshots.remove(snapshotId))
  }

  verifySnapshot(snapshotId: string): Promise<VerifyState> {
    return this.#try(() => this.#snapshots.verify(snapshotId))
  }

  trySnapshot = (id: string, machine: TrialMachine) => this.#try(() => this.#trials.state(id, machine))
  endTrial = (id: string) => this.#try(() => this.#trials.end(id))

  listSnapshots(snapshotIds?: readonly string[]): ReturnType<Driver['listSnapshots']> {
    return this.#try(() => this.#snapshots.list(snapshotIds))
  }

  async inspect(serverId: string): Promise<MachineState> {
    const instance = await this.#try(() => this.#instances.find(serverId))
    if (!instance) return { power: 'absent' }
    return this.#watch.see(serverId, instance, await this.#instances.settled(serverId, instance))
  }

  async list(): Promise<Map<string, MachineState>> {
    return this.#try(async () => {
      const instances = await this.#instances.list()
      const isAnyByItself = instances.some((instance) => isByItself(stateOf(instance)))
      const moves = isAnyByItself ? await this.#instances.moves() : null
      const states = new Map<string, MachineState>()
      for (const instance of instances) {
        const serverId = serverIdOf(instance.name)
        if (serverId === null) continue
        const state = stateOf(instance)
        const shown = moves?.(instance, state) ?? state
        states.set(serverId, this.#watch.see(serverId, instance, shown))
      }
      return states
    })
  }

  async measure(serverIds: readonly string[]): Promise<Map<string, Measurement>> {
    return this.#try(async () => this.#measures.of(serverIds, await this.#instances.list()))
  }

  async ready(serverId: string): ReturnType<Driver['ready']> {
    const { power } = await this.inspect(serverId)
    const boot = this.#watch.bootOf(serverId)
    return power === 'running' && boot ? this.#readiness.ask(boot) : null
  }

  async connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void> {
    const { zone } = this.#settings
    await this.#try(async () => {
      const ids = [...networks.keys()]
      const few = ids.length <= FEW ? await Promise.all(ids.map((id) => this.#instances.find(id))) : null
      const instances = (few ?? (await this.#instances.list())).filter((instance) => instance !== null)
      const failures: unknown[] = []
      await inParallel(instances, async (instance) => {
        const serverId = serverIdOf(instance.name)
        const network = serverId === null ? undefined : networks.get(serverId)
        if (serverId === null || !network || instance.config === null) return
        if (network.cards.length > 0 && zone.uplink === undefined)
          failures.push(new DriverError('unsupported', 'There are no private networks here'))
        await this.#networks
          .connect(instance, network, (change) => this.#instances.write(serverId, change))
          .catch((error: unknown) => failures.push(error))
      })
      if (failures.length > 0) throw failures[0]
    })
  }

  async setPassword(serverId: string, { username, password }: GuestLogin): Promise<void> {
    await this.#try(async () => {
      // The events of the cluster show the command of each call, but not its environment.
      const environment = { LOGIN: `${username}:${hashPassword(password)}` }
      await this.#instances.execute(serverId, 'printf "%s\\n" "$LOGIN" | chpasswd -e', environment)
    })
  }

  async setAddress(serverId: string, card: PrivateCard): Promise<void> {
    await this.#try(() => this.#instances.execute(serverId, addressScript(card)))
  }

  openConsole(serverId: string, seen?: Buffer): Promise<Console> {
    return this.#try(async () => {
      const { power } = await this.inspect(serverId)
      if (power !== 'running') throw new DriverError('not_found', 'The machine is off.')
      return this.#consoles.open(serverId, seen)
    })
  }

  watch(listener: (serverId: string) => void): void {
    this.#watch.listen(listener)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#trials.close()
    this.#watch.close()
    this.#readiness.close()
    this.#networks.close()
    this.#consoles.close()
    this.#operations.close()
    this.#client.close()
    await this.#spool?.close()
  }

  async #create(spec: MachineSpec): Promise<void> {
    const { image, serverId } = spec
    if (!image) throw new DriverError('not_found', 'The machine has no disk, and no image for one.')
    if (isSnapshot(image)) return this.#snapshots.make(spec, image.snapshotId)
    const fingerprint = await this.#images.ready(image)
    if (fingerprint === null) throw new DriverError('image_not_ready', 'The image is not ready yet')
    const { project, storage_pool: storagePool, nameservers } = this.#settings.zone
    const { target, done } = await this.#members.place(await this.#instances.list(), spec)
    const body = {
      ...newInstance(spec, { storagePool, nameservers }),
      source: { type: 'image', fingerprint },
    }
    try {
      await this.#operations
        .run('POST', at('/1.0/instances', { project, target }), { body })
        .catch(unless('exists'))
    } finally {
      done()
    }
    const made = await this.#instances.find(serverId)
    if (!made || !isServer(made, serverId))
      throw new DriverError(
        'unavailable',
        `The instance ${nameOf(serverId)} does not exist, or is not managed by Berth.`,
      )
  }

  /** Brings an instance that never ran to its spec. If its member died while creating it, it is created again. */
  async #finish(spec: MachineSpec): Promise<void> {
    try {
      await this.#instances.write(spec.serverId, (found) => resized(found, spec))
    } catch (error) {
      if (!(error instanceof IncusError && error.refusal === 'missing')) throw error
      await this.#operations.run('DELETE', this.#instances.path(spec.serverId)).catch(unless('missing'))
      await this.#create(spec)
    }
  }

  /** @returns the instance that was turned off; null: there is none */
  async #turnOff(serverId: string): Promise<Instance | null> {
    this.#watch.forget(serverId)
    if (!(await this.#instances.find(serverId))) return null
    // This read fails if the member is down, because its machine may still be running.
    const instance = await this.#instances.get(serverId)
    // An instance whose creation was interrupted can be neither changed nor started.
    await this.#instances.write(serverId, (found) => changed(found, powered('off'))).catch(unless('missing'))
    if (stateOf(instance).power === 'stopped') return instance
    await this.#instances.power(serverId, { action: 'stop', force: true }).catch(unless('stopped'))
    this.#consoles.end(serverId)
    return instance
  }

  async #tend(): Promise<void> {
    if (this.#watch.isIdle) return
    await this.list().catch(() => {}) // callers that need the cluster get the error
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw toDriverError(error)
    }
  }
}
