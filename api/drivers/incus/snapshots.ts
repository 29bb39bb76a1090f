import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../message-of.ts'
import { DriverError, hasDisk, type MachineSpec } from '../driver.ts'
import type { Log } from '../log.ts'
import type { SnapshotDriver, SnapshotState, VerifyState } from '../snapshots.ts'
import { at } from './client.ts'
import { IncusError, isPassing, toDriverError, unless } from './errors.ts'
import { copyOf, diskGbOf, diskOf, type Instance, nameOf, newInstance, stripped } from './instance.ts'
import type { Instances } from './instances.ts'
import type { Parts } from './parts.ts'
import { clearSeedPaths } from './seed-paths.ts'

/** Snapshots that are ready. They are instances that never start, so they outlive the machine. */
export const READY = 's-'
/** Prefixes of unfinished snapshots and machines: each attempt has its own instance, and renames it once complete. */
export const DRAFTS = { snapshot: 'd-', machine: 't-' } as const
const ATTEMPT = /-[0-9a-f]{6}$/

/** The time limit of a copy, which takes long between members. */
const COPY_MS = 6 * 3600_000
/** The time for which a call waits for the moment of a snapshot, a new machine, the end of an attempt, or a count. */
const WAIT_MS = { moment: 10_000, machine: 60_000, end: 10_000, count: 500 }
const LOOK_MS = 200
const GIB = 2 ** 30

interface SnapshotParts extends Parts {
  instances: Instances
  log: Log
  /** True if snapshots are copied off site as exports. */
  areExported: boolean
}

/** A copy that this process makes. */
interface Job {
  isCanceled: boolean
  /** The failure, which the next call reports. */
  error: unknown
  isEnded: boolean
  /** Resolve when the copied moment is fixed, and when the job has ended; neither rejects. */
  begun: Promise<void>
  ended: Promise<void>
}

/**
 * Copies of machines within the cluster's storage, which shares their blocks where it can. The cluster alone keeps their
 * state. Incus may leave half a copy behind when it is killed, so only a copy that was renamed counts.
 */
export class IncusSnapshots {
  readonly #parts: SnapshotParts
  readonly #jobs = new Map<string, Job>()
  #keptGb = 0
  #counting: Promise<void> | null = null

  constructor(parts: SnapshotParts) {
    this.#parts = parts
  }

  /** Does as Driver.snapshot. @throws DriverError, IncusError */
  async snapshot(serverId: string, snapshotId: string): Promise<SnapshotState> {
    const key = DRAFTS.snapshot + nameable(snapshotId)
    const ready = await this.#named(READY + snapshotId)
    if (ready?.config === null) throw new IncusError(0, 'The member of the snapshot does not answer')
    if (ready) {
      this.#jobs.delete(key)
      await this.#deleteMoment(nameOf(serverId), READY + snapshotId)
      const diskGb = diskGbOf(ready)
      const form = this.#parts.areExported ? { isExported: true as const } : { isOpaque: true as const }
      return { state: 'ready', bytes: diskGb * GIB, diskGb, consistency: 'filesystem', ...form }
    }
    const machine = await this.#parts.instances.get(serverId)
    const job = await this.#begin(key, (going, begun) => this.#copy(going, machine, snapshotId, begun))
    if (job) await Promise.race([job.begun, sleep(WAIT_MS.moment, undefined, { ref: false })])
    if (!job?.isEnded || job.error === null) return { state: 'copying', progress: 0.5 }
    this.#jobs.delete(key)
    if (isPassing(job.error)) throw job.error
    await this.remove(snapshotId)
    const failure = toDriverError(job.error)
    const isFull = failure instanceof DriverError && failure.code === 'disk_full'
    return { state: 'failed', code: isFull ? 'disk_full' : 'failed', message: messageOf(job.error) }
  }

