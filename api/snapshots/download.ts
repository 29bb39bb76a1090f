import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Addresses } from '../webhooks/addresses.ts'
import { hostOf, type Lookup, locate } from '../webhooks/send.ts'
import { flawOf } from '../webhooks/url.ts'

// Importing node:http would also load undici, 10 MB that nothing here uses.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** Each part is one request, and one step of an operation. */
export const PART_BYTES = 8 * 2 ** 20
/** A slower remote server would occupy one of the account's operations for hours. */
const PART_MS = 60_000
const MAX_REDIRECTS = 5

export interface DownloadOptions {
  clock: Clock
  lookup: Lookup
  /** The addresses from which files may be fetched: only the public internet. */
  addresses: Addresses
}

/** A file that can't be fetched. `message` is for its customer; `isLasting` false: another try may help. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError'
  readonly isLasting: boolean
  constructor(message: string, isLasting: boolean) {
    super(message)
    this.isLasting = isLasting
  }
}

/** A part of a file from a remote server. */
export interface Fetched {
  content: AsyncIterable<Buffer>
  bytes: number
  /** The size of the whole file. */
  total: number
  /** Identifies this version of the file; empty if the server gives no identifier. */
  version: string
}

/**
 * Fetches a part of a file. Each address that a name or a redirect leads to is checked, and the connection goes to the
 * address that was checked.
 * @throws DownloadError
 */
export async function fetchPart(
  url: string,
  from: number,
  options: DownloadOptions,
  stopped: AbortSignal,
): Promise<Fetched> {
  let target = url
  for (let left = MAX_REDIRECTS; ; left--) {
    const isWeb = /^https?:/.test(target)
    const flaw = isWeb ? flawOf(target, options.addresses) : 'is not one of the web.'
    if (flaw !== null) throw new DownloadError(`The address ${target} ${flaw}`, true)
    const place = await locate(target, options, stopped)
    if ('error' in place) throw new DownloadError(place.error, false)
    const reply = await request(target, place.address, from, options.clock, stopped)
    const { statusCode = 0, headers } = reply
    const isRedirect = [301, 302, 303, 307, 308].includes(statusCode) && headers.location
    if (!isRedirect) return partOf(reply, from)
    reply.destroy()
    if (left === 0) throw new DownloadError('The address redirects too often.', true)
    if (!URL.canParse(headers.location ?? '', target))
      throw new DownloadError('The address redirects to none.', true)
    target = new URL(headers.location ?? '', target).href
  }
}

function request(
  url: string,
  address: string,
  from: number,
  clock: Clock,
  stopped: AbortSignal,
): Promise<IncomingMessage> {
  const target = new URL(url)
  const name = hostOf(url)
  const start = target.protocol === 'https:' ? https.request : http.request
  const ended = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const sent = start({
    // This is the address that was checked: a name can resolve to another one a moment later.
    host: address,
    ...(isIP(name) ? {} : { servername: name }),
    port: target.port || (target.protocol === 'https:' ? 443 : 80),
    path: `${target.pathname}${target.search}`,
    agent: false,
    signal: stopped,
    headers: {
      host: target.host,
      range: `bytes=${from}-${from + PART_BYTES - 1}`,
      'accept-encoding': 'identity',
      'user-agent': 'Berth-Images/1',
    },
  })
  const failed = (error: Error & { code?: string }) =>
    reject(new DownloadError(`No reply: ${error.code ?? 'the connection failed'}.`, false))
  void clock.sleep(PART_MS, ended.signal).then(() => {
    if (!ended.signal.aborted) sent.destroy(new DownloadError('The server is too slow.', false))
  })
  sent
    .once('response', resolve)
    .once('upgrade', (_reply, socket) => socket.destroy())
    .once('close', () => ended.abort())
    .on('error', failed)
    .end()
  return promise
}

/** @throws DownloadError */
function partOf(reply: IncomingMessage, from: number): Fetched {
  const { statusCode = 0, headers } = reply
  const refuse = (message: string, isLasting = true): never => {
    reply.destroy()
    throw new DownloadError(message, isLasting)
  }
  if (statusCode !== 206 && statusCode !== 200)
    return refuse(`The server replied with the status ${statusCode}.`, statusCode < 500 && statusCode !== 429)
  const version = String(headers.etag ?? headers['last-modified'] ?? '')
  const length = Number(headers['content-length'] ?? Number.NaN)
  const [, start, end, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
  const whole = statusCode === 200
  const [bytes, total] = whole ? [length, length] : [Number(end) - Number(start) + 1, Number(size)]
  const isInPlace = whole ? from === 0 : Number(start) === from
  if (!isInPlace || !(bytes > 0) || !(bytes <= PART_BYTES) || !(from + bytes <= total))
    return refuse(
      'The server does not send files in parts (HTTP range requests). Download the file and upload it.',
    )
  return { content: exactly(reply, bytes), bytes, total, version }
}

/** @throws DownloadError if the reply breaks off, or has more bytes */
async function* exactly(reply: IncomingMessage, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  try {
    for await (const chunk of reply) {
      const part = Buffer.from(chunk)
      left -= part.length
      if (left < 0) break
      yield part
    }
  } catch {
    throw new DownloadError('The connection broke off.', false)
  }
  if (left !== 0) throw new DownloadError('The connection broke off.', false)
}
