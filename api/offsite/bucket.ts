import { createHash } from 'node:crypto'
import { AwsClient } from 'aws4fetch'
import type { Clock } from '../clock.ts'
import type { Bucket } from '../config.ts'
import { messageOf } from '../message-of.ts'
import { type Place, PlaceError } from './place.ts'

/** A part on a slow line takes minutes. */
const PATIENCE_MS = 10 * 60_000
/** Retries follow within seconds if the server is busy; the caller retries other failures much later. */
const RETRIES = 4

interface Asked {
  body?: Uint8Array
  mayBeMissing?: boolean
}

/** A bucket of an S3 server. Requests name the bucket in the path, as all servers allow. */
export class BucketPlace implements Place {
  readonly name: string
  readonly #root: URL
  readonly #client: AwsClient

  readonly #clock: Clock

  constructor({ url, region, accessKeyId, secretAccessKey }: Bucket, clock: Clock) {
    this.#clock = clock
    this.name = url
    this.#root = new URL(url)
    this.#client = new AwsClient({
      ...{ accessKeyId, secretAccessKey, region },
      ...{ service: 's3', retries: RETRIES },
    })
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#send('PUT', key, { body: bytes })
  }

  async get(key: string): Promise<Uint8Array | null> {
    return this.#send('GET', key, { mayBeMissing: true })
  }

  async list(folder: string): Promise<string[]> {
    const [, bucket = '', ...rest] = this.#root.pathname.split('/')
    const prefix = [...rest, folder].filter((part) => part !== '').join('/')
    const names: string[] = []
    for (let token: string | undefined = ''; token !== undefined; ) {
      const query = new URLSearchParams({ 'list-type': '2', delimiter: '/', 'encoding-type': 'url' })
      if (prefix !== '') query.set('prefix', `${prefix}/`)
      if (token !== '') query.set('continuation-token', token)
      const page = Buffer.from((await this.#send('GET', `/${bucket}?${query}`, {})) ?? '').toString()
      const found = [...page.matchAll(/<(?:Key|Prefix)>([^<]*)<\/(?:Key|Prefix)>/g)].map(([, key = '']) =>
        decodeURIComponent(key.replaceAll('+', ' ')),
      )
      // The reply repeats the prefix that was asked for.
      const below = prefix === '' ? found : found.filter((key) => key.length > prefix.length + 1)
      names.push(...below.map((key) => key.replace(/\/$/, '').split('/').at(-1) ?? '').filter(Boolean))
      token = /<NextContinuationToken>([^<]*)</.exec(page)?.[1]
    }
    return names
  }

  async remove(key: string): Promise<void> {
    await this.#send('DELETE', key, { mayBeMissing: true })
  }

  /** @param key an object, or a path of the server if it begins with a slash */
  async #send(method: string, key: string, more: Asked): Promise<Uint8Array | null> {
    const ended = new AbortController()
    const late = new AbortController()
    void this.#clock.sleep(PATIENCE_MS, ended.signal).then(() => {
      if (!ended.signal.aborted) late.abort(new Error('it does not answer'))
    })
    try {
      return await this.#ask(method, key, { ...more, signal: late.signal })
    } catch (error) {
      if (error instanceof PlaceError) throw error
      const cause = error instanceof Error && error.cause ? error.cause : error
      throw new PlaceError(`${this.name} can't be reached: ${messageOf(cause)}`, { cause: error })
    } finally {
      ended.abort()
    }
  }

  async #ask(
    method: string,
    key: string,
    { body, mayBeMissing = false, signal }: Asked & { signal: AbortSignal },
  ): Promise<Uint8Array | null> {
    const url = key.startsWith('/') ? new URL(key, this.#root) : `${this.#root.href}/${key}`
    // The server compares the content with its hash, which the signature covers.
    const sha256 = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const headers = { 'x-amz-content-sha256': sha256 }
    const request = { method, headers, signal, ...(body ? { body: Buffer.from(body) } : {}) }
    const reply = await this.#client.fetch(url, request)
    const content = new Uint8Array(await reply.arrayBuffer())
    if (reply.ok) return content
    const text = Buffer.from(content).toString()
    if (reply.status === 404 && mayBeMissing && !text.includes('NoSuchBucket')) return null
    const code = /<Code>([^<]*)<\/Code>/.exec(text)?.[1] ?? ''
    throw new PlaceError(`${this.name} answered ${method} with ${reply.status} ${code}`.trim())
  }
}
