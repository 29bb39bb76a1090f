import type { TObject, TSchema } from 'typebox'
import { exampleOf } from './examples.ts'
import { ApiError, Issue, Problem, type ProblemCode, problemCodes, problems } from './problem.ts'
import { acceptedBy, carriesEtag, PREFIX, type Route } from './route.ts'
import { closed } from './validation.ts'

/** What any route can say beside its own errors. */
const EVERYWHERE: readonly ProblemCode[] = [
  'bad_request',
  'missing_token',
  'invalid_token',
  'token_expired',
  'token_revoked',
  'insufficient_scope',
  'rate_limited',
  'internal_error',
  'backend_unavailable',
]
const OF_POST: readonly ProblemCode[] = ['idempotency_key_in_use', 'idempotency_key_reused']
/** A body is read before it is known whether the route wants one. */
const OF_WRITE: readonly ProblemCode[] = ['invalid_json', 'payload_too_large', 'unsupported_media_type']

const TAGS: Record<string, string> = {
  Account: 'Who you are: profile, balance, projects, SSH keys, tokens.',
  Catalogue: 'What is on offer: zones, templates, presets, limits, capacity, and what a server would cost.',
  Events: 'What happens in the account: to list, to follow, and to have sent to you; and who changed what.',
  Operations: 'Slow work on what the account has: to list, and to wait for.',
  Servers: 'Virtual machines, and the operations that are carried out on them.',
}

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document of these routes: the same schemas that check requests and shape replies. */
export function openApi(routes: readonly Route[]): object {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route, schemas) }
  }
  publish(Problem, schemas)
  publish(Issue, schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version: '1.0.0',
      description:
        'A cloud hosting service. Ids are UUIDs, times RFC 3339 in UTC, money is in decimal strings. Slow work on a server is an operation: it is accepted with 202, and can be waited for.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: PREFIX, description: 'This installation' }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({
      name,
      description: TAGS[name] ?? name,
    })),
    security: [{ token: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      headers,
      examples: problemExamples(JSON.stringify(paths)),
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A Berth token: berth_…' } },
    },
  }
}

const always = (description: string) => ({ description, required: true, schema: { type: 'string' } })
const sometimes = (description: string) => ({ description, required: false, schema: { type: 'string' } })
const headers = {
  'X-Request-Id': always('Names this request; tell it to the operator when something went wrong'),
  'RateLimit-Policy': always('How many requests of this kind a minute allows'),
  RateLimit: always('How many are left, and in how many seconds all are back'),
  'Cache-Control': always('Whether, and for how long, the reply may be kept'),
  'Retry-After': always('Seconds to wait before the next try'),
  Location: always('Path of what was made'),
  Link: always('First, previous, next and last page (RFC 8288)'),
  ETag: always('Names this state of the object; for If-Match and If-None-Match'),
  'WWW-Authenticate': always('How to send a token: `Bearer`'),
  'Idempotency-Replayed': sometimes('`true` where this is the reply to an earlier request with the same key'),
  'Accept-Encoding': sometimes('`identity` where the body came with a Content-Encoding'),
}

