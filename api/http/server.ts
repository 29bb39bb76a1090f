import { randomUUID } from 'node:crypto'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { type Actor, acceptedFor, holds } from './auth.ts'
import { ApiError, invalid, notFound, Problem } from './problem.ts'
import type { Route } from './route.ts'
import { closed, compileCheck } from './validation.ts'

const BODY_LIMIT = 256 * 1024
export const PREFIX = '/v1'
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export interface HttpOptions {
  routes: readonly Route[]
  /** @throws ApiError 401 */
  authenticate: (authorization: string | undefined) => Promise<Actor>
  log: FastifyBaseLogger
  /** Tests: a reply that its schema does not describe becomes a 500. */
  validateReplies?: boolean
}

/** The HTTP server with every route mounted; not listening yet. */
export function buildHttp(options: HttpOptions): FastifyInstance {
  const http: FastifyInstance = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    genReqId: () => randomUUID(),
    // Ids of any length reach the routes, which answer 404; Node bounds the whole head of a request.
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 16_384 },
    frameworkErrors: (error, request, reply) => void sendProblem(toApiError(error), request, reply),
    forceCloseConnections: true,
  })
  // Checks run in our own hook, so that path, query and body are reported together and in the contract's order.
  http.setValidatorCompiler(() => () => true)
  http.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
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

function mount(http: FastifyInstance, route: Route, options: HttpOptions): void {
  const { authenticate } = options
  const checkQuery = route.query && compileCheck('query', route.query)
  const checkBody = route.body && compileCheck('body', closed(route.body))
  const actors = new WeakMap<FastifyRequest, { actor: Actor; loaded: unknown }>()
  const replies = Object.entries(route.reply)
  const success = Number(replies[0]?.[0])

  http.route({
    method: route.method,
    url: `${PREFIX}${route.path}`,
    schema: {
      response: Object.fromEntries(replies.flatMap(([status, schema]) => (schema ? [[status, schema]] : []))),
    },
    onRequest: async (request) => {
      const actor = await authenticate(request.headers.authorization)
      requireScope(actor, route)
      const params = readParams(request, route)
      actors.set(request, { actor, loaded: await route.load?.({ actor, params }) })
    },
    preHandler: async (request) => {
      if (request.body === undefined || request.body === null) request.body = {}
      const issues = [...(checkQuery?.(request.query) ?? []), ...(checkBody?.(request.body) ?? [])]
      if (issues.length > 0) throw invalid(issues)
    },
    ...(options.validateReplies ? { preSerialization: replyChecker(route) } : {}),
    handler: async (request, reply) => {
      const found = actors.get(request)
      if (!found) throw new Error('the handler ran without its onRequest hook')
      const hangup = new AbortController()
      // A finished reply closes too, when nobody listens any more: harmless.
      reply.raw.once('close', () => hangup.abort())
      reply.code(success).header('cache-control', 'no-store')
      const body = await route.run({
        ...found,
        params: readParams(request, route),
        query: request.query,
        body: request.body,
        signal: hangup.signal,
        url: request.url,
        setHeader: (name, value) => void reply.header(name, value),
        setStatus: (status) => void reply.code(status),
      })
      return body ?? reply.send()
    },
  })
}

function requireScope(actor: Actor, route: Route): void {
  if (holds(actor, route.scope)) return
  const accepted = acceptedFor[route.scope]
  throw new ApiError('insufficient_scope', `This needs a token with the scope ${accepted.join(' or ')}.`, {
    required_scope: route.scope,
    accepted_scopes: accepted,
  })
}

/** Path parameters are UUIDs; any other value names nothing that exists. */
function readParams(request: FastifyRequest, route: Route): Record<string, string> {
  const given = request.params as Record<string, string> // the router gives a string for each :name of the path
  const params: Record<string, string> = {}
  for (const [name, code] of Object.entries(route.params ?? {})) {
    const value = given[name] ?? ''
    if (!UUID.test(value)) throw notFound(code)
    params[name] = value.toLowerCase()
  }
  return params
}

function acceptJson(http: FastifyInstance): void {
  const parse = http.getDefaultJsonParser('error', 'error')
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    // Clients that always send the header, also on a POST without a body, are common.
    if (body === '') return done(null, undefined)
    return parse(request, body.toString(), done)
  })
}

function unknownRoute(routes: readonly Route[], request: FastifyRequest): ApiError {
  const path = request.url.split('?')[0] ?? ''
  const here = routes.filter((route) =>
    new RegExp(`^${PREFIX}${route.path.replace(/:\w+/g, '[^/]+')}$`).test(path),
  )
  if (here.length === 0)
    return new ApiError('route_not_found', `There is nothing at ${path}. ${PREFIX}/docs shows what there is.`)
  const allow = [...new Set(here.map((route) => route.method))].join(', ')
  return new ApiError('method_not_allowed', `${path} takes ${allow}, not ${request.method}.`, {}, { allow })
}

function toApiError(error: unknown): ApiError | Error {
  if (error instanceof ApiError) return error
  const { code = '', statusCode = 500, message } = error as Partial<FastifyError> // anything can be thrown; each member is optional here
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ApiError('unsupported_media_type', 'Send the body as application/json.')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ApiError('payload_too_large', `A body may have up to ${BODY_LIMIT / 1024} KiB.`)
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY' || error instanceof SyntaxError)
    return new ApiError('invalid_json', `The body is not JSON: ${message}.`)
  if (statusCode >= 400 && statusCode < 500)
    return new ApiError('bad_request', `The request is malformed: ${message}.`)
  return error instanceof Error ? error : new Error(String(error))
}

function sendProblem(error: ApiError | Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  let problem = error
  if (!(problem instanceof ApiError)) {
    request.log.error({ err: error, request_id: request.id }, 'a request failed unexpectedly')
    problem = new ApiError(
      'internal_error',
      'This is our fault, not yours. Try again; if it stays, name the request id to the operator.',
    )
  }
  const known = problem as ApiError // by the lines above
  if (known.status === 401) reply.header('www-authenticate', 'Bearer')
  const document = known.toProblem(request.id, request.url.split('?')[0] ?? '')
  return (
    reply
      .code(known.status)
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
    const issues = check(JSON.parse(JSON.stringify(payload)))
    if (issues.length > 0)
      throw new Error(`${route.id} replied what its schema does not say: ${JSON.stringify(issues)}`)
    return payload
  }
}