  /** Removes a snapshot, or its unfinished parts. @throws IncusError if Incus is still making it */
  async remove(snapshotId: string): Promise<void> {
    const [ready, drafts] = [READY + snapshotId, DRAFTS.snapshot + snapshotId]
    await this.#cancel(drafts)
    const isOurs = (name: string) => name === ready || isAttempt(name, drafts)
    await this.#idle(drafts)
    for (const { instance, moment } of await this.#volumes())
      if (moment === null && isOurs(instance)) await this.#delete(instance)
      else if (moment !== null && isOurs(moment)) await this.#deleteMoment(instance, moment)
  }

  /** Does as Driver.listSnapshots. @throws IncusError */
  async list(snapshotIds?: readonly string[]): ReturnType<SnapshotDriver<never>['listSnapshots']> {
    const instances = new Map((await this.#parts.instances.list()).map((one) => [one.name, one]))
    const found = new Map<string, { isReady: boolean; bytes: number }>()
    for (const { instance, moment } of await this.#volumes()) {
      const id = idOf(moment ?? instance)
      if (id === null || (snapshotIds && !snapshotIds.includes(id))) continue
      const ready = moment === null ? instances.get(READY + id) : undefined
      if (ready) found.set(id, { isReady: true, bytes: diskGbOf(ready) * GIB })
      else if (!found.has(id)) found.set(id, { isReady: false, bytes: 0 })
    }
    return found
  }

  /** Does as Driver.verifySnapshot, but can only check that the snapshot exists. @throws IncusError */
  async verify(snapshotId: string): Promise<VerifyState> {
    const isThere = (await this.#named(READY + nameable(snapshotId))) !== null
    return isThere ? { state: 'exported' } : { state: 'damaged', message: 'It is missing in its cluster' }
  }

  /** Returns the sum of the disks of all snapshots in GB, or the last known sum if the answer is late. */
  async keptGb(): Promise<number> {
    this.#counting ??= this.#count().finally(() => {
      this.#counting = null
    })
    await Promise.race([this.#counting, sleep(WAIT_MS.count, undefined, { ref: false })])
    return this.#keptGb
  }

  async #count(): Promise<void> {
    const all = await this.#parts.instances.list().catch(() => null)
    const kept = all?.filter(({ name }) => name.startsWith(READY))
    if (kept) this.#keptGb = kept.reduce((sum, one) => sum + diskGbOf(one), 0)
  }

  /**
   * Creates a machine from a snapshot. A copy that takes longer continues, and a later call finds the machine.
   * @throws DriverError not_found
   * @throws IncusError also while it is still being copied
   */
  async make(spec: MachineSpec, snapshotId: string): Promise<void> {
    const source = await this.#named(READY + nameable(snapshotId))
    if (!source) throw new DriverError('not_found', 'No such snapshot.')
    if (source.config === null) throw new IncusError(0, 'The member of the snapshot does not answer')
    const key = DRAFTS.machine + spec.serverId
    const job = await this.#begin(key, (going) => this.#clone(going, spec, source))
    if (job) await Promise.race([job.ended, sleep(WAIT_MS.machine, undefined, { ref: false })])
    if (!job?.isEnded) throw new IncusError(0, 'The disk of the machine is still being copied')
    this.#jobs.delete(key)
    if (job.error !== null) throw job.error
  }

  /** Removes the remains of an unfinished machine from a snapshot. @param olderThan as in Driver.destroy */
  async abandon(serverId: string, olderThan?: string): Promise<void> {
    const key = DRAFTS.machine + serverId
    const drafts = (await this.#parts.instances.list()).filter(({ name }) => isAttempt(name, key))
    if (drafts.some((draft) => hasDisk(diskOf(draft), olderThan))) return
    if (drafts.length === 0 && !this.#jobs.has(key)) return
    await this.#cancel(key)
    await this.#idle(key)
    for (const { name } of drafts) await this.#delete(name)
  }

  /** Begins or finds a job. @returns null: another process makes this copy, or did so a moment ago */
  async #begin(key: string, run: (job: Job, begun: () => void) => Promise<void>): Promise<Job | null> {
    // A call that looked before the end of a job finds nothing to do.
    const isOver = (job: Job | undefined) => !job || (job.isEnded && job.error === null)
    const known = this.#jobs.get(key)
    if (!isOver(known)) return known ?? null
    if (await this.#isGoing(key)) return null
    const quicker = this.#jobs.get(key)
    if (!isOver(quicker)) return quicker ?? null
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const both = { begun: begun.promise, ended: ended.promise }
    const job: Job = { isCanceled: false, error: null, isEnded: false, ...both }
    this.#jobs.set(key, job)
    const end = (error: unknown) => {
      Object.assign(job, { error, isEnded: true })
      begun.resolve()
      ended.resolve()
    }
    run(job, begun.resolve).then(() => end(null), end)
    return job
  }

  async #cancel(key: string): Promise<void> {
    const job = this.#jobs.get(key)
    if (!job) return
    job.isCanceled = true
    await Promise.race([job.ended, sleep(WAIT_MS.end, undefined, { ref: false })])
    if (job.isEnded) this.#jobs.delete(key)
  }

  /** Copies a machine as it is at one moment, which Incus fixes first by a snapshot of its own. */
  async #copy(job: Job, machine: Instance, snapshotId: string, begun: () => void): Promise<void> {
    const { name, location, architecture } = machine
    const [ready, drafts] = [READY + snapshotId, DRAFTS.snapshot + snapshotId]
    const moments = (await this.#volumes()).filter(({ instance }) => instance === name)
    for (const { moment } of moments)
      if (moment !== null && isAttempt(moment, drafts)) await this.#deleteMoment(name, moment)
    if (!moments.some(({ moment }) => moment === ready)) await this.#fix(name, attempt(drafts), ready)
    begun()
    const draft = attempt(drafts)
    const body = { ...copyOf(machine), name: draft, architecture }
    const source = { type: 'copy', source: `${name}/${ready}` }
    await this.#clean(drafts)
    await this.#run(at('/1.0/instances', { project: this.#project, target: targetOf(location) }), {
      ...body,
      source,
    })
    const copied = await this.#named(draft)
    if (!copied) throw new IncusError(0, 'The copy is gone')
    const { client, operations } = this.#parts
    await clearSeedPaths({ client, name: draft, project: this.#project })
    await operations.run('PUT', this.#path(draft), { body: stripped(copied) })
    await this.#publish(job, draft, ready)
  }

  async #fix(instance: string, draft: string, moment: string): Promise<void> {
    await this.#run(this.#path(instance, '/snapshots'), { name: draft, stateful: false })
    await this.#run(this.#path(instance, `/snapshots/${draft}`), { name: moment }).catch(unless('exists'))
  }

  async #clone(job: Job, spec: MachineSpec, source: Instance): Promise<void> {
    const { instances, members, zone } = this.#parts
    const drafts = DRAFTS.machine + spec.serverId
    await this.#clean(drafts)
    const diskGb = Math.max(spec.diskGb, diskGbOf(source))
    const { storage_pool: storagePool, nameservers } = zone
    const { target, done } = await members.place(await instances.list(), spec)
    const draft = attempt(drafts)
    try {
      await this.#run(at('/1.0/instances', { project: this.#project, target }), {
        ...newInstance({ ...spec, diskGb }, { storagePool, nameservers }),
        ...{ name: draft, architecture: source.architecture },
        source: { type: 'copy', source: source.name },
      })
    } finally {
      done()
    }
    await this.#publish(job, draft, nameOf(spec.serverId))
  }

  /** Renames a complete copy to its final name, unless another process was faster or the job was canceled. */
  async #publish(job: Job, draft: string, name: string): Promise<void> {
    if (!job.isCanceled) await this.#run(this.#path(draft), { name }).catch(unless('exists'))
    if (await this.#named(draft)) await this.#delete(draft)
  }

  /** Deletes the instances of attempts that nobody continues. */
  async #clean(drafts: string): Promise<void> {
    for (const { name } of await this.#parts.instances.list())
      if (isAttempt(name, drafts)) await this.#delete(name)
  }

  /** Waits until Incus has ended the attempts at a copy. @throws IncusError */
  async #idle(drafts: string): Promise<void> {
    const deadline = performance.now() + WAIT_MS.end
    while (await this.#isGoing(drafts)) {
      if (performance.now() > deadline) throw new IncusError(0, 'A copy is still being made')
      await sleep(LOOK_MS)
    }
  }

