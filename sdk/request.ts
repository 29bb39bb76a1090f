import { BerthError, ConnectionError, TimeoutError } from './errors.ts'
import type { Problem, Routes } from './openapi.ts'
import { isWorthRetrying, pauseMs, type Retries, retryAfterMs, retryAfterOf } from './retries.ts'

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface Settings extends Retries {
  /** Address of the API, including /v1; in a browser it may be a path. */
  baseUrl: string
  token: string | undefined
  /** Timeout of one attempt. */
  timeoutMs: number
  fetch: Fetch
}

/** Options of every call. */
export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Timeout of one attempt; default: the timeout of the client. */
  timeoutMs?: number | undefined
  /**
   * The key under which a POST or DELETE is carried out only once, so that it can be retried. Default: for a POST a new
   * one for each call, for a DELETE none.
   */
  idempotencyKey?: string | undefined
  /** For a PATCH: the ETag that it is based on; it is rejected if the object has changed since. */
  ifMatch?: string | undefined
  /** For a part of a file, a Blob: its place in the file. */
  uploadOffset?: number | undefined
  /** Called with the raw reply, for its status and headers such as ETag and RateLimit. */
  onReply?: ((reply: Response) => void) | undefined
}

export type Route = keyof Routes
export type Reply<R extends Route> = Routes[R]['reply']
export type Query<R extends Route> = Routes[R] extends { query?: infer Q } ? NonNullable<Q> : never
/** The path, query and body of a route. */
export type Parts<R extends Route> = Omit<Routes[R], 'reply'>

/** Calls a route and returns the body of its reply. */
export type Call = <R extends Route>(route: R, parts: Parts<R>, options?: CallOptions) => Promise<Reply<R>>

interface Sent {
  route: string
  method: string
  url: string
  headers: Record<string, string>
  body?: string | Blob
}

/** A POST that changes nothing can be repeated without a key. */
const READS_BY_POST = ['POST /pricing/quote']

/** Every method goes through this: sends a request, retries it, and reads the reply. */
export function caller(settings: Settings): Call {
  return async (route, parts, options = {}) => {
    const { reply, value } = await send(settings, route, parts, options, async (reply) => ({
      reply,
      value: await read(reply),
    }))
    options.onReply?.(reply)
    return value as Reply<typeof route> // the API's own tests hold its replies to openapi.json
  }
}

/**
 * Sends a request, and retries it until it succeeds or a retry would not help.
 * @param read reads the reply; it is part of the attempt and counts towards the timeout
 * @throws BerthError, ConnectionError, TimeoutError; the signal's reason if it is aborted
 */
export async function send<T>(
  settings: Settings,
  route: string,
  parts: { path?: object | undefined; query?: object | undefined; body?: unknown },
  options: CallOptions & { headers?: Record<string, string> },
  read: (reply: Response) => Promise<T>,
): Promise<T> {
  const [method = '', path = ''] = route.split(' ')
  const request: Sent = {
    route,
    method,
    url: settings.baseUrl + fill(path, parts.path ?? {}) + queryOf(parts.query ?? {}),
    headers: { ...headersOf(settings, route, options), ...options.headers },
    ...(parts.body === undefined ? {} : { body: bodyOf(parts.body) }),
  }
  for (let attempt = 0; ; attempt += 1) {
    options.signal?.throwIfAborted()
    const outcome = await tryOnce(settings, request, options, read)
    if ('reply' in outcome) return outcome.reply
    const { error } = outcome
    const isRepeatable = method === 'GET' || method === 'POST' || 'idempotency-key' in request.headers
    const waitMs = isWorthRetrying(isRepeatable, error) ? retryAfterMs(error) : null
    if (waitMs === null || attempt >= settings.retries) throw error
    await settings.sleep(waitMs + pauseMs(attempt, settings.random), options.signal)
  }
}

/** @throws only the reason of the caller's signal */
async function tryOnce<T>(
  settings: Settings,
  { route, url, ...init }: Sent,
  { signal, timeoutMs = settings.timeoutMs }: CallOptions,
  read: (reply: Response) => Promise<T>,
): Promise<{ reply: T } | { error: Error }> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), timeoutMs)
  try {
    const either = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal
    // Following a redirect would turn a POST into a GET, and send the body to another address.
    const reply = await settings.fetch(url, { ...init, signal: either, redirect: 'manual' })
    return reply.ok ? { reply: await read(reply) } : { error: await refusal(reply) }
  } catch (error) {
    signal?.throwIfAborted()
    if (timeout.signal.aborted) return { error: new TimeoutError(route, timeoutMs) }
    return { error: error instanceof BerthError ? error : new ConnectionError(url, error) }
  } finally {
    clearTimeout(timer)
  }
}

