import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerOptions } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counts } from '../../concurrency.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'
import { FairConnections } from './fair-connections.ts'
import { networkOf } from './rate-limit.ts'

/** Time limits of a connection, in milliseconds. */
export const timeouts = {
  /** Time until the head of a request has arrived, also on a connection without any request. */
  headersTimeout: 15_000,
  /** Time until a whole request has arrived; a stalled request gets a 408. */
  requestTimeout: 30_000,
  /** Idle time between two requests; longer than the minute of load balancers. */
  keepAliveTimeout: 72_000,
  /** Time without any traffic, longer than any wait or heartbeat: the client does not read. */
  connectionTimeout: 120_000,
  /** Time until a whole reply is sent: a client that reads a byte now and then is never idle. */
  replyTimeout: 120_000,
} as const

/** Interval at which Node looks for slow connections. */
export const slowConnections = { connectionsCheckingInterval: 5_000 } as const satisfies ServerOptions

const MAX_OF_ADDRESS = 256
const MAX = 10_000
/** Connections kept for trusted proxies and for health checks from this machine. */
const KEPT_BACK = 64
/** From this many pieces on, those of a body must have an average length of at least `TINY_CHUNK` bytes. */
const MAX_TINY_CHUNKS = 500
const TINY_CHUNK = 32

/**
 * Limits the number of connections, in all and for each address (IPv6: each /64), and the number of tiny pieces in a
 * body. Trusted proxies serve many clients and have no limit.
 * @param trusted their ranges
 * @param most the connections in all
 */
export function boundConnections(
  server: Server,
  trusted: readonly string[],
  refuse: (socket: Socket) => void,
  most = Math.min(MAX, Math.floor(openFilesLimit() / 2)),
): void {
  const proxies = blockListOf(trusted)
  const open = new Counts()
  const strangers = new FairConnections()
  let total = 0
  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const isTrusted = proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
    const network = networkOf(address)
    const room = isTrusted || isLocal(network) ? most : most - KEPT_BACK
    if (!isTrusted && open.get(network) >= MAX_OF_ADDRESS) return void socket.destroy()
    if (total >= room && (isTrusted || !strangers.makeRoom(address))) return void socket.destroy()
    total += 1
    open.add(network, 1)
    socket.once('close', () => {
      total -= 1
      open.add(network, -1)
    })
    if (!isTrusted) strangers.add(socket, address)
  })
  // This happens before any of the body is read from the socket.
  server.prependListener('request', (request: IncomingMessage) => boundChunks(request, refuse))
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(address, bits === '' ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
  }
  return list
}

function isLocal(address: string): boolean {
  return address.startsWith('127.') || address === '0:0:0:0'
}

/** Falls back to 1024, the usual default, if the system does not report its limit. */
function openFilesLimit(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit ? Number(limit) : 1024
  } catch {
    return 1024
  }
}

/** A body in pieces of a few bytes takes many times as long to read as a whole one: such a caller is disconnected. */
function boundChunks(request: IncomingMessage, refuse: (socket: Socket) => void): void {
  if (request.headers['transfer-encoding'] === undefined) return
  let chunks = 0
  let bytes = 0
  const push = request.push.bind(request)
  request.push = (chunk: Buffer | null, encoding) => {
    chunks += 1
    bytes += chunk?.length ?? 0
    if (chunks <= MAX_TINY_CHUNKS || bytes >= chunks * TINY_CHUNK) return push(chunk, encoding)
    request.push = () => false
    refuse(request.socket)
    return false
  }
}

/** Invalid HTTP never becomes a request of Fastify, so the reply is written to the socket. */
export function refuseRaw(
  error: Error & { code?: string },
  socket: Socket,
  headers: Readonly<Record<string, string>>,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, phrase] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const id = randomUUID()
  const detail = `The request is not valid HTTP: ${phrase}.`
  const problem = new ApiError(httpProblems.bad_request, detail).toProblem(id, '')
  const body = JSON.stringify({ ...problem, status })
  const head = [
    `HTTP/1.1 ${status} ${phrase}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    ...Object.entries({ ...protective, ...headers }).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

/** Headers that prevent browsers from framing a reply or guessing its type. */
const protective = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

/** Sets the protective headers of a reply. */
export function protect(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(protective)
  // Only a trusted proxy may report that the caller uses TLS.
  if (request.protocol === 'https') reply.header('strict-transport-security', 'max-age=31536000')
}
