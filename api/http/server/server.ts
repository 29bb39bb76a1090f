import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyContextConfig,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { Type } from 'typebox'
import type { Clock } from '../../clock.ts'
import type { FullDisk } from '../../database/full-disk.ts'
import type { Actor, Caller, SignedIn } from '../contract/auth.ts'
import { etagOf, namesEtag } from '../contract/etag.ts'
import { ApiError, httpProblems, invalid, notFound } from '../contract/problem.ts'
import { replyChecker } from '../contract/reply-check.ts'
import { acceptedBy, audienceOf, carriesEtag, PREFIX, type Route, takesKey } from '../contract/route.ts'
import { compileCheck, lowerIds } from '../contract/validation.ts'
import { boundConnections, protect, refuseRaw, slowConnections, timeouts } from '../limits/connections.ts'
import { addressOf, callerOf, type Origin, onBehalfOf } from '../limits/origin.ts'
import type { RateLimiter } from '../limits/rate-limit.ts'
import type { Turns } from '../limits/turns.ts'
import { boundUnread } from '../limits/unread.ts'
import { admit, type Credentials, countRefusal, holdTo } from './admission.ts'
import { actorOf, HttpCall, type Known, knownOf } from './call.ts'
import { openPaths } from './docs.ts'
import type { Idempotency } from './idempotency.ts'
import { acceptBodies } from './json.ts'
import { isForPage } from './pages.ts'
import { carryOut, claimer, keepReply, loadToRemove } from './repeats.ts'
import type { SecurityLog } from './security-log.ts'
import { BODY_LIMIT, isBodyComing, sendProblem, toApiError } from './send-problem.ts'
import { type Place, placeOf, unknownRoute } from './unknown-route.ts'
import { isForSocket, mountSockets, type SocketRoute } from './websocket.ts'

const MAX_CONTENT_TYPE = 200
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Another API on the same listener, with its own routes and error format. */
export interface MountedApi {
  /** The path that all its routes begin with. */
  prefix: string
  mount(http: FastifyInstance): void
  sendError: typeof sendProblem
}

export interface HttpOptions {
  /** A sentence for the end of an error's detail, such as the operator's contact. */
  adviceOn?: (code: string, accountId: string | null) => string | null
  routes: readonly Route[]
  sockets: readonly SocketRoute[]
  otherApis?: readonly MountedApi[]
  /** The console is served at `/`, and browsers open its pages. */
  hasPages: boolean
  /** The address at which customers find the service, if it is known. */
  publicUrl?: string | undefined
  /** @throws ApiError 401, or 403 for a token that may not be used from the address */
  authenticate: (credentials: Credentials) => Promise<Caller>
  /** @throws ApiError if the person is not an operator */
  requireOperator: (signedIn: SignedIn) => Promise<void>
  rateLimiter: RateLimiter
  turns: Turns
  /** Runs a request on behalf of its caller, who has a share of common resources (default: nothing is shared). */
  asCaller?: (caller: string, run: () => void) => void
  idempotency: Idempotency
  log: FastifyBaseLogger
  clock: Clock
  security: SecurityLog
  disk: FullDisk
  /** Ranges of the proxies whose X-Forwarded-For is trusted. */
  trustProxy: readonly string[]
  /** Called for each request that was replied to. */
  observe?:
    | ((request: { method: string; route: string; status: number; seconds: number }) => void)
    | undefined
  /** Tests: a reply that its schema does not describe becomes a 500. */
  validateReplies?: boolean
}

/** A path without a route, for requests whose path can't be decoded. */
const UNREADABLE = '/unreadable'

