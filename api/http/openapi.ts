import type { TObject, TSchema } from 'typebox'
import { exampleOf } from './examples.ts'
import { ApiError, Issue, Problem, type ProblemCode, problemCodes, problems } from './problem.ts'
import { acceptedBy, PREFIX, type Route } from './route.ts'
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

const text = (description: string) => ({ description, schema: { type: 'string' } })
const headers: Json = {
  'X-Request-Id': text('Names this request; tell it to the operator when something went wrong'),
  'RateLimit-Policy': text('How many requests of this kind a minute allows'),
  RateLimit: text('How many are left, and in how many seconds all are back'),
  'Retry-After': text('Seconds to wait before the next try'),
  Location: text('Path of what was made'),
  Link: text('First, previous, next and last page (RFC 8288)'),
  ETag: text('Names this state of the object; for If-Match and If-None-Match'),
}

function refs(...names: string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
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
    const hasEtag = route.hasEtag || route.errors?.includes('precondition_failed')
    const isList = route.query !== undefined && 'limit' in route.query.properties
    const own = [...(isMade ? ['Location'] : []), ...(isList ? ['Link'] : []), ...(hasEtag ? ['ETag'] : [])]
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
        headers: refs('X-Request-Id', 'RateLimit-Policy', 'RateLimit', ...own),
        ...(content ? { content } : {}),
      },
    ]
  })
  const unchanged: [string, object][] = route.hasEtag
    ? [['304', { description: 'You have this already', headers: refs('X-Request-Id', 'ETag') }]]
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
        headers: refs('X-Request-Id', ...(status === 429 || status === 503 ? ['Retry-After'] : [])),
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
