import { setTimeout as sleep } from 'node:timers/promises'
import { inParallel } from '../../concurrency.ts'
import {
  type Console,
  type Driver,
  DriverError,
  type HostFacts,
  type MachineSpec,
  type MachineState,
  type Measurement,
  type ServerNetwork,
  SSH_PORT,
} from '../driver.ts'
import { Readiness } from '../guest/readiness.ts'
import type { ImageSpec, ImageState } from '../images.ts'
import type { Log } from '../log.ts'
import { prefixFor } from './cards.ts'
import { at, type IncusClient } from './client.ts'
import { IncusConsoles } from './console.ts'
import { IncusError, toDriverError, unless } from './errors.ts'
import { Host, type IncusServer } from './host.ts'
import { IncusImages } from './images.ts'
import {
  changed,
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
import { Measures } from './measures.ts'
import { Members } from './members.ts'
import { Networks } from './networks.ts'
import { Operations } from './operations.ts'
import type { IncusZone } from './zone.ts'

export interface IncusOptions {
  zone: IncusZone
  /** Where ports listen that lead to machines, unless the zone says otherwise. */
  address: string
  log: Log
}

/** Between two looks at all machines for those that turned off without an event. */
const TEND_MS = 5_000
/** How many networks are brought about by asking for each machine; for more the whole list is asked for. */
const FEW = 8
/** How often a write is tried whose instance somebody else has just changed. */
const TRIES = 4
const RETRY_MS = 100
const HINT_MS = 100
/** How long a guest may take to obey its power button; the caller decides when it was long enough. */
const SHUTDOWN_SECONDS = 600

interface Settings extends Required<IncusOptions> {
  client: IncusClient
  server: IncusServer
}

/** Containers of an Incus or LXD, on one machine or a cluster of them. Opened by openIncus. */
export class IncusDriver implements Driver {
  readonly #settings: Settings
  readonly #client: IncusClient
  readonly #operations: Operations
  readonly #members: Members
  readonly #host: Host
  readonly #images: IncusImages
  readonly #consoles: IncusConsoles
  readonly #measures: Measures
  readonly #networks: Networks
  readonly #readiness: Readiness
  /** Machines that were last seen running, each with what is known of this boot. */
  readonly #running = new Map<string, { boot: number; sshPort: number | null; hasPasst: boolean }>()
  readonly #listeners = new Set<(serverId: string) => void>()
  /** Machines that are looked at in a moment, however many hints come meanwhile. */
  readonly #hinted = new Set<string>()
  readonly #timer: NodeJS.Timeout

  constructor(settings: Settings) {
    const { client, zone, address, log, server } = settings
    const { project, group, storage_pool: storagePool } = zone
    this.#settings = settings
    this.#client = client
    this.#operations = new Operations(client, log, ({ source }) => this.#hint(source))
    const isClustered = server.environment.server_clustered
    this.#members = new Members(client, { group, storagePool, isClustered })
    this.#host = new Host(this.#members, server, zone)
    this.#images = new IncusImages(client, this.#operations, project)
    this.#consoles = new IncusConsoles(client, project)
    this.#measures = new Measures(client, project)
    const around = { listen: address, uplink: zone.uplink ?? null, project, prefix: prefixFor(project) }
    this.#networks = new Networks(client, around, log)
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
      const instance = await this.#find(spec.serverId)
      if (!instance) return this.#create(spec)
      if (spec.image && isUnfinished(instance)) return this.#finish(spec)
      if (stateOf(await this.#get(spec.serverId)).power !== 'stopped')
        throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed.')
      await this.#write(spec.serverId, (found) => resized(found, spec))
    })
  }

  async start(serverId: string): Promise<'started' | 'queued'> {
    await this.#try(async () => {
      const instance = await this.#get(serverId)
      if (!networkOf(instance)) throw new DriverError('not_found', 'The machine has no network.')
      if (stateOf(instance).power === 'running') return
      await this.#write(serverId, (found) => changed(found, powered('on')))
      await this.#power(serverId, { action: 'start' }).catch(unless('running'))
    })
    await this.inspect(serverId)
    return 'started'
  }

  async shutdown(serverId: string): Promise<void> {
    await this.#try(async () => {
      const instance = await this.#find(serverId)
      if (!instance || stateOf(instance).power !== 'running') return
      const body = { action: 'stop', timeout: SHUTDOWN_SECONDS }
      await this.#operations
        .begin('PUT', this.#path(serverId, '/state'), { body })
        .catch(unless('stopped', 'busy'))
    })
  }

  async reset(serverId: string): Promise<void> {
    await this.#try(async () => {
      if (stateOf(await this.#get(serverId)).power !== 'running')
        throw new DriverError('not_found', 'The machine is off; there is nothing to reset.')
      await this.#power(serverId, { action: 'restart', force: true })
      this.#consoles.end(serverId)
    })
    await this.inspect(serverId)
  }

  async powerOff(serverId: string): Promise<void> {
    await this.#try(() => this.#turnOff(serverId))
  }

  async destroy(serverId: string): Promise<void> {
    await this.#try(async () => {
      const instance = await this.#turnOff(serverId)
      await this.#operations.run('DELETE', this.#path(serverId)).catch(unless('missing'))
      await this.#networks.leave(instance?.devices ?? null)
    })
  }

  async inspect(serverId: string): Promise<MachineState> {
    const instance = await this.#try(() => this.#find(serverId))
    if (!instance) return { power: 'absent' }
    return this.#see(serverId, instance, await this.#settled(serverId, instance))
  }

  async list(): Promise<Map<string, MachineState>> {
    return this.#try(async () => {
      const instances = await this.#instances()
      const isMoving = instances.some((instance) => isByItself(stateOf(instance))) && (await this.#isMoving())
      const states = new Map<string, MachineState>()
      for (const instance of instances) {
        const serverId = serverIdOf(instance.name)
        if (serverId === null) continue
        const state = stateOf(instance)
        const shown: MachineState = isMoving && isByItself(state) ? { power: 'away', isMoving } : state
        states.set(serverId, this.#see(serverId, instance, shown))
      }
      return states
    })
  }

  async measure(serverIds: readonly string[]): Promise<Map<string, Measurement>> {
    return this.#try(async () => this.#measures.of(serverIds, await this.#instances()))
  }

  async ready(serverId: string): ReturnType<Driver['ready']> {
    const { power } = await this.inspect(serverId)
    const boot = this.#running.get(serverId)
    return power === 'running' && boot ? this.#readiness.ask(boot) : null
  }

  async connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void> {
    const { zone } = this.#settings
    await this.#try(async () => {
      const ids = [...networks.keys()]
      const few = ids.length <= FEW ? await Promise.all(ids.map((id) => this.#find(id))) : null
      const instances = (few ?? (await this.#instances())).filter((instance) => instance !== null)
      const failures: unknown[] = []
      await inParallel(instances, async (instance) => {
        const serverId = serverIdOf(instance.name)
        const network = serverId === null ? undefined : networks.get(serverId)
        if (serverId === null || !network || instance.config === null) return
        if (network.cards.length > 0 && zone.uplink === undefined)
          failures.push(new DriverError('unsupported', 'There are no private networks here'))
        await this.#networks
          .connect(instance, network, (change) => this.#write(serverId, change))
          .catch((error: unknown) => failures.push(error))
      })
      if (failures.length > 0) throw failures[0]
    })
  }

  openConsole(serverId: string, seen?: Buffer): Promise<Console> {
    return this.#try(async () => {
      const { power } = await this.inspect(serverId)
      if (power !== 'running') throw new DriverError('not_found', 'The machine is off.')
      return this.#consoles.open(serverId, seen)
    })
  }

  watch(listener: (serverId: string) => void): void {
    this.#listeners.add(listener)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#listeners.clear()
    this.#readiness.close()
    this.#networks.close()
    this.#consoles.close()
    this.#operations.close()
    this.#client.close()
  }

  async #create(spec: MachineSpec): Promise<void> {
    const { image, serverId, ramMb } = spec
    if (!image) throw new DriverError('not_found', 'The machine has no disk, and no image for one.')
    const fingerprint = await this.#images.ready(image)
    if (fingerprint === null) throw new DriverError('image_not_ready', 'The image is not ready yet')
    const { project, storage_pool: storagePool, nameservers } = this.#settings.zone
    const { target, done } = await this.#members.place(await this.#instances(), ramMb)
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
    const made = await this.#find(serverId)
    if (!made || !isServer(made, serverId))
      throw new DriverError(
        'unavailable',
        `The instance ${nameOf(serverId)} is not there, or somebody else's.`,
      )
  }

  /** Brings an instance that never ran to its spec; where its member died while creating it, it is created anew. */
  async #finish(spec: MachineSpec): Promise<void> {
    try {
      await this.#write(spec.serverId, (found) => resized(found, spec))
    } catch (error) {
      if (!(error instanceof IncusError && error.refusal === 'missing')) throw error
      await this.#operations.run('DELETE', this.#path(spec.serverId)).catch(unless('missing'))
      await this.#create(spec)
    }
  }

  /** @returns what it turned off; null: nothing is there */
  async #turnOff(serverId: string): Promise<Instance | null> {
    this.#running.delete(serverId)
    if (!(await this.#find(serverId))) return null
    // One that is away is not known to be off.
    const instance = await this.#get(serverId)
    // One whose creation broke off can't be written to, nor started.
    await this.#write(serverId, (found) => changed(found, powered('off'))).catch(unless('missing'))
    if (stateOf(instance).power === 'stopped') return instance
    await this.#power(serverId, { action: 'stop', force: true }).catch(unless('stopped'))
    this.#consoles.end(serverId)
    return instance
  }

  #power(serverId: string, body: { action: string; force?: boolean }) {
    return this.#operations.run('PUT', this.#path(serverId, '/state'), { body: { timeout: 30, ...body } })
  }

  /** Changes an instance as it is by then; null changes nothing. Tried again where somebody else was quicker. */
  async #write(serverId: string, change: (instance: Instance) => object | null): Promise<void> {
    for (let tries = 1; ; tries++) {
      const body = change(await this.#get(serverId))
      if (body === null) return
      try {
        await this.#operations.run('PUT', this.#path(serverId), { body })
        return
      } catch (error) {
        const isOthers =
          error instanceof IncusError && (error.refusal === 'changed' || error.refusal === 'busy')
        if (!isOthers || tries === TRIES) throw error
        await sleep(RETRY_MS * 2 ** tries)
      }
    }
  }

  #path(serverId: string, part = ''): string {
    return at(`/1.0/instances/${nameOf(serverId)}${part}`, { project: this.#settings.zone.project })
  }

  #instances(): Promise<Instance[]> {
    const { project } = this.#settings.zone
    return this.#client.get<Instance[]>(at('/1.0/instances', { project, recursion: '1' }))
  }

  /** From the list: a question to the instance itself waits for its member, which may be gone. */
  async #find(serverId: string): Promise<Instance | null> {
    const { project } = this.#settings.zone
    const query = { project, recursion: '1', filter: `name eq ${nameOf(serverId)}` }
    const [found] = await this.#client.get<Instance[]>(at('/1.0/instances', query))
    return found ?? null
  }

  /** One whose member answers. @throws DriverError not_found; IncusError */
  async #get(serverId: string): Promise<Instance> {
    const instance = await this.#find(serverId)
    if (!instance) throw new DriverError('not_found', 'The machine does not exist.')
    if (instance.config === null) throw new IncusError(0, 'The member of the machine does not answer')
    return instance
  }

  /** The state of a machine. While members are emptied or filled, what is off may only be on its way. */
  async #settled(serverId: string, instance: Instance): Promise<MachineState> {
    const state = stateOf(instance)
    if (!isByItself(state)) return state
    if (await this.#isMoving()) return { power: 'away', isMoving: true }
    const again = await this.#find(serverId)
    return again ? stateOf(again) : { power: 'absent' }
  }

  async #isMoving(): Promise<boolean> {
    const path = at('/1.0/operations', { recursion: '1', 'all-projects': 'true' })
    const byStatus = await this.#client.get<Record<string, { description: string }[]>>(path)
    const { pending = [], running = [] } = byStatus
    return [...pending, ...running].some(({ description }) => /evacuat|restor.*member/i.test(description))
  }

  /** Notes what a machine does, and tells the listeners where it turned off by itself. */
  #see(serverId: string, instance: Instance, state: MachineState): MachineState {
    const known = this.#running.get(serverId)
    if (state.power === 'running') {
      const { ports = [] } = networkOf(instance) ?? {}
      const ssh = ports.find(({ protocol, port }) => protocol === 'tcp' && port === SSH_PORT)
      const boot = { boot: state.startedAt, sshPort: ssh?.hostPort ?? null, hasPasst: false }
      if (known && known.boot !== boot.boot) this.#consoles.end(serverId)
      this.#running.set(serverId, Object.assign(known ?? boot, boot))
    } else if (state.power !== 'away' && this.#running.delete(serverId)) {
      this.#consoles.end(serverId)
      if (isByItself(state)) for (const listener of this.#listeners) listener(serverId)
    }
    return state
  }

  /** Something happened to an instance. */
  #hint(source: string): void {
    const name = /^\/1\.0\/(?:instances|containers)\/([^/?]+)/.exec(source)?.[1] ?? ''
    const serverId = serverIdOf(name)
    if (serverId === null || !this.#running.has(serverId) || this.#hinted.has(serverId)) return
    this.#hinted.add(serverId)
    const look = async () => {
      this.#hinted.delete(serverId)
      await this.inspect(serverId).catch(() => {})
    }
    setTimeout(look, HINT_MS).unref()
  }

  async #tend(): Promise<void> {
    if (this.#running.size === 0) return
    await this.list().catch(() => {}) // whoever needs it, hears of it
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw toDriverError(error)
    }
  }
}

function isByItself(state: MachineState): boolean {
  return state.power === 'stopped' && state.reason !== null
}