  /** True if Incus is making such a copy, even for a process that is gone. */
  async #isGoing(drafts: string): Promise<boolean> {
    const path = at('/1.0/operations', { recursion: '1', project: this.#project })
    const byStatus = await this.#parts.client.get<Record<string, { resources: unknown }[]>>(path)
    const { pending = [], running = [] } = byStatus
    return [...pending, ...running].some(({ resources }) =>
      JSON.stringify(resources ?? '').includes(`/${drafts}-`),
    )
  }

  /** The volumes of instances, and of their snapshots. */
  async #volumes(): Promise<{ instance: string; moment: string | null }[]> {
    const path = `/1.0/storage-pools/${this.#parts.zone.storage_pool}/volumes/container`
    const urls = await this.#parts.client.get<string[]>(at(path, { project: this.#project }))
    return urls.map((url) => {
      const name = decodeURIComponent(url.split('?')[0]?.split('/volumes/container/')[1] ?? '')
      const [instance = '', moment = null] = name.replace('/snapshots/', '/').split('/')
      return { instance, moment }
    })
  }

  async #named(name: string): Promise<Instance | null> {
    const query = { project: this.#project, recursion: '1', filter: `name eq ${name}` }
    const [found] = await this.#parts.client.get<Instance[]>(at('/1.0/instances', query))
    return found ?? null
  }

  async #delete(name: string): Promise<void> {
    await this.#parts.operations.run('DELETE', this.#path(name)).catch(unless('missing'))
  }

  async #deleteMoment(instance: string, moment: string): Promise<void> {
    const path = this.#path(instance, `/snapshots/${moment}`)
    await this.#parts.operations.run('DELETE', path).catch(unless('missing'))
  }

  async #run(path: string, body: object): Promise<void> {
    await this.#parts.operations.run('POST', path, { body, waitMs: COPY_MS })
  }

  #path(name: string, part = ''): string {
    return at(`/1.0/instances/${name}${part}`, { project: this.#project })
  }

  get #project(): string {
    return this.#parts.zone.project
  }
}

/** @throws DriverError not_found if the id can't be part of an instance's name */
export function nameable(snapshotId: string): string {
  nameOf(snapshotId)
  return snapshotId
}

export function attempt(drafts: string): string {
  return `${drafts}-${randomBytes(3).toString('hex')}`
}

export function isAttempt(name: string, drafts: string): boolean {
  return ATTEMPT.test(name) && name.replace(ATTEMPT, '') === drafts
}

/** Returns the snapshot that a name belongs to; null: it belongs to none. */
function idOf(name: string): string | null {
  if (name.startsWith(READY)) return name.slice(READY.length)
  if (!name.startsWith(DRAFTS.snapshot) || !ATTEMPT.test(name)) return null
  return name.slice(DRAFTS.snapshot.length).replace(ATTEMPT, '')
}

/** Without a cluster, all instances have the location `none`. */
export function targetOf(location: string): string | undefined {
  return location === 'none' ? undefined : location
}
