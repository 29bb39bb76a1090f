import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Addresses } from './addresses.ts'

// Importing node:http would also load undici, 10 MB that nothing here uses.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** The time an endpoint has for everything: name, connection and reply. */
export const TIMEOUT_MS = 10_000
/** The bytes of a reply that are read and kept. */
export const REPLY_BYTES = 4096
/** Databases keep no NUL, and JSON takes six bytes for each of the others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
const CONTROLS = /[\0-\x08\v\f\x0e-\x1f\x7f]/g
/** The most 1xx replies before the reply itself. Each costs work, and an endpoint could send them until the timeout. */
const MAX_INTERIM = 10
/** The most addresses of a host, each of which is compared with all blocked ranges. */
const MAX_ADDRESSES = 64

/** All addresses of a host name. */
export type Lookup = (host: string) => Promise<readonly { address: string; family: number }[]>

export interface Answer {
  /** Null if there was none. */
  status: number | null
  reply: string
  /** The failure, in words for the customer; null for success. */
  error: string | null
}

interface Message {
  url: string
  /** The host's address, which `locate` has found and checked. */
  address: string
  id: string
  body: string
  /** The secrets, as whsec_ and base64, each of which signs the message. */
  secrets: readonly string[]
}

interface LocateOptions {
  clock: Clock
  lookup: Lookup
  addresses: Addresses
}

/** A fault of the endpoint, with a message for the customer. */
class EndpointError extends Error {}

/**
 * Finds an address of an endpoint's host, all of whose addresses must be allowed. Never throws.
 * @param preferred addresses that are chosen first
 */
export function locate(
  url: string,
  { clock, lookup, addresses }: LocateOptions,
  stopped: AbortSignal,
  preferred: readonly string[] = [],
): Promise<{ address: string } | { error: string }> {
  const find = async () => {
    const [first, ...others] = await addressesOf(hostOf(url), lookup, addresses)
    if (first === undefined) throw new EndpointError('The host has no address.')
    return { address: [first, ...others].find((address) => preferred.includes(address)) ?? first }
  }
  return inTime<{ address: string } | { error: string }>(find, (error) => ({ error }), clock, stopped)
}

/** Posts a message according to Standard Webhooks. Redirects are not followed. Never throws. */
export function send(message: Message, clock: Clock, stopped: AbortSignal): Promise<Answer> {
  return inTime((signal) => post(message, clock, signal), refusal, clock, stopped)
}

/** Runs a call with a time limit, and returns its failures as results. */
async function inTime<Result>(
  run: (signal: AbortSignal) => Promise<Result>,
  failed: (why: string) => Result,
  clock: Clock,
  stopped: AbortSignal,
): Promise<Result> {
  const cut = new AbortController()
  const isDone = new AbortController()
  const stop = () => cut.abort()
  stopped.addEventListener('abort', stop)
  const late = clock.sleep(TIMEOUT_MS, isDone.signal).then(() => {
    cut.abort()
    return failed(`No complete reply within ${TIMEOUT_MS / 1000} seconds.`)
  })
  const result = await Promise.race([
    run(cut.signal).catch((error: unknown) => failed(reasonOf(error))),
    late,
  ])
  isDone.abort()
  stopped.removeEventListener('abort', stop)
  return result
}

/** The name or address in a URL. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
}

/** A signature of Standard Webhooks: HMAC-SHA256 over id, time and body. */
export function sign(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
}

function post(
  { url, address, id, body, secrets }: Message,
  clock: Clock,
  signal: AbortSignal,
): Promise<Answer> {
  const target = new URL(url)
  const name = hostOf(url)
  const seconds = Math.floor(clock.now() / 1000)
  const start = target.protocol === 'https:' ? https.request : http.request
  return new Promise((resolve, reject) => {
    let interim = 0
    const request = start({
      // This is the address that was checked: a name can resolve to another one a moment later.
      host: address,
      ...(isIP(name) ? {} : { servername: name }),
      port: target.port || (target.protocol === 'https:' ? 443 : 80),
      path: `${target.pathname}${target.search}`,
      method: 'POST',
      agent: false,
      signal,
      headers: {
        host: target.host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'Berth-Webhooks/1',
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': secrets.map((secret) => sign(secret, id, seconds, body)).join(' '),
      },
    })
    request
      .once('response', (reply) => read(reply).then(resolve, reject))
      // Node passes an upgraded connection to this listener, which has no use for it.
      .once('upgrade', (reply, socket) => {
        socket.destroy()
        resolve(answerOf(reply.statusCode ?? 0, ''))
      })
      .on('information', () => {
        interim += 1
        if (interim > MAX_INTERIM) request.destroy(new EndpointError('Too many 1xx replies.'))
      })
      .on('error', reject)
      .end(body)
  })
}

/** Returns the addresses of a name, IPv4 first. @throws EndpointError */
async function addressesOf(name: string, lookup: Lookup, addresses: Addresses): Promise<string[]> {
  const found = isIP(name) ? [{ address: name, family: isIP(name) }] : await lookup(name)
  if (found.length > MAX_ADDRESSES)
    throw new EndpointError(`The host has more than ${MAX_ADDRESSES} addresses.`)
  // A blocked address among them is no accident, so all are refused.
  if (!found.every(({ address }) => addresses.isOpen(address)))
    throw new EndpointError('The address of the host is not on the public internet.')
  return [...found].sort((a, b) => a.family - b.family).map(({ address }) => address)
}

async function read(reply: IncomingMessage): Promise<Answer> {
  const status = reply.statusCode ?? 0
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of reply) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= REPLY_BYTES) break
  }
  const text = Buffer.concat(chunks).subarray(0, REPLY_BYTES).toString().replace(CONTROLS, '\ufffd')
  return answerOf(status, text)
}

function answerOf(status: number, reply: string): Answer {
  const isRedirect = status >= 300 && status < 400
  const isGood = status >= 200 && status < 300
  const error = isRedirect ? 'Redirects are not followed.' : isGood ? null : `The status was ${status}.`
  return { status, reply, error }
}

function refusal(error: string): Answer {
  return { status: null, reply: '', error }
}

function reasonOf(error: unknown): string {
  if (error instanceof EndpointError) return error.message
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOTFOUND' || code === 'ENODATA') return 'The host has no address.'
  if (code === 'ETIMEOUT' || code === 'ESERVFAIL') return 'The host name could not be resolved.'
  return `No reply: ${code || 'the connection failed'}.`
}
