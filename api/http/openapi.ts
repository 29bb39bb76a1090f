import type { TSchema } from 'typebox'
import { acceptedFor } from './auth.ts'
import { Problem, type ProblemCode, problems } from './problem.ts'
import type { Route } from './route.ts'
import { PREFIX } from './server.ts'
import { closed } from './validation.ts'

/** What any authenticated route can say beside its own errors. */
const EVERYWHERE: readonly ProblemCode[] = [
  'bad_request',
  'missing_token',
  'invalid_token',
  'token_expired',
  'token_revoked',
  'insufficient_scope',
  'internal_error',
]

/** The OpenAPI 3.1 document of these routes: the same schemas that check requests and shape replies. */
export function openApi(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version: '1.0.0',
      description: 'A cloud hosting service: account, catalogue and servers.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: PREFIX }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    security: [{ token: [] }],
    paths,
    components: {
      schemas: { Problem: plain(Problem) },
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A Berth token: berth_…' } },
    },
  }
}

function describeRoute(route: Route): object {
  const [scope, alternative] = acceptedFor[route.scope]
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, `Needs the scope \`${scope}\` or \`${alternative}\`.`]
      .filter(Boolean)
      .join('\n\n'),
    security: [{ token: [scope] }, { token: [alternative] }],
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(route.body ? { requestBody: requestBody(route.body) } : {}),
    responses: { ...successes(route), ...failures(route) },
  }
}

function pathParameters(route: Route): object[] {
  return Object.keys(route.params ?? {}).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', format: 'uuid' },
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

function requestBody(body: TSchema): object {
  const schema = plain(closed(body))
  const isRequired = Array.isArray(schema.required) && schema.required.length > 0
  return { required: isRequired, content: { 'application/json': { schema } } }
}

function successes(route: Route): Record<string, object> {
  const texts: Record<string, string> = {
    200: 'OK',
    201: 'Created',
    202: 'Accepted: an operation carries it out',
    204: 'Done',
  }
  return Object.fromEntries(
    Object.entries(route.reply).map(([status, schema]) => [
      status,
      {
        description: texts[status] ?? 'OK',
        ...(schema ? { content: { 'application/json': { schema: plain(schema) } } } : {}),
      },
    ]),
  )
}

function failures(route: Route): Record<string, object> {
  const notFound = Object.values(route.params ?? {})
  const ofBody: ProblemCode[] = route.body
    ? ['invalid_json', 'payload_too_large', 'unsupported_media_type', 'validation_failed']
    : []
  const ofQuery: ProblemCode[] = route.query ? ['validation_failed'] : []
  const codes = [...new Set([...EVERYWHERE, ...notFound, ...ofBody, ...ofQuery, ...(route.errors ?? [])])]
  const byStatus = Map.groupBy(codes, (code) => problems[code][0])
  return Object.fromEntries(
    [...byStatus].map(([status, these]) => [
      String(status),
      {
        description: these.map((code) => `\`${code}\`: ${problems[code][1]}`).join('\n\n'),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  )
}

/** JSON Schema as it goes over the wire, without the words that only our own checks read. */
function plain(schema: TSchema): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === 'errorMessage' ? undefined : value)))
}
