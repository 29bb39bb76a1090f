import { randomUUID } from 'node:crypto'
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
import { boundConnections, protect, refuseRaw, slowConnections, timeouts } from './connections.ts'
import { openPaths } from './docs.ts'
import { etagOf, namesEtag } from './etag.ts'
import type { Idempotency, StoredReply } from './idempotency.ts'
import { textOf } from './json.ts'
import { addressOf, onBehalfOf } from './origin.ts'
import { ApiError, httpProblems, invalid, notFound } from './problem.ts'
import type { RateLimiter, Verdict } from './rate-limit.ts'
import { replyChecker } from './reply-check.ts'
import { acceptedBy, carriesEtag, PREFIX, type Route } from './route.ts'
import { closed, compileCheck, lowerIds } from './validation.ts'

const BODY_LIMIT = 256 * 1024
const MAX_CONTENT_TYPE = 200
const MAX_KEPT_REFUSAL = 4_096
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
  /** Called for each request that was replied to. */
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
      refuseRaw(error, socket, options.rateLimiter.take('anonymous', socket.remoteAddress ?? '').headers),
    frameworkErrors: (error, request, reply) => {
      const verdict = options.rateLimiter.take('anonymous', addressOf(request))
      reply.headers(verdict.headers)
      protect(request, reply)
      sendProblem(verdict.isAllowed ? toApiError(error) : tooMany(verdict), request, reply)
    },
    forceCloseConnections: true,
    requestTimeout: timeouts.requestTimeout,
    keepAliveTimeout: timeouts.keepAliveTimeout,
    connectionTimeout: timeouts.connectionTimeout,
    // Node's own refusal is an empty 400.
    http: { ...slowConnections, requireHostHeader: false, headersTimeout: timeouts.headersTimeout },
  })
  boundConnections(http.server, options.trustProxy, (socket) =>
    refuseRaw(new Error('a body in tiny pieces'), socket, {}),
  )
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
    protect(request, reply)
    if (request.routeOptions.config.isFree) return
    reply.header('x-request-id', request.id)
    request.known = await admit(request, reply, options)
    requireHost(request)
    // Also where there is nothing, the body is looked at.
    if (request.is404) requireShortType(request)
  })
  acceptJson(http)
  http.setErrorHandler(async (error: FastifyError, request, reply) => {
    // What has come with the head is taken from the socket only after the first look at it.
    if (isBodyComing(request)) await new Promise(setImmediate)
    return sendProblem(toApiError(error), request, reply)
  })
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
  // To keep a reply for its key is to write.
  const isQuestion = routeOptions.config.isRead === true && request.headers['idempotency-key'] === undefined
  const isRead = method === 'GET' || method === 'HEAD' || isQuestion
  const verdict = known.actor
    ? options.rateLimiter.take(isRead ? 'reads' : 'writes', known.actor.accountId)
    : options.rateLimiter.take('anonymous', addressOf(request))
  reply.headers(verdict.headers)
  if (verdict.isAllowed) return known
  throw tooMany(verdict)
}

/** @throws ApiError bad_request for what HTTP/1.1 does not allow (RFC 9112, 3.2) */
function requireHost({ raw }: FastifyRequest): void {
  const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  if (hosts.length > 1)
    throw new ApiError(httpProblems.bad_request, 'The request has more than one Host header.')
  if (raw.headers.host === undefined && raw.httpVersion === '1.1')
    throw new ApiError(httpProblems.bad_request, 'The request has no Host header, which HTTP/1.1 requires.')
}

/** Before anybody parses it: parsers of its parameters take longer than it is. @throws ApiError unsupported_media_type */
function requireShortType({ headers }: FastifyRequest): void {
  if ((headers['content-type']?.length ?? 0) > MAX_CONTENT_TYPE)
    throw new ApiError(
      httpProblems.unsupported_media_type,
      `Send the body as application/json: a Content-Type has up to ${MAX_CONTENT_TYPE} characters.`,
    )
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
      requireShortType(request)
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
      const createdId = known.claim?.createdId ?? null
      const origin = { action: route.id, requestId: request.id, address: addressOf(request) }
      const body = await onBehalfOf({ ...origin, tokenId: known.actor.tokenId }, () =>
        createdId !== null && route.recover ? route.recover(call, createdId) : route.run(call),
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
  // What another token, a later moment or a repair would answer otherwise is not the request's own reply. Of a long
  // refusal, which made nothing, a repeat gets another one like it.
  const isLong = status >= 400 && typeof body === 'string' && body.length > MAX_KEPT_REFUSAL
  if (status === 401 || status === 403 || status === 429 || status >= 500 || isLong)
    await idempotency.giveUp(claim)
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
  const detail = `This requires a token with the scope ${accepted.join(' or ')}.`
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
      `No such path: ${path}. The API is documented at ${PREFIX}/docs.`,
    )
  const methods = here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const allow = [...new Set(methods)].join(', ')
  return new ApiError(
    httpProblems.method_not_allowed,
    `${path} allows ${allow}, not ${request.method}.`,
    {},
    { allow },
  )
}

function toApiError(error: unknown): ApiError | Error {
  if (error instanceof ApiError) return error
  const { code = '', statusCode = 500, message } = error as Partial<FastifyError> // anything can be thrown; each member is optional here
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ApiError(httpProblems.unsupported_media_type, 'Send the body as application/json.')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ApiError(httpProblems.payload_too_large, `The body may have ${BODY_LIMIT / 1024} KiB at most.`)
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY' || error instanceof SyntaxError)
    return new ApiError(
      httpProblems.invalid_json,
      'The body is not valid JSON, or has a forbidden key such as __proto__.',
    )
  if (isUnavailable(error))
    return new ApiError(
      httpProblems.backend_unavailable,
      'The database is unavailable right now. Try again in a moment.',
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
      'An unexpected error occurred. Try again; if it keeps happening, give the request id to the operator.',
    )
  }
  const known = problem as ApiError // by the lines above
  if (known.type.status === 401) reply.header('www-authenticate', 'Bearer')
  // Nobody reads what is left of a body that was refused.
  if (isBodyComing(request)) reply.header('connection', 'close')
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

function isBodyComing({ raw }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = raw.headers
  return !raw.complete && !raw.readableEnded && (coding !== undefined || length !== '0')
}
