import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { isUnavailable } from '../database/database.ts'
import { type Actor, insufficientScope } from './auth.ts'
import { type Admitted, HttpCall, type Known } from './call.ts'
import { openPaths } from './docs.ts'
import { etagOf, namesEtag } from './etag.ts'
import type { Idempotency, StoredReply } from './idempotency.ts'
import { textOf } from './json.ts'
import { addressOf, onBehalfOf } from './origin.ts'
import { ApiError, httpProblems, invalid, notFound, Problem } from './problem.ts'
import type { RateLimiter, Verdict } from './rate-limit.ts'
import { acceptedBy, carriesEtag, PREFIX, type Route } from './route.ts'
import { closed, compileCheck, lowerIds } from './validation.ts'

const BODY_LIMIT = 256 * 1024
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export interface HttpOptions {
  routes: readonly Route[]
  /** @throws ApiError 401 */
  authenticate: (authorization: string | undefined) => Promise<Actor>
  rateLimiter: RateLimiter
  idempotency: Idempotency
  log: FastifyBaseLogger
  /** Ranges of the proxies whose X-Forwarded-For is believed. */
  trustProxy: readonly string[]
  /** Told of each request that was answered. */
  observe?:
    | ((request: { method: string; route: string; status: number; seconds: number }) => void)
    | undefined
  /** Tests: a reply that its schema does not describe becomes a 500. */
  validateReplies?: boolean
}

/** The HTTP server with every route mounted; not listening yet. */
export function buildHttp(options: HttpOptions): FastifyInstance {
  const http: FastifyInstance = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    trustProxy: [...options.trustProxy],
    genReqId: () => randomUUID(),
    // Ids of any length reach the routes, which answer 404; Node bounds the whole head of a request.
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 16_384 },
    // What never becomes a request of a route's is counted too: nonsense is no way around the limit.
    clientErrorHandler: (error, socket) =>
      refuseRaw(error, socket, options.rateLimiter.take('anonymous', socket.remoteAddress ?? '')),
    frameworkErrors: (error, request, reply) => {
      const verdict = options.rateLimiter.take('anonymous', addressOf(request))
      reply.headers(verdict.headers)
      sendProblem(verdict.isAllowed ? toApiError(error) : tooMany(verdict), request, reply)
    },
    forceCloseConnections: true,
    // Node's own refusal is an empty 400.
    http: { requireHostHeader: false },
  })
  // Node would refuse an Expect that it does not know by itself, without a problem document; it may be ignored.
  http.server.on('checkExpectation', (request, reply) => http.server.emit('request', request, reply))
  http.decorateRequest('known', null)
  const { observe } = options
  if (observe)
    http.addHook('onResponse', async ({ method, routeOptions }, reply) => {
      const route = routeOptions.url ?? 'none'
      observe({ method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1000 })
    })
  http.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isFree) return
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    request.known = await admit(request, reply, options)
    requireHost(request)
  })
  acceptJson(http)
  http.setErrorHandler((error: FastifyError, request, reply) =>
    sendProblem(toApiError(error), request, reply),
  )
  http.setNotFoundHandler(async (request) => {
    throw unknownRoute(options.routes, request)
  })
  for (const route of options.routes) mount(http, route, options)
  return http
}

/** Finds out who asks and counts the request, before anything else is looked at. */
async function admit(request: FastifyRequest, reply: FastifyReply, options: HttpOptions): Promise<Known> {
  const known: Known = { actor: null, refusal: null, params: {}, loaded: undefined, claim: null }
  try {
    known.actor = await options.authenticate(request.headers.authorization)
  } catch (error) {
    known.refusal = error
  }
  const { method, routeOptions } = request
  const isRead = method === 'GET' || method === 'HEAD' || routeOptions.config.isRead === true
  const verdict = known.actor
    ? options.rateLimiter.take(isRead ? 'reads' : 'writes', known.actor.tokenId)
    : options.rateLimiter.take('anonymous', addressOf(request))
  reply.headers(verdict.headers)
  if (verdict.isAllowed) return known
  throw tooMany(verdict)
}

/** @throws ApiError bad_request for what HTTP/1.1 does not allow (RFC 9112, 3.2) */
function requireHost({ raw }: FastifyRequest): void {
  if (raw.headers.host === undefined && raw.httpVersion === '1.1')
    throw new ApiError(httpProblems.bad_request, 'The request has no Host header, which HTTP/1.1 asks for.')
}

function tooMany({ retryAfterSeconds }: Verdict): ApiError {
  return new ApiError(httpProblems.rate_limited, `Too many requests. Try again in ${retryAfterSeconds} s.`)
}

/** @throws the reason why the request has no actor */
function admitted({ known }: FastifyRequest): Admitted {
  if (known && hasActor(known)) return known
  throw known?.refusal ?? new Error('the request came past its hooks')
}

