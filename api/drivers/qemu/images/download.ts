import { open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../../clock.ts'
import { DriverError } from '../../driver.ts'
import { Room } from '../host/room.ts'
import { ImageError } from './inspect.ts'

export interface DownloadLimits {
  /** The largest accepted size, above that of any image. */
  maxBytes: number
  /** Milliseconds without a byte after which a connection counts as dead. */
  stallMs: number
  /** Consecutive attempts without progress before giving up. */
  attempts: number
  /** Milliseconds before the second attempt; doubles with each further one, up to a minute. */
  backoffMs: number
  /** Free disk space that is left to guests, in bytes (default: 5 % of the disk, at most 20 GiB). */
  reserveBytes?: number
}

/** The room is looked at again after as many bytes, since others fill the disk, too. */
const LOOK_BYTES = 64 * 2 ** 20

export const downloadLimits: DownloadLimits = {
  maxBytes: 32 * 2 ** 30,
  stallMs: 60_000,
  attempts: 6,
  backoffMs: 1000,
}

export interface Download {
  url: string
  /** The file to write. Beside it, `<file>.json` remembers which version of the remote file the bytes belong to. */
  file: string
  clock: Clock
  signal: AbortSignal
  limits: DownloadLimits
  /** Gets the bytes so far, and the size of the whole file if the server reported it. */
  onProgress: (done: number, total: number | null) => void
}

/** The state needed to continue a partial file. */
interface Resume {
  url: string
  /** ETag or Last-Modified: sent as If-Range, so that a changed file is never glued to the old beginning. */
  validator: string
  total: number | null
}

/** A fault that may be gone at the next attempt. */
class Passing extends Error {
  /** True if the bytes fetched so far are useless. */
  readonly startOver: boolean
  constructor(message: string, startOver = false) {
    super(message)
    this.startOver = startOver
  }
}

/**
 * Downloads a file over HTTP(S), continuing where an earlier attempt, even of an earlier process, was cut off.
 * @returns true if any of the bytes came from an earlier attempt
 * @throws ImageError if the server refuses or all attempts failed; the partial file stays for the next time
 */
export async function download(job: Download): Promise<{ resumed: boolean }> {
  let failures = 0
  let resumed = false
  for (;;) {
    const before = await sizeOf(job.file)
    try {
      const done = await attempt(job, before)
      return { resumed: resumed || done.resumed }
    } catch (error) {
      job.signal.throwIfAborted()
      if (error instanceof ImageError || !isPassing(error)) throw error
      if (error instanceof Passing && error.startOver) await rm(job.file, { force: true })
      const after = await sizeOf(job.file)
      resumed ||= after > 0
      failures = after > before ? 1 : failures + 1
      if (failures >= job.limits.attempts) throw giveUp(job.url, failures, error)
      await job.clock.sleep(Math.min(job.limits.backoffMs * 2 ** (failures - 1), 60_000), job.signal)
      job.signal.throwIfAborted()
    }
  }
}

/** Downloads something small, such as a list of checksums or a key, of at most 1 MiB. */
export async function fetchSmall(job: Omit<Download, 'file' | 'onProgress'>): Promise<Buffer> {
  for (let failures = 0; ; ) {
    try {
      const chunks: Buffer[] = []
      let length = 0
      await request(job, {}, async (_response, body) => {
        for await (const chunk of body) {
          length += chunk.length
          if (length > 1 << 20)
            throw new ImageError(
              `${hostOf(job.url)} sent a checksum list, signature or key that is too large.`,
            )
          chunks.push(Buffer.from(chunk))
        }
      })
      return Buffer.concat(chunks)
    } catch (error) {
      job.signal.throwIfAborted()
      if (error instanceof ImageError || !isPassing(error)) throw error
      if (++failures >= job.limits.attempts) throw giveUp(job.url, failures, error)
      await job.clock.sleep(Math.min(job.limits.backoffMs * 2 ** (failures - 1), 60_000), job.signal)
      job.signal.throwIfAborted()
    }
  }
}

/** Makes one connection. Returns when the file is complete. */
async function attempt(job: Download, have: number): Promise<{ resumed: boolean }> {
  const known = await readResume(job)
  const from = known ? have : 0
  if (known && known.total !== null && have === known.total) return { resumed: true }
  const headers: Record<string, string> =
    known && from > 0 ? { range: `bytes=${from}-`, 'if-range': known.validator } : {}
  let whole = false
  let start = 0
  await request(job, headers, async (response, body) => {
    start = response.status === 206 ? rangeStart(response, from) : 0
    const length = Number(response.headers.get('content-length') ?? Number.NaN)
    const total = Number.isFinite(length) ? start + length : null
    await checkRoom(job, total, start)
    await remember(job, response, total)
    const written = await writeBody(job, body, start, total)
    whole = total === null || written === total
  })
  if (!whole) throw new Passing('the connection ended early')
  return { resumed: start > 0 }
}

async function writeBody(
  job: Download,
  body: AsyncIterable<Uint8Array>,
  start: number,
  total: number | null,
) {
  // A complete file that a crash left half published is read-only: start with a new one.
  if (start === 0) await rm(job.file, { force: true })
  // 'r+' keeps the bytes before `start`; a new file needs 'w'.
  await using handle = await open(job.file, start > 0 ? 'r+' : 'w')
  let at = start
  let lookedAt = start
  for await (const chunk of body) {
    if (at + chunk.length > job.limits.maxBytes) throw tooBig(job)
    if (at - lookedAt >= LOOK_BYTES) {
      lookedAt = at
      await checkRoom(job, null, at)
    }
    await handle.write(chunk, 0, chunk.length, at)
    at += chunk.length
    job.onProgress(at, total)
  }
  await handle.truncate(at)
  await handle.sync()
  return at
}

/**
 * Makes a request and passes the body to `use`, watching for stalls.
 * @throws Passing for faults that may go away, ImageError for others
 */
async function request(
  job: Pick<Download, 'url' | 'clock' | 'signal' | 'limits'>,
  headers: Record<string, string>,
  use: (response: Response, body: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const asked = new URL(job.url)
  if (!isPrivate(asked))
    throw new ImageError(
      `Downloads from ${asked.protocol}// are not allowed: others on the network could change them. Use https://.`,
      asked.href,
    )
  const stalled = new AbortController()
  const signal = AbortSignal.any([job.signal, stalled.signal])
  let timer = new AbortController()
  const alive = () => {
    timer.abort()
    timer = new AbortController()
    const { signal: off } = timer
    void job.clock
      .sleep(job.limits.stallMs, off)
      .then(() => off.aborted || stalled.abort(new Passing('no data for a while')))
  }
  alive()
  try {
    // "identity": a compressed transfer would make nonsense of byte ranges.
    const sent = { headers: { ...headers, 'accept-encoding': 'identity' }, signal }
    const response = await follow(asked, sent)
    try {
      refuseBadAnswer(asked, response)
      if (response.body) await use(response, watched(response.body, alive))
    } finally {
      await response.body?.cancel().catch(() => {})
    }
  } finally {
    timer.abort()
  }
}

async function* watched(body: AsyncIterable<Uint8Array>, alive: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    alive()
    yield chunk
  }
}

const REDIRECTS = 5

/** Follows redirects, each of which must be as secure as the original address. */
async function follow(asked: URL, sent: RequestInit): Promise<Response> {
  let at = asked
  for (let count = 0; count <= REDIRECTS; count++) {
    const response = await fetch(at, { ...sent, redirect: 'manual' })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null) return response
    await response.body?.cancel()
    if (!URL.canParse(location, at.href)) throw new ImageError(`${at.host} redirected to an invalid address.`)
    const next = new URL(location, at)
    if (!isPrivate(next) || (asked.protocol === 'https:' && next.protocol !== 'https:'))
      throw new ImageError(`${at.host} redirected to an unencrypted address.`, next.href)
    at = next
  }
  throw new ImageError(`${asked.host} redirected more than ${REDIRECTS} times.`, asked.href)
}