function bodyOf(body: unknown): string | Blob {
  return body instanceof Blob ? body : JSON.stringify(body)
}

function headersOf({ token }: Settings, route: string, options: CallOptions): Record<string, string> {
  const isPost = route.startsWith('POST ')
  const makesSomething = isPost && !READS_BY_POST.includes(route)
  const given = route.startsWith('DELETE ') ? options.idempotencyKey : undefined
  const key = makesSomething ? (options.idempotencyKey ?? randomKey()) : given
  const { uploadOffset: offset } = options
  const type = offset === undefined ? 'application/json' : 'application/octet-stream'
  return {
    accept: 'application/json',
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...(isPost || /^(PATCH|PUT) /.test(route) ? { 'content-type': type } : {}),
    ...(offset === undefined ? {} : { 'upload-offset': String(offset) }),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
    ...(options.ifMatch ? { 'if-match': options.ifMatch } : {}),
  }
}

/** crypto.randomUUID exists only on https pages. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function fill(path: string, values: object): string {
  const known = new Map<string, unknown>(Object.entries(values))
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = known.get(name)
    // An empty value, or one with slashes and dots, would name another route.
    if (typeof value !== 'string' || !/^[\w-]+$/.test(value))
      throw new TypeError(`${name} must be an id, not "${value}".`)
    return value
  })
}

function queryOf(query: object): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return String(given) && `?${given}`
}

async function read(reply: Response): Promise<unknown> {
  if (reply.status === 204) return undefined
  const type = reply.headers.get('content-type') ?? ''
  if (type.startsWith('application/json')) return jsonOf(reply, 'with invalid JSON')
  if (type.startsWith('text/csv')) return reply.text()
  if (type.startsWith('application/pdf')) return reply.blob()
  throw unexpected(reply, `with ${type || 'nothing'}, not JSON`)
}

async function refusal(reply: Response): Promise<BerthError> {
  // Browsers hide everything about a redirect, even its status.
  if (reply.type === 'opaqueredirect') return unexpected(reply, 'with a redirect')
  const location = reply.headers.get('location')
  if (location !== null) return unexpected(reply, `with a redirect to ${location}`)
  const isProblem = reply.headers.get('content-type')?.startsWith('application/problem+json')
  const problem = isProblem ? await jsonOf(reply, 'without a problem document') : undefined
  return isProblemDocument(problem)
    ? new BerthError(problem, retryAfterOf(reply))
    : unexpected(reply, 'without a problem document')
}

/** @throws BerthError if it is not JSON */
async function jsonOf(reply: Response, otherwise: string): Promise<unknown> {
  try {
    return await reply.json()
  } catch (error) {
    // Anything else is a broken connection.
    throw error instanceof SyntaxError ? unexpected(reply, otherwise) : error
  }
}

/** Checks the members that are used: a proxy may send something similar. */
function isProblemDocument(value: unknown): value is Problem {
  if (typeof value !== 'object' || value === null) return false
  const { status, code, detail, request_id, errors = [] } = value as Partial<Problem> // each is checked
  const texts: unknown[] = [code, detail, request_id]
  return (
    Number.isInteger(status) &&
    texts.every((text) => typeof text === 'string') &&
    Array.isArray(errors) &&
    errors.every((error) => typeof error?.message === 'string')
  )
}

/** The error for a reply that is not from Berth, but from a proxy or another program at this address. */
export function unexpected(reply: Response, how: string): BerthError {
  const problem = {
    type: 'about:blank',
    title: 'Unexpected reply',
    status: reply.status,
    detail: `${reply.url} answered ${reply.status} ${how}. Check the address, and whether a proxy is in between.`,
    instance: reply.url,
    code: 'unexpected_reply',
    request_id: reply.headers.get('x-request-id') ?? '',
  }
  return new BerthError(problem, retryAfterOf(reply))
}
