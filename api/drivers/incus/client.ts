import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import WebSocket from 'ws'
import { messageOf } from '../../message-of.ts'
import { IncusError } from './errors.ts'

/** The addresses and certificates of a cluster. */
export interface Access {
  /** Addresses of the cluster's members, `unix:/path` or `https://host:port`; any of them answers for all. */
  addresses: readonly string[]
  /** PEM: our certificate and key, and the cluster's certificate, the only one that is trusted. */
  tls: { cert: string; key: string; ca: string } | null
}

/** The body and options of a call. */
export interface Sent {
  body?: unknown
  /** The path of a file that is sent in place of a body. */
  file?: string
  headers?: Readonly<Record<string, string>>
  timeoutMs?: number
  /** The only member to ask (default: any). */
  endpoint?: Endpoint
}

interface Reply {
  type: 'sync' | 'async' | 'error'
  metadata: unknown
  operation: string
  error: string
  error_code: number
}

interface Read {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** The time for a reply: LXD blocks for 10 s on a lost member. */
const CALL_MS = 15_000
const UPLOAD_MS = 600_000
/** The time to connect: a host that is off never refuses a connection. */
const CONNECT_MS = 2_000
/** Milliseconds between attempts to reach a member that did not answer. */
const PROBE_MS = 2_000
const CONNECTIONS = 32

/** Failures before anything was sent: any such call may be sent to another member. */
const UNSENT = ['ECONNREFUSED', 'ENOENT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EACCES', 'ECONNTIME']

/** A member and the connections to it. */
export class Endpoint {
  readonly address: string
  readonly #access: Access
  readonly #agent: http.Agent | https.Agent
  #probe: NodeJS.Timeout | null = null

  constructor(address: string, access: Access) {
    this.address = address
    this.#access = access
    const options = { keepAlive: true, maxSockets: CONNECTIONS }
    this.#agent = this.#socketPath === null ? new https.Agent(options) : new http.Agent(options)
  }

  /** True if the member did not answer: others are asked first, so that no caller waits for it. */
  get isShunned(): boolean {
    return this.#probe !== null
  }

  shun(): void {
    this.#probe ??= setTimeout(async () => {
      const isBack = await this.send('GET', '/1.0', { timeoutMs: PROBE_MS }).then(
        async (response) => (await buffer(response)) && response.statusCode !== 503,
        () => false,
      )
      if (this.#probe === null) return
      this.#probe = null
      if (!isBack) this.shun()
    }, PROBE_MS).unref()
  }