/** True if nobody on the way can read or change the transfer: it uses TLS, or does not leave this machine. */
function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(hostname))
}

function refuseBadAnswer(asked: URL, response: Response): void {
  const { status } = response
  if (status === 200 || status === 206) return
  if (status === 416)
    throw new Passing('the file on the server is smaller than the part already downloaded', true)
  if (status === 408 || status === 429 || status >= 500) throw new Passing(`the server answered ${status}`)
  throw new ImageError(`${asked.host} answered ${status}.`, asked.href)
}

function rangeStart(response: Response, asked: number): number {
  const start = Number(/^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
  if (start !== asked) throw new Passing('the server sent a different range than requested', true)
  return start
}

async function checkRoom(job: Download, total: number | null, start: number): Promise<void> {
  if (total !== null && total > job.limits.maxBytes) throw tooBig(job)
  await requireRoom(path.dirname(job.file), total === null ? 0 : total - start, job.limits)
}

/** @throws ImageError unless an image of this size leaves guests the space that they may still need */
export async function requireRoom(
  folder: string,
  bytes: number,
  { reserveBytes }: Pick<DownloadLimits, 'reserveBytes'>,
): Promise<void> {
  try {
    await new Room(folder, reserveBytes).require(bytes)
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    throw new ImageError(
      `There is not enough free disk space for this image (${Math.ceil(bytes / 2 ** 20)} MB).`,
    )
  }
}

async function remember(job: Download, response: Response, total: number | null): Promise<void> {
  const etag = response.headers.get('etag')
  // A weak ETag means "much the same", which is not enough to continue a file.
  const validator = etag && !etag.startsWith('W/') ? etag : response.headers.get('last-modified')
  if (!validator) return rm(`${job.file}.json`, { force: true })
  const resume: Resume = { url: job.url, validator, total }
  await writeFile(`${job.file}.json`, JSON.stringify(resume))
}

async function readResume(job: Download): Promise<Resume | null> {
  try {
    // `remember` above wrote it; any other content fails the check of its url.
    const resume = JSON.parse(await readFile(`${job.file}.json`, 'utf8')) as Resume
    return resume.url === job.url ? resume : null
  } catch {
    return null
  }
}

function isPassing(error: unknown): boolean {
  // fetch reports network faults and broken bodies as TypeError with a cause; Passing is thrown above.
  return error instanceof Passing || error instanceof TypeError
}

function giveUp(url: string, failures: number, error: unknown): ImageError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : ''
  const said = error instanceof Passing ? error.message : 'the connection failed'
  return new ImageError(
    `${hostOf(url)} could not be downloaded after ${failures} attempts: ${said}.`,
    `${url} ${String(error)} ${cause}`,
  )
}

function tooBig(job: Download): ImageError {
  return new ImageError(`The file at ${hostOf(job.url)} is larger than images may be.`, job.url)
}

function hostOf(url: string): string {
  return new URL(url).host
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0
}
