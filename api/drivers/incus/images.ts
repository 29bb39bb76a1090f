import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../message-of.ts'
import type { ImageSpec, ImageState } from '../images.ts'
import { at, type IncusClient } from './client.ts'
import { isPassing, unless } from './errors.ts'
import type { Operations } from './operations.ts'
import type { IncusImage } from './zone.ts'

interface Image {
  fingerprint: string
  size: number
}

/** The time for which a failure is reported before a further call tries again. */
const FAILURE_MS = 30_000
const IMPORT_MS = 1_800_000

type Import = { state: 'preparing' } | { state: 'failed'; message: string; until: number }

/** The images of templates in a cluster. Each is imported once; the cluster copies it between members. */
export class IncusImages {
  readonly #client: IncusClient
  readonly #operations: Operations
  readonly #project: string
  readonly #imports = new Map<string, Import>()
  /** Fingerprints of files, by path, size and time. */
  readonly #hashes = new Map<string, string>()

  constructor(client: IncusClient, operations: Operations, project: string) {
    this.#client = client
    this.#operations = operations
    this.#project = project
  }

  /** Does as Driver.image. @throws IncusError if the cluster does not answer */
  async ensure(spec: ImageSpec, isWanted: boolean): Promise<ImageState> {
    if (!spec.incus) return { state: 'failed', message: `The template ${spec.slug} has no image for Incus.` }
    const key = aliasOf(spec.slug, spec.incus)
    const going = this.#imports.get(key)
    if (going?.state === 'preparing') return { state: 'preparing', progress: 0.5, detail: 'importing' }
    if (going && performance.now() < going.until) return { state: 'failed', message: going.message }
    this.#imports.delete(key)
    const image = await this.#find(spec).catch((error: unknown) => {
      if (isPassing(error)) throw error
      return messageOf(error)
    })
    if (typeof image === 'string') return { state: 'failed', message: image }
    if (image) return { state: 'ready', bytes: image.size, virtualSizeGb: 1, source: 'the cluster' }
    if (!isWanted) return { state: 'absent' }
    this.#imports.set(key, { state: 'preparing' })
    this.#import(key, spec.incus).then(
      () => this.#imports.delete(key),
      (error: unknown) => {
        const failed = { message: messageOf(error), until: performance.now() + FAILURE_MS }
        if (isPassing(error)) this.#imports.delete(key)
        else this.#imports.set(key, { state: 'failed', ...failed })
      },
    )
    return { state: 'preparing', progress: 0, detail: 'importing' }
  }

  /** Returns the fingerprint of an image; null: it is not in the cluster. */
  async ready(spec: ImageSpec): Promise<string | null> {
    return (await this.#find(spec))?.fingerprint ?? null
  }

  async #find({ slug, incus }: ImageSpec): Promise<Image | null> {
    if (!incus) return null
    const project = this.#project
    const fingerprint =
      'file' in incus
        ? await this.#fingerprint(incus.file)
        : await this.#client
            .get<{ target: string }>(at(`/1.0/images/aliases/${aliasOf(slug, incus)}`, { project }))
            .then(({ target }) => target, unless('missing'))
    if (fingerprint === null) return null
    return this.#client.get<Image>(at(`/1.0/images/${fingerprint}`, { project })).catch(unless('missing'))
  }

  async #import(alias: string, image: IncusImage): Promise<void> {
    const path = at('/1.0/images', { project: this.#project })
    if ('file' in image) {
      const headers = { 'content-type': 'application/octet-stream' }
      const sent = { file: image.file, headers, waitMs: IMPORT_MS }
      await this.#operations.run('POST', path, sent).catch(unless('exists'))
      return
    }
    const { server } = image
    const source = { type: 'image', mode: 'pull', protocol: 'simplestreams', server, alias: image.alias }
    const pulled = await this.#operations.run('POST', path, { body: { source }, waitMs: IMPORT_MS })
    const body = { name: alias, target: pulled?.metadata?.fingerprint }
    const named = at('/1.0/images/aliases', { project: this.#project })
    await this.#client.call('POST', named, { body }).catch(unless('exists'))
  }

  /** The fingerprint of an image in one file is that file's sha256. */
  async #fingerprint(file: string): Promise<string> {
    const { size, mtimeMs } = await stat(file)
    const key = `${file} ${size} ${mtimeMs}`
    const known = this.#hashes.get(key)
    if (known !== undefined) return known
    const hash = createHash('sha256')
    await pipeline(createReadStream(file), hash)
    const fingerprint = hash.digest('hex')
    this.#hashes.set(key, fingerprint)
    return fingerprint
  }
}

/** The name of a template's image in the cluster. Another source has another name, and is imported again. */
function aliasOf(slug: string, image: IncusImage): string {
  const hash = createHash('sha256').update(JSON.stringify(image)).digest('hex').slice(0, 12)
  return `berth-${slug}-${hash}`
}