function isReadable(url: string): boolean {
  try {
    decodeURI(url.split(/[?#]/)[0] ?? '')
    return true
  } catch {
    return false
  }
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
    // Input that never becomes a request counts, too: invalid input must not bypass the limit.
    clientErrorHandler: (error, socket) =>
      refuseRaw(error, socket, options.rateLimiter.take('anonymous', socket.remoteAddress ?? '').headers),
    // The router would refuse an unreadable path before the hooks know the caller and the proxy.
    rewriteUrl: (request) => {
      const { url = '/' } = request
      if (!isReadable(url)) return UNREADABLE
      return options.hasPages && isForPage(request) ? '/' : url
    },
    // Requests that were sent in time are answered.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestTimeout: timeouts.requestTimeout,
    keepAliveTimeout: timeouts.keepAliveTimeout,
    connectionTimeout: timeouts.connectionTimeout,
    // Node's own refusal is an empty 400.
    http: {
      ...slowConnections,
      requireHostHeader: false,
      headersTimeout: timeouts.headersTimeout,
      shouldUpgradeCallback: (request) => isForSocket(options.sockets, request),
    },
  })
  boundConnections(http.server, options.trustProxy, (socket) =>
    refuseRaw(new Error('a body in tiny pieces'), socket, {}),
  )
  http.server.on('connection', () => options.turns.accepted())
  // Node would refuse an Expect that it does not know by itself, without a problem document; it may be ignored.
  http.server.on('checkExpectation', (request, reply) => http.server.emit('request', request, reply))
  http.decorateRequest('known', null)
  addHooks(http, options)
  boundUnread(http, options.clock)
  acceptBodies(http, options.turns)
  const { routes, sockets } = options
  const gets = [...openPaths, ...sockets].map(({ path }) => ({ method: 'GET', path }))
  const places = [...gets, ...routes].map(placeOf)
  answerErrors(http, options, places)
  for (const { prefix, mount, sendError } of options.otherApis ?? [])
    http.register(
      async (inside) => {
        answerErrors(inside, options, [], sendError)
        mount(inside)
      },
      { prefix },
    )
  for (const route of routes) mount(http, route, options, places)
  mountSockets(http, options.sockets, options.publicUrl)
  return http
}

/** Adds the hooks that run for every request. */
function addHooks(http: FastifyInstance, options: HttpOptions): void {
  const { observe, security } = options
  if (observe)
    http.addHook('onResponse', async ({ method, routeOptions }, reply) => {
      const route = routeOptions.url ?? 'none'
      observe({ method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1000 })
    })
  http.addHook('onResponse', async (request, reply) => {
    const report = request.known?.report
    if (report && reply.statusCode < 400) security.reported(request, report)
  })
  http.addHook('onRequest', async (request, reply) => {
    protect(request, reply)
    if (request.routeOptions.config.isFree) return requireHost(request)
    reply.header('x-request-id', request.id)
    await admit(request, reply, options)
    requireHost(request)
    // The body is checked even if the path does not exist.
    if (request.is404) requireShortType(request)
  })
  const { asCaller } = options
  // This uses a callback, because the context of an async hook would not last until the handler.
  if (asCaller) http.addHook('onRequest', (request, _reply, done) => asCaller(callerOf(request), done))
}

function answerErrors(
  http: FastifyInstance,
  { security, rateLimiter, disk, adviceOn = () => null }: HttpOptions,
  places: readonly Place[],
  send = sendProblem,
): void {
  http.setErrorHandler(async (error: FastifyError, request, reply) => {
    // Bytes that arrived with the head are read from the socket only after its first check.
    if (isBodyComing(request)) await new Promise(setImmediate)
    if (disk.note(error)) request.log.error({ err: error, request_id: request.id }, 'a change was not stored')
    const problem = toApiError(error)
    const isNoted = error === request.known?.refusal && request.headers.authorization
    if (!isNoted) security.refused(request, problem)
    const counted = countRefusal(problem, request, reply, rateLimiter)
    if (!(counted instanceof ApiError)) return send(counted, request, reply)
    const advice = adviceOn(counted.type.code, request.known?.actor?.accountId ?? null)
    return send(advice === null ? counted : counted.with(advice), request, reply)
  })
  http.setNotFoundHandler(async (request) => {
    if (!isReadable(request.originalUrl))
      throw new ApiError(httpProblems.bad_request, 'The path is not valid: a % must precede two hex digits.')
    throw unknownRoute(places, request)
  })
}

/** @throws ApiError bad_request for what HTTP/1.1 does not allow (RFC 9112, 3.2) */
function requireHost({ raw }: FastifyRequest): void {
  const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  if (hosts.length > 1)
    throw new ApiError(httpProblems.bad_request, 'The request has more than one Host header.')
  if (raw.headers.host === undefined && raw.httpVersion === '1.1')
    throw new ApiError(httpProblems.bad_request, 'The request has no Host header, which HTTP/1.1 requires.')
}

/**
 * Checks the length of a Content-Type before it is parsed, since parsers of its parameters are slow on long values.
 * @throws ApiError unsupported_media_type
 */
function requireShortType({ headers }: FastifyRequest): void {
  if ((headers['content-type']?.length ?? 0) > MAX_CONTENT_TYPE)
    throw new ApiError(
      httpProblems.unsupported_media_type,
      `Send the body as application/json: a Content-Type may have at most ${MAX_CONTENT_TYPE} characters.`,
    )
}

const refuseQuery = compileCheck('query', Type.Object({}))

function mount(http: FastifyInstance, route: Route, options: HttpOptions, places: readonly Place[]): void {
  const checkQuery = route.query ? compileCheck('query', route.query) : refuseQuery
  const checkBody = route.body && compileCheck('body', route.body)
  const isRemoval = route.method === 'DELETE' && takesKey(route)
  const [success = 200] = Object.keys(route.reply).map(Number)

  // Fastify is given no schemas. Checks run in our own hook, so that path, query and body are reported together and in
  // the contract's order; and JSON.stringify is faster than its serializers for replies.
  http.route({
    method: route.method,
    url: `${PREFIX}${route.path}`,
    config: configOf(route),
    onRequest: async (request, reply) => {
      const known = knownOf(request)
      requireIds(request, places)
      await holdTo(route, request, options)
      known.params = readParams(request, route)
      const { load } = route
      if (load) {
        const find = () => load(loadingOf(known))
        known.loaded = await (isRemoval
          ? loadToRemove({ idempotency: options.idempotency, route, request, reply }, find)
          : find())
        if (reply.sent) return reply
      }
      requireShortType(request)
    },
    preHandler: [
      ...(takesKey(route) && !isRemoval ? [claimer(options.idempotency, route)] : []),
      (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
        request.body ??= {}
        const issues = [...checkQuery(request.query), ...(checkBody?.(request.body) ?? [])]
        if (issues.length > 0) throw invalid(issues)
        lowerIds(request.query)
        if (!route.partBytes) lowerIds(request.body)
        done()
      },
    ],
    ...(options.validateReplies ? { preSerialization: replyChecker(route) } : {}),
    ...(carriesEtag(route) ? { onSend: tagReply } : {}),
    ...(takesKey(route)
      ? { onSend: (request, reply, body) => keepReply(options.idempotency, request, reply, body) }
      : {}),
    handler: async (request, reply) => {
      reply.code(success).header('cache-control', 'no-store')
      const known = knownOf(request)
      const call = new HttpCall({ ...options, request, reply, route, known })
      const body = await onBehalfOf(originOf(request, route, known), () => carryOut(route, call, known))
      if (route.contentType) reply.type(withCharset(route.contentType))
      return request.method === 'HEAD' && body instanceof Readable
        ? reply.send(body.destroy() && '')
        : (body ?? reply.send())
    },
  })
}

function withCharset(type: string): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}

