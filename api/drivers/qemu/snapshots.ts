import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { KeyedMutex } from '../../concurrency.ts'
import { CopyTurns } from '../copy-turns.ts'
import { DriverError, type MachineState } from '../driver.ts'
import {
  type FileSpec,
  type ImportState,
  isSnapshot,
  type SnapshotSpec,
  type SnapshotState,
  type VerifyState,
} from '../snapshots.ts'
import type { BootingMachines } from './booting.ts'
import { dataBytes } from './data-size.ts'
import { packDifference } from './difference.ts'
import { machineOwner } from './host/owner.ts'
import { Room } from './host/room.ts'
import type { StoredImage } from './images/images.ts'
import type { Context } from './launch.ts'
import type { Machine } from './machine.ts'
import { copyLimits, pack, type Source, sha256Of } from './pack.ts'
import { ReceivedFiles } from './received-files.ts'
import { ShelfFiles } from './snapshot-files.ts'
import { type Draft, diskBytes, type Manifest, Shelf } from './snapshot-shelf.ts'
import { Trials } from './trials.ts'

type Stage = 'copying' | 'packing'

interface Job {
  serverId: string
  stage: Stage
  /** The stage's progress, from 0 to 1. */
  progress: number
  /** The bytes that are being packed. */
  bytes: number
  abort: AbortController
  /** Never fails. */
  done: Promise<void>
}

/** The comparison of a snapshot with its hash. */
interface Reading {
  abort: AbortController
  /** The result; null: it is being read. */
  found: VerifyState | null
  /** Never fails. */
  done: Promise<void>
}

interface Options {
  context: Context
  booting: BootingMachines
  machine: (serverId: string) => Machine
  inspect: (serverId: string) => Promise<MachineState>
  /** Free disk space that copies leave to guests, in bytes (default: 5 % of the disk, at most 20 GiB). */
  reserveBytes?: number
}

const POLL_MS = 200
/** A machine on a busy host may fail to answer this many calls in a row. */
const MOST_SILENT = 20
/** The share of the progress that the copy takes before it is packed. */
const COPYING_SHARE = 0.3

/** Aborts the work of this process; the next one continues it. */
const CLOSED = new Error('The service ends')
const REMOVED = new Error('The snapshot was removed')
const TOO_SLOW = new Error('The copy of the disk took too long')
const GIB = 2 ** 30