function hasActor(known: Known): known is Admitted {
  return known.actor !== null
}

function mount(http: FastifyInstance, route: Route, options: HttpOptions): void {
  const checkQuery = route.query && compileCheck('query', route.query)
  const checkBody = route.body && compileCheck('body', closed(route.body))
  const [success = 200] = Object.keys(route.reply).map(Number)

  // Fastify is given no schemas. Checks run in our own hook, so that path, query and body are reported together and
  // in the contract's order; and JSON.stringify is faster than what it would make of those of replies.
  http.route({
    method: route.method,
    url: `${PREFIX}${route.path}`,
    ...(route.makesNothing ? { config: { isRead: true } } : {}),
    onRequest: async (request) => {
      const known = admitted(request)
      requireScope(known.actor, route)
      known.params = readParams(request, route)
      if (route.load) known.loaded = await route.load(known)
    },
    preHandler: [
      ...(route.method === 'POST' ? [claimer(options.idempotency)] : []),
      (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
        request.body ??= {}
        const issues = [...(checkQuery?.(request.query) ?? []), ...(checkBody?.(request.body) ?? [])]
        if (issues.length > 0) throw invalid(issues)
        lowerIds(request.query)
        lowerIds(request.body)
        done()
      },
    ],
    ...(options.validateReplies ? { preSerialization: replyChecker(route) } : {}),
    ...(carriesEtag(route) ? { onSend: tagReply } : {}),
    ...(route.method === 'POST'
      ? { onSend: (request, reply, body) => keepReply(options, request.known, reply, body) }
      : {}),
    handler: async (request, reply) => {
      reply.code(success).header('cache-control', 'no-store')
      const known = admitted(request)
      const call = new HttpCall({ request, reply, route, known, idempotency: options.idempotency })
      const madeId = known.claim?.madeId ?? null
      const origin = { action: route.id, requestId: request.id, address: addressOf(request) }
      const body = await onBehalfOf({ ...origin, tokenId: known.actor.tokenId }, () =>
        madeId !== null && route.recover ? route.recover(call, madeId) : route.run(call),
      )
      if (route.contentType) reply.type(`${route.contentType}; charset=utf-8`)
      return request.method === 'HEAD' && body instanceof Readable
        ? reply.send(body.destroy() && '')
        : (body ?? reply.send())
    },
  })
}

/** Tags what is shown; a reader who has seen just this needs no body (RFC 9110, 13.1.2). */
function tagReply(
  request: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
  done: (error: null, body: unknown) => void,
): void {
  if (typeof body !== 'string' || reply.statusCode >= 400) {
    done(null, body)
    return
  }
  const etag = etagOf(body)
  reply.header('etag', etag)
  const seen = request.headers['if-none-match']
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const isSeen = isRead && seen !== undefined && namesEtag(seen, etag)
  if (isSeen) reply.code(304).removeHeader('content-type').removeHeader('content-length')
  // Fastify's own hook for HEAD, which comes after this one, takes any body but null.
  done(null, isSeen ? (request.method === 'HEAD' ? '' : null) : body)
}

function pathOf(request: FastifyRequest): string {
  return `${request.method} ${request.url.split('?')[0] ?? ''}`
}

/** Makes a POST that has an Idempotency-Key the only one of its key, or repeats the reply of the first. */
function claimer(idempotency: Idempotency) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const key = request.headers['idempotency-key']
    if (key === undefined) return
    const known = admitted(request)
    const begun = await idempotency.begin(known.actor, pathOf(request), String(key), request.body ?? {})
    if ('replay' in begun) return replay(reply, begun.replay)
    known.claim = begun.claim
  }
}

const KEPT_HEADERS = ['content-type', 'location', 'link', 'retry-after']

/** Keeps the reply of a request that had an Idempotency-Key, before it leaves. */
async function keepReply(
  { idempotency }: HttpOptions,
  known: Known | null,
  reply: FastifyReply,
  body: unknown,
): Promise<unknown> {
  const claim = known?.claim
  if (!claim) return body
  const status = reply.statusCode
  // What another token, a later moment or a repair would answer otherwise is not the request's own reply.
  if (status === 401 || status === 403 || status === 429 || status >= 500) await idempotency.giveUp(claim)
  else {
    const headers = Object.fromEntries(
      KEPT_HEADERS.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
    )
    await idempotency.finish(claim, { status, headers, body: typeof body === 'string' ? body : '' })
  }
  return body
}

function replay(reply: FastifyReply, { status, headers, body }: StoredReply): FastifyReply {
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers, 'idempotency-replayed': 'true' })
    .serializer((text: unknown) => String(text))
    .send(body)
}

function requireScope(actor: Actor, route: Route): void {
  const accepted = acceptedBy(route)
  if (accepted.some((name) => actor.scopes.includes(name))) return
  const detail = `This needs a token with the scope ${accepted.join(' or ')}.`
  throw insufficientScope(detail, route.scope, accepted)
}

