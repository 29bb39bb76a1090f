import { link, mkdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { type Clock, systemClock } from '../../../clock.ts'
import type { ImageLog, ImageSource, ImageSpec, ImageState, OnProgress, Preparing } from '../../images.ts'
import { sha256Of } from './checksum.ts'
import { ImageDirectory } from './directory.ts'
import { type DownloadLimits, downloadLimits, requireRoom } from './download.ts'
import type { ImageStore, StoredImage } from './images.ts'
import { convertRaw, ImageError, inspectImage, inspectIso, toGb } from './inspect.ts'
import {
  describe,
  fetchSource,
  type Report,
  type SourceKeys,
  type SourcePlace,
  sourceKeys,
  willBeBuilt,
} from './source.ts'

export interface LocalImagesOptions {
  /** Images are in `<dataDir>/images`. */
  dataDir: string
  /** Gets lines for the operator, which may contain paths of this host. */
  log?: ImageLog
  clock?: Clock
  limits?: Partial<DownloadLimits>
  /** The folder with the build scripts. */
  scripts?: string
}

interface Job {
  state: Preparing
  listeners: Set<OnProgress>
  done: Promise<StoredImage>
}

const ISO = 'disk.iso'
const FAILURE_KEPT_MS = 30_000
/** Milliseconds between looks at an image that another process prepares. */
const OTHER_PROCESS_MS = 500

/** Keeps images as files of this host, downloaded, copied or built. Several processes may share a folder. */
export class LocalImages implements ImageStore {
  readonly #clock: Clock
  readonly #disks: ImageDirectory
  readonly #isos: ImageDirectory
  readonly #log: ImageLog
  readonly #place: SourcePlace
  readonly #limits: DownloadLimits
  readonly #jobs = new Map<string, Job>()
  readonly #failures = new Map<string, { message: string; at: number }>()
  readonly #closing = new AbortController()
  #swept: Promise<void> | null = null

  constructor(options: LocalImagesOptions) {
    this.#clock = options.clock ?? systemClock
    this.#disks = new ImageDirectory(options.dataDir)
    this.#isos = new ImageDirectory(options.dataDir, 'isos')
    this.#log = options.log ?? (() => {})
    this.#place = { scripts: options.scripts ?? import.meta.dirname }
    this.#limits = { ...downloadLimits, ...options.limits }
  }

  willBeBuilt(spec: ImageSpec): Promise<boolean> {
    return willBeBuilt(spec)
  }

  async ensure(spec: ImageSpec): Promise<ImageState> {
    const state = await this.state(spec)
    if (state.state === 'absent' || (state.state === 'failed' && !this.#isFresh(spec)))
      return { ...this.#job(spec).state }
    return state
  }

  async state(spec: ImageSpec): Promise<ImageState> {
    const job = this.#jobs.get(specKey(spec))
    if (job) return { ...job.state }
    const image = await this.ready(spec)
    if (image) {
      return {
        state: 'ready',
        bytes: image.bytes,
        virtualSizeGb: toGb(image.virtualSizeBytes),
        source: image.source,
      }
    }
    const running = this.#jobs.get(specKey(spec))
    if (running) return { ...running.state }
    const key = specKey(spec)
    const failure = this.#failures.get(key) ?? (await this.#directoryOf(spec).failure(key))
    return failure ? { state: 'failed', message: failure.message } : { state: 'absent' }
  }

  async ready(spec: ImageSpec): Promise<StoredImage | null> {
    for (const source of spec.sources) {
      // A malformed source has no image; `ensure` reports the reason.
      const keys = await sourceKeys(source, this.#place).catch(() => null)
      const image = keys && (await this.#directoryOf(spec).find(keys[0]))
      // The same disk may also come from an operator: the kernel beside it belongs to the build, not to the bytes.
      if (image) return source.type === 'build' ? image : { ...image, direct: null }
    }
    return null
  }

  async wait(spec: ImageSpec, onProgress: OnProgress = () => {}, signal?: AbortSignal): Promise<StoredImage> {
    signal?.throwIfAborted()
    const image = this.#jobs.has(specKey(spec)) ? null : await this.ready(spec)
    if (image) return image
    const job = this.#job(spec)
    job.listeners.add(onProgress)
    try {
      return await (signal ? Promise.race([job.done, rejectOn(signal)]) : job.done)
    } finally {
      job.listeners.delete(onProgress)
    }
  }

  list(): Promise<StoredImage[]> {
    return this.#disks.list()
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the image store was closed'))
    await Promise.allSettled([...this.#jobs.values()].map((job) => job.done))
    await this.#swept
    this.#disks.close()
    this.#isos.close()
  }

  #directoryOf({ isIso }: ImageSpec): ImageDirectory {
    return isIso ? this.#isos : this.#disks
  }

  #isFresh(spec: ImageSpec): boolean {
    const failure = this.#failures.get(specKey(spec))
    return failure !== undefined && this.#clock.now() - failure.at < FAILURE_KEPT_MS
  }

  /** Returns the preparation of an image, starting it if there is none. */
  #job(spec: ImageSpec): Job {
    const key = specKey(spec)
    const running = this.#jobs.get(key)
    if (running) return running
    const job: Job = {
      state: { state: 'preparing', progress: 0, detail: 'starting' },
      listeners: new Set(),
      // The attempt reports into the job only after its first await, when the job is complete.
      done: this.#attempt(spec, (progress, detail) => {
        job.state = { state: 'preparing', progress, detail }
        for (const listener of job.listeners) listener(job.state)
      }).finally(() => this.#jobs.delete(key)),
    }
    this.#jobs.set(key, job)
    this.#failures.delete(key)
    job.done.catch(() => {})
    return job
  }

  /** Prepares an image and records the result for other processes too, such as the operator's commands. */
  async #attempt(spec: ImageSpec, report: Report): Promise<StoredImage> {
    const key = specKey(spec)
    try {
      const image = await this.#prepare(spec, report)
      await this.#directoryOf(spec).noteFailure(key, null)
      return image
    } catch (error) {
      if (this.#closing.signal.aborted) throw error
      const message =
        error instanceof ImageError ? error.message : `The image ${spec.slug} could not be prepared.`
      this.#log(
        `image ${spec.slug}: ${error instanceof ImageError ? `${error.message} ${error.detail}` : String(error)}`,
        'warn',
      )
      this.#failures.set(key, { message, at: this.#clock.now() })
      await this.#directoryOf(spec)
        .noteFailure(key, message)
        .catch(() => {})
      throw error
    }
  }

  async #prepare(spec: ImageSpec, report: Report): Promise<StoredImage> {
    this.#swept ??= this.#sweep()
    await this.#swept
    const said: string[] = []
    const details: string[] = []
    for (const source of spec.sources) {
      try {
        this.#log(`image ${spec.slug}: preparing from ${describe(source)}`)
        const image = await this.#prepareSource(spec, source, report)
        this.#log(`image ${spec.slug}: ready, ${image.id}`)
        return image
      } catch (error) {
        this.#closing.signal.throwIfAborted()
        const sentence = error instanceof ImageError ? error.message : 'The log has the reason.'
        const detail = error instanceof ImageError ? error.detail : String(error)
        this.#log(`image ${spec.slug}: ${describe(source)} failed: ${sentence} ${detail}`)
        said.push(`${capital(describe(source))}: ${sentence}`)
        details.push(detail)
      }
    }
    const tried = said.length > 0 ? said.join(' ') : 'The template has no source.'
    throw new ImageError(
      `The image ${spec.slug} could not be prepared. ${tried}`,
      details.filter(Boolean).join('; '),
    )
  }

  async #sweep(): Promise<void> {
    for (const directory of [this.#disks, this.#isos]) await directory.sweep(this.#clock.now())
  }

  async #prepareSource(spec: ImageSpec, source: ImageSource, report: Report): Promise<StoredImage> {
    const keys = await sourceKeys(source, this.#place)
    const directory = this.#directoryOf(spec)
    for (;;) {
      const found = await directory.find(keys[0])
      if (found) return found
      const dir = await directory.claim(keys[0])
      if (dir) return this.#prepareIn(spec, source, keys, dir, report)
      report(0, 'waiting for another preparation of this image')
      await this.#clock.sleep(OTHER_PROCESS_MS, this.#closing.signal)
      this.#closing.signal.throwIfAborted()
    }
  }

  async #prepareIn(
    spec: ImageSpec,
    source: ImageSource,
    keys: SourceKeys,
    dir: string,
    report: Report,
  ): Promise<StoredImage> {
    const directory = this.#directoryOf(spec)
    try {
      const out = path.join(dir, 'out')
      await rm(out, { recursive: true, force: true })
      await mkdir(out)
      const signal = this.#closing.signal
      await requireRoom(out, 0, this.#limits)
      const { disk, sha256, direct } = await fetchSource(source, {
        slug: spec.slug,
        dir,
        out,
        place: this.#place,
        clock: this.#clock,
        signal,
        limits: this.#limits,
        report,
      })
      report(0.97, 'checking the image')
      const settle = spec.isIso ? settleIso : settleDisk
      const { id, ...facts } = await settle({ file: disk, out, sha256, signal, limits: this.#limits })
      const image = await directory.publish(keys, out, id, { ...facts, direct, source: describe(source) })
      await directory.release(keys[0], dir, false)
      return image
    } catch (error) {
      await directory.release(keys[0], dir, source.type === 'url')
      throw error
    }
  }
}

/** A file that was fetched, and the folder that becomes the image. */
interface Settling {
  file: string
  out: string
  sha256: string | null
  signal: AbortSignal
  limits: DownloadLimits
}

/** The facts of a file that has its final place. */
interface Settled {
  id: string
  virtualSizeBytes: number
  disk?: string
}

/** Puts a disk into its final place once it is checked. @throws ImageError */
async function settleDisk({ file, out, sha256, signal, limits }: Settling): Promise<Settled> {
  const { format, virtualSizeBytes } = await inspectImage(file, signal)
  const final = path.join(out, 'disk.qcow2')
  if (format === 'raw') {
    // The raw file and its copy exist side by side until the copy is complete.
    await requireRoom(out, (await stat(file)).blocks * 512, limits)
    await convertRaw(file, final, signal)
  }
  // A second name is safer than a move: after a crash the download is still there.
  else if (file !== final) await link(file, final)
  const id = format === 'qcow2' && sha256 ? sha256 : await sha256Of(final, signal)
  return { id, virtualSizeBytes }
}

/** Puts an ISO into its final place as it came. @throws ImageError */
async function settleIso({ file, out, sha256, signal }: Settling): Promise<Settled> {
  const virtualSizeBytes = await inspectIso(file)
  await link(file, path.join(out, ISO))
  return { id: sha256 ?? (await sha256Of(file, signal)), virtualSizeBytes, disk: ISO }
}

/** The same sources give the same image: the slug is only a name. */
function specKey({ sources, isIso }: ImageSpec): string {
  return JSON.stringify(isIso ? { isIso, sources } : sources)
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