  /** @throws Error if the connection fails or times out */
  async send(
    method: string,
    path: string,
    { body, file, headers = {}, timeoutMs }: Sent,
  ): Promise<IncomingMessage> {
    const limit = timeoutMs ?? (file === undefined ? CALL_MS : UPLOAD_MS)
    const text = body === undefined ? undefined : JSON.stringify(body)
    const length = file === undefined ? Buffer.byteLength(text ?? '') : (await stat(file)).size
    const options = {
      method,
      agent: this.#agent,
      signal: AbortSignal.timeout(limit),
      headers: { 'content-type': 'application/json', 'content-length': length, ...headers },
    }
    const request =
      this.#socketPath === null
        ? https.request(new URL(path, this.address), { ...options, ...this.#tls })
        : http.request({ ...options, socketPath: this.#socketPath, host: 'incus', path })
    giveUpConnecting(request)
    const answered = once(request, 'response')
    // An error without a listener would end the service; the request reports it.
    if (file === undefined) request.end(text)
    else pipeline(createReadStream(file), request).catch(() => {})
    const [response] = await answered
    return response as IncomingMessage // the event's argument
  }

  socket(path: string): WebSocket {
    if (this.#socketPath === null)
      return new WebSocket(new URL(path, this.address.replace(/^http/, 'ws')), this.#tls)
    return new WebSocket(`ws+unix:${this.#socketPath}:${path}`, { headers: { host: 'incus' } })
  }

  close(): void {
    if (this.#probe) clearTimeout(this.#probe)
    this.#probe = null
    this.#agent.destroy()
  }

  get #socketPath(): string | null {
    return this.address.startsWith('unix:') ? this.address.slice('unix:'.length) : null
  }

  /** The cluster signs its certificate itself, so this compares the whole certificate instead of its name. */
  get #tls(): https.RequestOptions {
    return { ...this.#access.tls, checkServerIdentity: () => undefined }
  }
}

/**
 * A client of the REST API of Incus and LXD, which differ only in names of headers. It uses Node's http module, because
 * fetch and WebSocket do not support unix sockets.
 */
export class IncusClient {
  readonly endpoints: readonly Endpoint[]

  constructor(access: Access) {
    this.endpoints = access.addresses.map((address) => new Endpoint(address, access))
  }

  /** @throws IncusError */
  async get<T>(path: string, timeoutMs?: number): Promise<T> {
    const { metadata } = await this.call('GET', path, timeoutMs === undefined ? {} : { timeoutMs })
    return metadata as T // as the API documents it for this path
  }

  /** Reads a resource with the tag of this version of it, for the header If-Match. @throws IncusError */
  async tagged<T>(path: string): Promise<{ value: T; tag: string | undefined }> {
    const read = await this.#read('GET', path, {})
    return { value: parsed(read).metadata as T, tag: read.headers.etag } // as the API documents it for this path
  }

  /** Sends a call. If it begins an operation, the reply does not wait for its end. @throws IncusError */
  async call(method: string, path: string, sent: Sent = {}): Promise<Reply> {
    return parsed(await this.#read(method, path, sent))
  }

  /** Reads a file. @throws IncusError */
  async bytes(path: string): Promise<Buffer> {
    const { status, body } = await this.#read('GET', path, {})
    if (status >= 400) parsed({ status, body })
    return body
  }

  /** Begins to read a file of any size; the caller reads the reply to its end, or destroys it. @throws IncusError */
  async stream(path: string, sent: Pick<Sent, 'headers' | 'timeoutMs'>): Promise<IncomingMessage> {
    const response = await this.#ask('GET', path, sent, async (reply) => reply)
    const status = response.statusCode ?? 0
    if (status >= 400) parsed({ status, body: await buffer(response) })
    return response
  }

  /** The type of a file of an instance: `file`, `directory` or `symlink`; null: it does not exist. @throws IncusError */
  async typeOf(path: string): Promise<string | null> {
    const { status, headers } = await this.#read('HEAD', path, {})
    if (status === 404) return null
    if (status >= 400) throw new IncusError(status, `The cluster answered ${status}`)
    return String(headers['x-incus-type'] ?? headers['x-lxd-type'])
  }

  /** Opens a WebSocket to the first member that is not avoided. */
  socket(path: string): WebSocket {
    const [endpoint] = this.#inOrder()
    if (!endpoint) throw new IncusError(0, 'The zone has no addresses')
    const socket = endpoint.socket(path)
    socket.on('error', () => endpoint.shun())
    return socket
  }

  close(): void {
    for (const endpoint of this.endpoints) endpoint.close()
  }

  async #read(method: string, path: string, sent: Sent): Promise<Read> {
    return this.#ask(method, path, sent, async (response) => {
      const { statusCode = 0, headers } = response
      return { status: statusCode, body: await buffer(response), headers }
    })
  }

  async #ask<T>(
    method: string,
    path: string,
    sent: Sent,
    read: (response: IncomingMessage) => Promise<T>,
  ): Promise<T> {
    let failure: unknown
    for (const endpoint of sent.endpoint ? [sent.endpoint] : this.#inOrder()) {
      try {
        const response = await endpoint.send(method, path, sent)
        // The member is starting, or shutting down.
        if (response.statusCode !== 503) return await read(response)
        response.resume()
        failure = new IncusError(503, 'The member is not ready')
        endpoint.shun()
      } catch (error) {
        failure = error
        endpoint.shun()
        if (!['GET', 'HEAD'].includes(method) && !wasUnsent(error)) break
      }
    }
    if (failure instanceof IncusError) throw failure
    throw new IncusError(0, `No member of the cluster answers: ${messageOf(failure)}`, { cause: failure })
  }

  #inOrder(): Endpoint[] {
    return this.endpoints.toSorted((a, b) => Number(a.isShunned) - Number(b.isShunned))
  }
}

/** @throws IncusError */
function parsed({ status, body }: Omit<Read, 'headers'>): Reply {
  let reply: Reply
  try {
    reply = JSON.parse(body.toString('utf8')) as Reply // as every path of the API replies
  } catch {
    throw new IncusError(status, `The cluster answered ${status} without JSON`)
  }
  if (reply.type === 'error') throw new IncusError(reply.error_code, reply.error)
  return reply
}

function wasUnsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && UNSENT.includes(String(error.code))
}

/** Fails a request whose connection takes too long, before any of it is sent. */
function giveUpConnecting(request: ClientRequest): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return
    const fault = Object.assign(new Error('The connection took too long'), { code: 'ECONNTIME' })
    const timer = setTimeout(() => request.destroy(fault), CONNECT_MS)
    for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer))
  })
}

/** Appends a query to a path, without undefined values. */
export function at(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
