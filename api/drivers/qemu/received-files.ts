import { chmod, constants, type FileHandle, link, open, rm, stat, truncate } from 'node:fs/promises'
import { KeyedMutex, Semaphore } from '../../concurrency.ts'
import { errorCode, syncFolder } from '../../files.ts'
import {
  type DiskFormat,
  headerOf,
  readFrom,
  requireDiskSize,
  requireIso,
  UnusableDisk,
} from '../disk-header.ts'
import { DriverError } from '../driver.ts'
import type { FileSpec, ImportState } from '../snapshots.ts'
import { diskFailure, virtualSize } from './disk.ts'
import { imageOwner } from './host/owner.ts'
import type { Room } from './host/room.ts'
import { qemuImg } from './images/qemu-img.ts'
import type { Context } from './launch.ts'
import { compress, give, type Packed, sha256Of } from './pack.ts'
import { diskBytes, type Shelf } from './snapshot-shelf.ts'

interface Job {
  bytes: number
  abort: AbortController
  /** Resolves when the work ends; never rejects. */
  work: Promise<void>
}

const CHECK_MS = 600_000
/** The largest copy, as a multiple of the file's size: a file that repeats its clusters could otherwise fill the host. */
const MOST_GROWTH = 2
const LEAST_BYTES = 64 * 2 ** 20
/** qemu-img found wasted space, which is harmless. */
const HAS_LEAKS = 3

/** Files of customers, who may be hostile: kept until they are whole, then checked and turned into images. */
export class ReceivedFiles {
  readonly #context: Pick<Context, 'log' | 'isWalled'>
  readonly #shelf: Shelf
  readonly #room: Room
  readonly #parts = new KeyedMutex()
  readonly #jobs = new Map<string, Job>()
  /** Failures that no call has returned yet. */
  readonly #failures = new Map<string, Extract<ImportState, { state: 'failed' }>>()
  /**
   * One file is read at a time. Each owner has at most one in the queue, so that nobody waits for all files of
   * another.
   */
  readonly #owners = new KeyedMutex()
  readonly #turns = new Semaphore(1)
  #isClosed = false

  constructor(context: Pick<Context, 'log' | 'isWalled'>, shelf: Shelf, room: Room) {
    this.#context = context
    this.#shelf = shelf
    this.#room = room
  }