/** Path parameters are UUIDs; any other value names nothing that exists. */
function readParams(request: FastifyRequest, route: Route): Record<string, string> {
  if (!route.params) return {}
  const given = request.params as Record<string, string> // the router gives a string for each :name of the path
  const params: Record<string, string> = {}
  for (const [name, missing] of Object.entries(route.params)) {
    const value = given[name] ?? ''
    if (!UUID.test(value)) throw notFound(missing)
    params[name] = value.toLowerCase()
  }
  return params
}

function acceptJson(http: FastifyInstance): void {
  const parse = http.getDefaultJsonParser('error', 'error')
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    // Clients that always send the header, also on a POST without a body, are common.
    if (body.length === 0) return done(null, undefined)
    void parse(request, textOf(body, request.headers), done)
  })
}

function unknownRoute(routes: readonly Route[], request: FastifyRequest): ApiError {
  const path = request.url.split('?')[0] ?? ''
  const here = [...openPaths, ...routes].filter((route) =>
    new RegExp(`^${PREFIX}${route.path.replace(/:\w+/g, '[^/]+')}$`).test(path),
  )
  if (here.length === 0)
    return new ApiError(
      httpProblems.route_not_found,
      `There is nothing at ${path}. ${PREFIX}/docs shows what there is.`,
    )
  const methods = here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const allow = [...new Set(methods)].join(', ')
  return new ApiError(
    httpProblems.method_not_allowed,
    `${path} takes ${allow}, not ${request.method}.`,
    {},
    { allow },
  )
}

/** Requests that are no HTTP never become a request of Fastify's: the socket is all there is to answer on. */
function refuseRaw(error: Error & { code?: string }, socket: Socket, { headers }: Verdict): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, phrase] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const id = randomUUID()
  const problem = new ApiError(
    httpProblems.bad_request,
    `The request is not HTTP as it should be: ${phrase}.`,
  ).toProblem(id, '')
  const body = JSON.stringify({ ...problem, status })
  const head = [
    `HTTP/1.1 ${status} ${phrase}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function toApiError(error: unknown): ApiError | Error {
  if (error instanceof ApiError) return error
  const { code = '', statusCode = 500, message } = error as Partial<FastifyError> // anything can be thrown; each member is optional here
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ApiError(httpProblems.unsupported_media_type, 'Send the body as application/json.')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ApiError(httpProblems.payload_too_large, `A body may have up to ${BODY_LIMIT / 1024} KiB.`)
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY' || error instanceof SyntaxError)
    return new ApiError(
      httpProblems.invalid_json,
      'The body is not JSON, or has a key that no object may have, such as __proto__.',
    )
  if (isUnavailable(error))
    return new ApiError(
      httpProblems.backend_unavailable,
      'The service can not write or reach its database right now. Try again in a moment.',
      {},
      { 'retry-after': '5' },
    )
  if (statusCode >= 400 && statusCode < 500)
    return new ApiError(httpProblems.bad_request, `The request is malformed: ${message}.`)
  return error instanceof Error ? error : new Error(String(error))
}

function sendProblem(error: ApiError | Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  let problem = error
  if (!(problem instanceof ApiError)) {
    request.log.error({ err: error, request_id: request.id }, 'a request failed unexpectedly')
    problem = new ApiError(
      httpProblems.internal_error,
      'This is our fault, not yours. Try again; if it stays, name the request id to the operator.',
    )
  }
  const known = problem as ApiError // by the lines above
  if (known.type.status === 401) reply.header('www-authenticate', 'Bearer')
  const document = known.toProblem(request.id, request.url.split('?')[0] ?? '')
  return (
    reply
      .code(known.type.status)
      // The id again: a request that the router refuses never meets the hooks.
      .headers({ 'x-request-id': request.id, 'cache-control': 'no-store', ...known.headers })
      .type('application/problem+json')
      .serializer((value: unknown) => JSON.stringify(value))
      .send(document)
  )
}

/** Compares each reply with its schema: what is undocumented fails the test that saw it. */
function replyChecker(route: Route) {
  const checks = new Map(
    Object.entries(route.reply).map(([status, schema]) => [
      Number(status),
      schema && compileCheck('body', closed(schema)),
    ]),
  )
  const checkProblem = compileCheck('body', Problem)
  return async (_request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const check = reply.statusCode >= 400 ? checkProblem : checks.get(reply.statusCode)
    if (!check) throw new Error(`${route.id} replied ${reply.statusCode}, which it does not document`)
    const sent: unknown = JSON.parse(JSON.stringify(payload))
    const issues = check(sent)
    if (issues.length > 0)
      throw new Error(`${route.id} replied what its schema does not say: ${JSON.stringify(issues)}`)
    return payload
  }
}