/** Copies disks of machines: one at a time, so that guests keep the disk to themselves, and owners in turn. */
export class Snapshots {
  readonly #options: Options
  readonly #shelf: Shelf
  readonly #room: Room
  readonly #files: ReceivedFiles
  readonly #jobs = new Map<string, Job>()
  /** Failures that nobody has asked about yet. */
  readonly #failures = new Map<string, Extract<SnapshotState, { state: 'failed' }>>()
  readonly #readings = new Map<string, Reading>()
  readonly #turns: CopyTurns
  /** See Driver.snapshotFiles. */
  readonly files: ShelfFiles
  readonly trials: Trials
  /** Keeps a snapshot from being removed while a disk is created from it. */
  readonly #uses = new KeyedMutex()
  /** Removed snapshots that disks are based on. */
  readonly #hidden = new Set<string>()
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
    const { dataDir } = options.context.layout
    this.#shelf = new Shelf(options.context.layout)
    this.#room = new Room(dataDir, options.reserveBytes)
    this.#turns = new CopyTurns(options.context.clock)
    this.#files = new ReceivedFiles(options.context, this.#shelf, this.#room)
    const { context, booting } = options
    const use: Snapshots['use'] = (id, work) => this.use(id, work)
    this.trials = new Trials({ context, booting, use, room: this.#room })
    this.files = new ShelfFiles({
      shelf: this.#shelf,
      requireRoom: (bytes) => this.#room.require(bytes),
      hold: (id, work) => this.#uses.run(id, work),
    })
  }

  /** Removes what an earlier process of the service left behind. */
  async adopt(): Promise<void> {
    await this.trials.adopt()
    await this.#shelf.tidy()
    for (const id of await this.#shelf.hidden()) await this.#sweep(id)
  }

  /** See Driver.snapshot. */
  async state(serverId: string, id: string, baseId?: string): Promise<SnapshotState> {
    const job = this.#jobs.get(id)
    if (job) return { state: 'copying', progress: await this.#progress(id, job) }
    const ready = await this.#shelf.ready(id)
    if (ready) return ready
    const failure = this.#failures.get(id)
    if (failure) {
      this.#failures.delete(id)
      return failure
    }
    const known = await this.#shelf.draft(id)
    if (!known && (await this.#options.inspect(serverId)).power === 'absent')
      throw new DriverError('not_found', 'The machine does not exist')
    const record = known ? null : await this.#options.machine(serverId).readRecord()
    const begun = { serverId, direct: record?.direct ?? null, ...(baseId !== undefined && { baseId }) }
    const draft = known ?? (await this.#shelf.begin(id, begun))
    if (!this.#isClosed && !this.#jobs.has(id)) this.#begin(id, draft)
    return { state: 'copying', progress: 0 }
  }

  /** See Driver.receive. */
  receive(id: string, at: number, content: AsyncIterable<Buffer>): Promise<void> {
    return this.#files.receive(id, at, content)
  }

  /** See Driver.importImage. An image shares the files of its snapshot, so that takes no time. */
  async import(id: string, source: SnapshotSpec | FileSpec): Promise<ImportState> {
    const ready = () => this.#shelf.ready(id)
    if (!isSnapshot(source)) return this.#files.import(id, source)
    const { snapshotId } = source
    const made =
      (await ready()) ??
      (await this.#uses.run(snapshotId, () => this.#shelf.share(snapshotId, id).then(ready)))
    if (!made) throw new DriverError('not_found', 'The snapshot does not exist')
    return made
  }

  /** See Driver.removeSnapshot. */
  async remove(id: string): Promise<void> {
    const job = this.#jobs.get(id)
    job?.abort.abort(REMOVED)
    await job?.done
    await this.#files.end(id)
    this.#failures.delete(id)
    await this.#giveUp(id)
    await this.#shelf.hide(id)
    await this.#sweep(id)
  }

  /** See Driver.verifySnapshot. */
  async verify(id: string): Promise<VerifyState> {
    const known = this.#readings.get(id)
    if (known) {
      if (known.found) this.#readings.delete(id)
      return known.found ?? { state: 'reading' }
    }
    const reading: Reading = { abort: new AbortController(), found: null, done: Promise.resolve() }
    if (this.#isClosed) return { state: 'reading' }
    this.#readings.set(id, reading)
    reading.done = this.#compare(id, reading.abort.signal).then(
      (found) => {
        reading.found = found
      },
      // A disk that can't be read counts as damaged.
      (error: unknown) => {
        if (reading.abort.signal.aborted) this.#readings.delete(id)
        else reading.found = { state: 'damaged', message: String(error).slice(0, 500) }
      },
    )
    return { state: 'reading' }
  }

  async #compare(id: string, signal: AbortSignal): Promise<VerifyState> {
    const manifest = await this.#shelf.find(id)
    if (!manifest) return { state: 'damaged', message: 'The snapshot is missing' }
    await this.#turns.acquire('the service itself', signal)
    try {
      for (const [file, expected] of this.#shelf.hashes(id, manifest)) {
        const sha256 = await sha256Of(file, signal)
        if (sha256 !== expected)
          return { state: 'damaged', message: `The hash of ${file} is ${sha256}, not ${expected}` }
      }
      return { state: 'intact' }
    } finally {
      this.#turns.release(true)
    }
  }

  /** See Driver.listSnapshots. */
  async list(ids?: readonly string[]): ReturnType<Shelf['list']> {
    const all = await this.#shelf.list()
    return ids ? new Map([...all].filter(([id]) => ids.includes(id))) : all
  }

  /**
   * Lets a disk be created from a snapshot, which stays until its machine's record names it.
   * @throws DriverError not_found
   */
  use<T>(id: string, work: (image: () => Promise<StoredImage>) => Promise<T>): Promise<T> {
    return this.#uses.run(id, () =>
      work(async () => {
        const image = await this.#shelf.image(id)
        if (!image) throw new DriverError('not_found', 'The snapshot does not exist')
        return image
      }),
    )
  }

  /** Lets an ISO be put into a drive. @throws DriverError not_found */
  useIso(id: string, work: (iso: { id: string; file: string }) => Promise<void>): Promise<void> {
    return this.#uses.run(id, async () => {
      const file = await this.#shelf.isoOf(id)
      if (file === null) throw new DriverError('not_found', 'The ISO does not exist')
      await work({ id, file })
    })
  }

  /** Removes a hidden snapshot once its last disk is gone. @param base the base of a disk that was removed */
  async released(base: string): Promise<void> {
    const id = this.#shelf.idOf(base)
    if (id !== null && this.#hidden.has(id)) await this.#sweep(id)
  }

  /** Stops the work; QEMU goes on copying, and the next process finds it. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.trials.close()
    const work = [...this.#jobs.values(), ...this.#readings.values()]
    for (const { abort } of work) abort.abort(CLOSED)
    await Promise.all([...work.map(({ done }) => done), this.#files.close()])
  }

  async #sweep(id: string): Promise<void> {
    await this.#uses.run(id, async () => {
      if ((await this.#shelf.find(id)) !== null) return
      if ((await this.#shelf.sweep(id)) === 'kept') this.#hidden.add(id)
      else this.#hidden.delete(id)
    })
  }

  #begin(id: string, draft: Draft): void {
    const abort = new AbortController()
    const { serverId } = draft
    const job: Job = { serverId, stage: 'copying', progress: 0, bytes: 0, abort, done: Promise.resolve() }
    this.#jobs.set(id, job)
    job.done = this.#work(id, job, draft)
      .catch((error: unknown) => this.#fail(id, job, error))
      .finally(() => this.#jobs.delete(id))
  }

  async #fail(id: string, { serverId, abort }: Job, error: unknown): Promise<void> {
    const { log } = this.#options.context
    if (abort.signal.reason === CLOSED || abort.signal.reason === REMOVED) return
    // Programs that were aborted do not report why.
    const cause: unknown = abort.signal.aborted ? abort.signal.reason : error
    log.error({ server_id: serverId, snapshot_id: id, err: cause }, 'The disk was not copied')
    const isFull = cause instanceof DriverError && cause.code === 'disk_full'
    const code = isFull ? 'disk_full' : cause === TOO_SLOW ? 'slow' : 'failed'
    this.#failures.set(id, { state: 'failed', code, message: String(cause).slice(0, 500) })
    await this.#giveUp(id).catch((failure: unknown) =>
      log.error({ snapshot_id: id, err: failure }, 'The rest of a copy was not removed'),
    )
  }

  async #work(id: string, job: Job, draft: Draft): Promise<void> {
    const { signal } = job.abort
    const record = await this.#options.machine(draft.serverId).readRecord()
    await this.#turns.acquire(record?.spec.owner ?? draft.serverId, signal)
    const mostBytes = record ? record.spec.diskGb * GIB : draft.virtualSizeBytes
    const stop = this.#turns.limit(copyLimits(mostBytes).timeoutMs, () => job.abort.abort(TOO_SLOW))
    let unwatch = () => {}
    let isMade = false
    try {
      await this.#room.require(await this.#peakOf(id, draft.serverId, record?.base ?? null))
      // Guests come first: the copy is aborted before it takes space that they may need.
      unwatch = this.#room.watch((error) => job.abort.abort(error))
      await this.#copy(id, job, draft)
      isMade = true
    } finally {
      unwatch()
      stop()
      this.#turns.release(isMade)
    }
  }

  async #copy(id: string, job: Job, draft: Draft): Promise<void> {
    const { whole } = this.#shelf.work(id)
    const { signal } = job.abort
    let silent = 0
    for (;;) {
      signal.throwIfAborted()
      const machine = this.#options.machine(draft.serverId)
      if ((await diskBytes(whole)) > 0) {
        // The service may have been killed before it removed the job. A QEMU that is silent keeps it for the next copy.
        await machine.cancelCopy(id).catch(() => {})
        const noted = (await this.#shelf.draft(id)) ?? draft
        return this.#pack(id, job, noted, { file: whole, base: null, owner: this.#ownerOf(draft.serverId) })
      }
      const note = (facts: Partial<Draft>) => this.#shelf.note(id, { ...draft, ...facts })
      const step = await machine.copy({ id, whole, note })
      if (step === 'absent') throw new Error('The machine was deleted before its disk was copied')
      silent = step === 'hung' ? silent + 1 : 0
      if (silent > MOST_SILENT) throw new DriverError('unavailable', 'The machine does not respond')
      if (step === 'off') {
        const isPacked = await machine.readDisk(signal, ({ source, ...facts }, reading) =>
          this.#pack(id, job, { ...draft, ...facts }, source, reading),
        )
        if (isPacked) return
      } else if (step !== 'whole') {
        if (step !== 'hung') job.progress = step
        await sleep(POLL_MS, undefined, { signal })
      }
    }
  }

  async #pack(
    id: string,
    job: Job,
    draft: Draft,
    source: Omit<Source, 'virtualSizeBytes'>,
    signal = job.abort.signal,
  ): Promise<void> {
    const { virtualSizeBytes } = draft
    Object.assign(job, { stage: 'packing', progress: 0, bytes: await diskBytes(source.file) })
    const whole = { ...source, virtualSizeBytes }
    const packed =
      (await this.#packDifference(id, draft, whole, signal)) ??
      (await pack(whole, this.#shelf.work(id).disk, signal))
    await this.#shelf.publish(id, { ...draft, ...packed })
  }

  /** @returns null if a full copy has to be made */
  async #packDifference(
    id: string,
    draft: Draft,
    source: Source,
    signal: AbortSignal,
  ): Promise<Pick<Manifest, 'bytes' | 'sha256' | 'base'> | null> {
    const { baseId = id } = draft
    const base = await this.#uses.run(baseId, () => this.#shelf.addBase(id, draft))
    const { difference, disk } = this.#shelf.work(id)
    const { log, layout } = this.#options.context
    const places = { folder: layout.dataDir, draft: difference, target: disk }
    const packed =
      base &&
      (await packDifference(source, base, places, signal).catch((error: unknown) => {
        if (signal.aborted || (error instanceof DriverError && error.code === 'disk_full')) throw error
        // The full copy may be damaged, which must not prevent the next one.
        log.error({ snapshot_id: id, err: error }, 'A difference was not made; a full copy replaces it')
        return null
      }))
    if (base && packed) return { ...packed, base }
    // An interrupted attempt may have left these files.
    await rm(difference, { force: true })
    await this.#shelf.dropBase(id)
    return null
  }

  async #progress(id: string, job: Job): Promise<number> {
    if (job.stage === 'copying') return job.progress * COPYING_SHARE
    const packed = (await diskBytes(this.#shelf.work(id).disk)) / Math.max(job.bytes, 1)
    return Math.min(COPYING_SHARE + packed * (1 - COPYING_SHARE), 0.99)
  }

  #ownerOf(serverId: string) {
    return this.#options.context.ownUsers ? machineOwner(serverId) : null
  }

  /** Ends a copy in QEMU and removes its files. */
  async #giveUp(id: string): Promise<void> {
    const draft = await this.#shelf.draft(id)
    if (draft?.serverId) await this.#options.machine(draft.serverId).cancelCopy(id)
    await this.#shelf.forget(id)
  }

  /** The bytes that a copy takes at its peak: a running machine's disk is copied whole before it is compressed. */
  async #peakOf(id: string, serverId: string, base: string | null): Promise<number> {
    const kept = await diskBytes(this.#shelf.work(id).whole)
    if (kept > 0) return kept
    const { disk } = this.#options.machine(serverId).files
    const data = await dataBytes(disk, base, this.#ownerOf(serverId))
    return (await this.#options.inspect(serverId)).power === 'stopped' ? data : 2 * data
  }
}