/** These, and what every reply has. */
function refs(...names: (keyof typeof headers)[]): Json {
  const all = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit', 'Cache-Control', ...names]
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function describeRoute(route: Route, schemas: Json): object {
  const scopes = acceptedBy(route)
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, `Needs the scope ${scopes.map((name) => `\`${name}\``).join(' or ')}.`]
      .filter(Boolean)
      .join('\n\n'),
    security: scopes.map((scope) => ({ token: [scope] })),
    parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
    ...(route.body ? { requestBody: requestBody(route.body, schemas) } : {}),
    responses: { ...successes(route, schemas), ...failures(route) },
  }
}

function pathParameters(route: Route): object[] {
  return Object.keys(route.params ?? {}).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: exampleOf({ type: 'string' }, name),
  }))
}

function queryParameters(route: Route): object[] {
  const required: readonly string[] = route.query?.required ?? []
  return Object.entries(route.query?.properties ?? {}).map(([name, schema]) => {
    const { description, ...rest } = plain(schema as TSchema) // properties of a TypeBox object are schemas
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description ? { description } : {}),
      schema: rest,
    }
  })
}

function headerParameters(route: Route): object[] {
  const header = (name: string, description: string, schema: object) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  })
  const own = Object.entries(route.headers ?? {})
  if (own.length > 0) return own.map(([name, text]) => header(name, text, { type: 'string' }))
  if (route.method === 'POST')
    return [
      header(
        'Idempotency-Key',
        'A repeat with the same key within 24 h gets the first reply, and makes nothing twice',
        {
          type: 'string',
          minLength: 1,
          maxLength: 255,
        },
      ),
    ]
  if (route.errors?.includes('precondition_failed'))
    return [
      header('If-Match', 'The ETag that the change is based on; any other state is refused', {
        type: 'string',
      }),
    ]
  if (route.hasEtag)
    return [
      header('If-None-Match', 'The ETag that you have; if it is still so, the reply is 304', {
        type: 'string',
      }),
    ]
  return []
}

function requestBody(body: TObject, schemas: Json): object {
  const required: readonly string[] = body.required ?? []
  const isRequired = required.length > 0
  const schema = publish(closed(body), schemas)
  return { required: isRequired, content: { 'application/json': { schema, example: requestExample(body) } } }
}

/** A preset and a size of its own exclude each other: the example takes the preset. */
function requestExample(body: TSchema): unknown {
  const example = exampleOf(body)
  if (typeof example !== 'object' || example === null || !('preset_id' in example)) return example
  const { cpu: _cpu, ram_mb: _ram, disk_gb: _disk, ...rest } = { cpu: 0, ram_mb: 0, disk_gb: 0, ...example }
  return rest
}

const TEXTS: Record<string, string> = {
  200: 'OK',
  201: 'Made',
  202: 'Accepted: an operation carries it out',
  204: 'Done; there is no body',
}

function successes(route: Route, schemas: Json): Json {
  const replies = Object.entries(route.reply).map(([status, schema]): [string, object] => {
    const isMade = status === '201' || status === '202'
    const isList = route.query !== undefined && 'limit' in route.query.properties
    const own = [
      ...(isMade ? (['Location'] as const) : []),
      ...(isList ? (['Link'] as const) : []),
      ...(carriesEtag(route) ? (['ETag'] as const) : []),
      ...(route.method === 'POST' ? (['Idempotency-Replayed'] as const) : []),
    ]
    const content = schema && {
      [route.contentType ?? 'application/json']: {
        schema: publish(schema, schemas),
        example: exampleOf(schema),
      },
    }
    return [
      status,
      {
        description: TEXTS[status] ?? 'OK',
        headers: refs(...own),
        ...(content ? { content } : {}),
      },
    ]
  })
  const unchanged: [string, object][] = route.hasEtag
    ? [['304', { description: 'You have this already', headers: refs('ETag') }]]
    : []
  return Object.fromEntries([...replies, ...unchanged])
}

function failures(route: Route): Json {
  const codes = new Set([
    ...EVERYWHERE,
    ...Object.values(route.params ?? {}),
    ...(route.method === 'GET' ? [] : OF_WRITE),
    ...(route.body || route.query ? (['validation_failed'] as const) : []),
    ...(route.method === 'POST' ? OF_POST : []),
    ...(route.errors ?? []),
  ])
  const byStatus = Map.groupBy(codes, (code) => problems[code][0])
  return Object.fromEntries(
    [...byStatus].map(([status, these]) => [
      String(status),
      {
        description: these.map((code) => `\`${code}\`: ${problems[code][1]}`).join('\n\n'),
        headers: failureHeaders(route, status, these),
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            examples: Object.fromEntries(
              these.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
            ),
          },
        },
      },
    ]),
  )
}

/** Errors that say when to try again. */
const RETRIED: readonly ProblemCode[] = [
  'operation_in_progress',
  'idempotency_key_in_use',
  'rate_limited',
  'backend_unavailable',
]
/** Statuses of refusals that a repeat with the same Idempotency-Key gets again. */
const REPLAYED = [402, 404, 409, 422]

function failureHeaders(route: Route, status: number, codes: readonly ProblemCode[]): Json {
  const own = refs(
    ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
    ...(status === 412 ? (['ETag'] as const) : []),
    ...(status === 415 ? (['Accept-Encoding'] as const) : []),
    ...(route.method === 'POST' && REPLAYED.includes(status) ? (['Idempotency-Replayed'] as const) : []),
  )
  const retried = codes.filter((code) => RETRIED.includes(code))
  if (retried.length === 0) return own
  if (retried.length === codes.length) return { ...own, ...refs('Retry-After') }
  const description = `${headers['Retry-After'].description}; with ${retried.map((code) => `\`${code}\``).join(' and ')}`
  return { ...own, 'Retry-After': sometimes(description) }
}

/** One of each error that these paths name, with the members that every one has. */
function problemExamples(paths: string): Json {
  const example = (code: ProblemCode) => ({
    value: new ApiError(code, problems[code][1]).toProblem(
      '6a1de9b8-52f4-4b0c-9d57-0e1f5b0a7c55',
      `${PREFIX}/servers`,
    ),
  })
  const named = problemCodes.filter((code) => paths.includes(`/examples/${code}"`))
  return Object.fromEntries(named.map((code) => [code, example(code)]))
}

/** Puts named schemas, also nested ones, among the components. @returns what stands in their place */
function publish(schema: TSchema, schemas: Json): Json {
  return placed(plain(schema), schemas) as Json // a schema is an object
}

function placed(part: unknown, schemas: Json): unknown {
  if (Array.isArray(part)) return part.map((item) => placed(item, schemas))
  if (typeof part !== 'object' || part === null) return part
  const copy: Json = Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, placed(value, schemas)]),
  )
  const { title } = copy
  if (typeof title !== 'string' || copy.type !== 'object') return copy
  schemas[title] = copy
  return { $ref: `#/components/schemas/${title}` }
}

/** JSON Schema as it goes over the wire: without the words that only our own checks read, and with each type. */
function plain(schema: TSchema): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => {
      if (key === 'errorMessage') return undefined
      // Generators of clients make of an enum without a type something that may be anything.
      return Array.isArray(value?.enum) ? { type: 'string', ...value } : value
    }),
  )
}