/** The facts of a route that hooks need before it. */
function configOf(route: Route): FastifyContextConfig {
  return {
    action: route.id,
    ...(route.makesNothing ? { isRead: true } : {}),
    ...(route.partBytes ? { takesPart: true } : {}),
    ...(route.scope === 'person' || route.isAboutAccess ? { isOwn: true } : {}),
    ...(audienceOf(route) ? {} : { accepted: acceptedBy(route) }),
  }
}

/** Adds an ETag to a reply; a client that has this version gets no body (RFC 9110, 13.1.2). */
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

/** The argument of a route's `load`. Operators need not be in an account. */
function loadingOf(known: Known): { readonly actor: Actor; params: Record<string, string> } {
  return {
    params: known.params,
    get actor() {
      return actorOf(known)
    },
  }
}

function originOf(
  request: FastifyRequest,
  { id, scope }: Route,
  { actor, signedIn, operator }: Known,
): Origin {
  const accountId = scope?.startsWith('operator:') ? undefined : actor?.accountId
  return {
    // Customers see it in their audit, as they see the operator's commands.
    action: operator ? `${id}, by the operator's token ${operator.name}` : id,
    requestId: request.id,
    address: addressOf(request),
    tokenId: actor?.tokenId ?? null,
    person: signedIn,
    ...(accountId === undefined ? {} : { accountId }),
  }
}

/**
 * The router takes a slash at the end of a path for an empty id.
 * @throws ApiError route_not_found
 */
function requireIds(request: FastifyRequest, places: readonly Place[]): void {
  if (Object.values(Object(request.params)).includes('')) throw unknownRoute(places, request)
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