  /** See Driver.receive. */
  receive(id: string, at: number, content: AsyncIterable<Buffer>): Promise<void> {
    return this.#parts.run(id, async () => {
      if (this.#jobs.has(id) || (await this.#shelf.ready(id))) return
      if (at === 0) await this.#shelf.beginFile(id)
      if (!(await this.#shelf.draft(id))) throw missing()
      const { dir, file } = this.#shelf.work(id)
      await using handle = await open(file, constants.O_RDWR | constants.O_CREAT, 0o600)
      if ((await handle.stat()).size < at) throw missing()
      await this.#room.require(0)
      await writeFrom(handle, at, content)
      if (at === 0) await syncFolder(dir)
    })
  }

  /** See Driver.importImage. */
  async import(id: string, spec: FileSpec): Promise<ImportState> {
    const job = this.#jobs.get(id)
    if (job) return { state: 'copying', progress: await this.#progress(id, job) }
    const ready = await this.#shelf.ready(id)
    if (ready) return ready
    const failure = this.#failures.get(id)
    if (failure) {
      this.#failures.delete(id)
      return failure
    }
    if (!(await this.#shelf.draft(id))) throw missing()
    if (!this.#isClosed && !this.#jobs.has(id)) this.#begin(id, spec)
    return { state: 'copying', progress: 0 }
  }

  /** Ends the work on a file, which stays. */
  async end(id: string): Promise<void> {
    const job = this.#jobs.get(id)
    this.#failures.delete(id)
    this.#jobs.delete(id)
    job?.abort.abort()
    await job?.work
  }

  /** Ends all work; the next process begins it anew. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#jobs.keys()].map((id) => this.end(id)))
  }

  #begin(id: string, spec: FileSpec): void {
    const job: Job = { bytes: spec.bytes, abort: new AbortController(), work: Promise.resolve() }
    this.#jobs.set(id, job)
    void this.#owners.run(spec.owner, async () => {
      // A part that is being received may come twice; nothing may change the file once it is checked.
      await this.#parts.run(id, async () => {})
      await this.#turns.run(() => {
        if (job.abort.signal.aborted) return
        job.work = this.#work(id, spec, job)
          .catch((error: unknown) => this.#fail(id, job, error))
          .finally(() => this.#jobs.get(id) === job && this.#jobs.delete(id))
        return job.work
      })
    })
  }

  async #work(id: string, { bytes, sha256, isIso }: FileSpec, { abort }: Job): Promise<void> {
    const { signal } = abort
    const { file, disk: target } = this.#shelf.work(id)
    if ((await stat(file)).size < bytes) throw missing()
    await truncate(file, bytes)
    const found = sha256 === null ? null : await sha256Of(file, signal)
    if (found !== sha256)
      throw new UnusableDisk(`The SHA-256 of the file is ${found}, not ${sha256}. Upload it again.`)
    if (isIso) return this.#keepIso(id, { bytes, sha256: found ?? (await sha256Of(file, signal)) })
    const { format, virtualSizeBytes } = await headerOf(file)
    requireDiskSize(virtualSizeBytes)
    const data = Math.min(virtualSizeBytes, bytes * MOST_GROWTH + LEAST_BYTES)
    await this.#room.require(Math.min(virtualSizeBytes, bytes))
    const unwatch = this.#room.watch((error) => abort.abort(error))
    try {
      const packed = await this.#pack({ file, format, target, data }, signal)
      const made = (await virtualSize(target)) ?? 0
      requireDiskSize(made)
      const facts = { serverId: '', virtualSizeBytes: made, consistency: 'crash', direct: null } as const
      await this.#shelf.publish(id, { ...facts, ...packed })
    } finally {
      unwatch()
    }
  }

  /** Keeps an ISO as it came: only a guest reads more than its first bytes. */
  async #keepIso(id: string, packed: Packed): Promise<void> {
    const { file, iso } = this.#shelf.work(id)
    await readFrom(file, requireIso)
    await rm(iso, { force: true })
    await link(file, iso)
    await chmod(iso, 0o444)
    const facts = { serverId: '', consistency: 'crash', direct: null, isIso: true } as const
    await this.#shelf.publish(id, { ...facts, virtualSizeBytes: packed.bytes, ...packed })
  }

  /** Copies a disk without its header, by a program that has no rights, no network and no files but these two. */
  async #pack(
    { file, format, target, data }: { file: string; format: DiskFormat; target: string; data: number },
    signal: AbortSignal,
  ): Promise<Packed> {
    const owner = imageOwner()
    await give(file, owner)
    const backing = format === 'qcow2' || format === 'vmdk' ? { backing: null } : {}
    const disk = { driver: format, file: { driver: 'file', filename: file }, ...backing }
    const walls = { owner, signal, isAlone: this.#context.isWalled }
    try {
      if (format === 'qcow2')
        await qemuImg(['check', '-q', `json:${JSON.stringify(disk)}`], {
          ...walls,
          timeoutMs: CHECK_MS,
        }).catch(unlessLeaks)
      return await compress(disk, target, { ...walls, mostBytes: data })
    } catch (error) {
      signal.throwIfAborted()
      throw refusal(error)
    }
  }

  async #fail(id: string, { abort }: Job, error: unknown): Promise<void> {
    const { log } = this.#context
    // An abort from outside is no failure, unless its reason is that the host's disk is full.
    const cause: unknown = abort.signal.aborted ? abort.signal.reason : error
    if (abort.signal.aborted && !(cause instanceof DriverError)) return
    log.warn({ image_id: id, err: cause }, 'A file did not become an image')
    const isUnusable = cause instanceof UnusableDisk
    const code = isUnusable ? 'unusable' : isFull(cause) ? 'disk_full' : 'failed'
    const message = isUnusable ? cause.message : String(cause).slice(0, 500)
    this.#failures.set(id, { state: 'failed', code, message })
    await this.#shelf
      .forget(id)
      .catch((failure: unknown) => log.error({ image_id: id, err: failure }, 'A file was not removed'))
  }

  async #progress(id: string, { bytes }: Job): Promise<number> {
    return Math.min((await diskBytes(this.#shelf.work(id).disk)) / Math.max(bytes, 1), 0.99)
  }
}

function missing(): DriverError {
  return new DriverError('not_found', 'The first part of the file is not on this host')
}

/** @throws DriverError disk_full; the content's own error */
async function writeFrom(handle: FileHandle, at: number, content: AsyncIterable<Buffer>): Promise<void> {
  let place = at
  for await (const bytes of content)
    for (let done = 0; done < bytes.length; ) {
      const written = handle.write(bytes, done, bytes.length - done, place)
      const { bytesWritten } = await written.catch((error: unknown) => Promise.reject(diskFailure(error)))
      done += bytesWritten
      place += bytesWritten
    }
  await handle.sync()
}

function isFull(error: unknown): boolean {
  return error instanceof DriverError && error.code === 'disk_full'
}

function unlessLeaks(error: unknown): void {
  if (Number(errorCode(error)) !== HAS_LEAKS) throw error
}

/** Returns the error for the customer if the file is at fault, or else the error itself. */
function refusal(error: unknown): unknown {
  const isKilled = error instanceof Error && 'signal' in error && error.signal
  if (isKilled || /File too large/.test(String(error)))
    return new UnusableDisk(
      'The image takes too much time or space to unpack. Convert it first: qemu-img convert -O qcow2.',
    )
  const isRefused = Number.isInteger(Number(errorCode(error)))
  if (isRefused || (error instanceof DriverError && error.code === 'image_unusable'))
    return new UnusableDisk(
      'The image is damaged or unusual. Try it with qemu-img check, or convert it first: qemu-img convert -O qcow2.',
    )
  return error
}
