import type { TObject } from 'typebox'
import manifest from '../../package.json' with { type: 'json' }
import {
  type Components,
  contentOf,
  exampleOf,
  type Json,
  plain,
  publish,
  type Shape,
  withoutDefaults,
} from './components.ts'
import { Uuid } from './fields.ts'
import { firstPage } from './first-page.ts'
import { failures, problemSchema } from './openapi-problems.ts'
import { headers, refs } from './reply-headers.ts'
import {
  acceptedBy,
  carriesEtag,
  isForOperators,
  PREFIX,
  type Route,
  takesIfMatch,
  takesKey,
} from './route.ts'
import { closed } from './validation.ts'

/**
 * The OpenAPI 3.1 document of these routes: the same schemas that check requests and shape replies.
 * @param tags the descriptions of the groups of routes, by name
 * @param url the path at which the API is mounted
 */
export function openApi(
  routes: readonly Route[],
  tags: Readonly<Record<string, string>>,
  url = PREFIX,
): object {
  const components: Components = { schemas: {}, responses: {}, parameters: {}, examples: {} }
  const paths: Record<string, Json> = {}
  const ids = exampleIds(routes)
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route, ids, components) }
  }
  publish(problemSchema(routes), components)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version: manifest.version,
      description: firstPage(url),
      // The service does not know the operator's name.
      contact: { name: 'The operator of this installation' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url, description: 'This installation' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: [{ token: [] }],
    paths,
    components: {
      schemas: sorted(components.schemas),
      responses: sorted(components.responses),
      parameters: sorted(components.parameters),
      headers,
      examples: sorted(components.examples),
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'berth_…',
          description:
            'A token of the account, with a scope that the operation accepts. Create one in the web console, on the page API tokens, or with `POST /account/tokens`.',
        },
        operator: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'berthop_…',
          description:
            "A token of the installation's operator, for `/operator/…` alone. It is created on the machine of the service, with `berthd operator token create`.",
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'berth_session',
          description:
            'The session of a person who has signed in with a browser; over TLS its name is `__Host-berth_session`. It allows what the role of the person allows in the account that `Berth-Account` names, or otherwise in the account of the session.',
        },
      },
    },
  }
}

function sorted(byName: Json): Json {
  return Object.fromEntries(Object.entries(byName).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function describeRoute(route: Route, ids: ReadonlyMap<string, unknown>, components: Components): object {
  const parameters = [...pathParameters(route, ids), ...queryParameters(route), ...headerParameters(route)]
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description}\n\n${requirement(route)}`,
    security: securityOf(route),
    parameters: parameters.map((parameter) => sharedParameter(parameter, components)),
    ...(route.body ? { requestBody: requestBody(route.body, components) } : {}),
    ...(route.partBytes ? { requestBody: PART } : {}),
    responses: { ...successes(route, components), ...failures(route, components) },
  }
}

const isForPeople = ({ scope }: Route) => scope === 'person'

function securityOf(route: Route): object[] {
  if (isForPeople(route)) return [{ session: [] }]
  if (isForOperators(route.scope)) return [{ session: [] }, { operator: [route.scope] }]
  return acceptedBy(route).map((scope) => ({ token: [scope] }))
}

function requirement(route: Route): string {
  if (route.scope === 'anybody') return 'Requires neither a token nor a session.'
  if (route.scope === 'person') return 'Requires the session of a person; a token is not accepted.'
  if (isForOperators(route.scope))
    return `Requires an operator's token with the scope \`${route.scope}\`, or the session of a person with the operator's role and two-factor authentication.`
  return `Requires the scope ${acceptedBy(route)
    .map((name) => `\`${name}\``)
    .join(' or ')}.`
}

interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  schema: Json
  example?: unknown
}

/** Routes share the first schema of a name; a different schema with the same name is left in place. */
function sharedParameter(parameter: Parameter, { parameters }: Components): object {
  const { name } = parameter
  parameters[name] ??= parameter
  const isSame = JSON.stringify(parameters[name]) === JSON.stringify(parameter)
  return isSame ? { $ref: `#/components/parameters/${name}` } : parameter
}

/** The ids that the examples of replies have, by their names: paths lead to the same objects. */
function exampleIds(routes: readonly Route[]): ReadonlyMap<string, unknown> {
  const fields = routes
    .flatMap(({ reply }) => Object.values(reply))
    .flatMap((schema): [string, Shape][] => Object.entries(plain(schema ?? {}).properties ?? {}))
  return new Map(
    fields
      .filter(([name, { examples }]) => name.endsWith('_id') && examples)
      .map(([name, id]) => [name, exampleOf(id)]),
  )
}

function pathParameters(route: Route, ids: ReadonlyMap<string, unknown>): Parameter[] {
  return Object.keys(route.params ?? {}).map((name) => ({
    name,
    in: 'path',
    required: true,
    description: `Id of the ${name.replace(/_id$/, '').replaceAll('_', ' ').replace('ssh', 'SSH')}, a UUID`,
    schema: { type: 'string', format: 'uuid' },
    example: ids.get(name) ?? exampleOf(Uuid),
  }))
}

function queryParameters(route: Route): Parameter[] {
  const required: readonly string[] = route.query?.required ?? []
  return Object.entries(route.query?.properties ?? {}).map(([name, schema]) => {
    const { description, examples, ...rest } = plain(schema as Shape) // properties of a TypeBox object are schemas
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description ? { description } : {}),
      schema: rest,
      ...(examples ? { example: examples[0] } : {}),
    }
  })
}

function headerParameters(route: Route): Parameter[] {
  const parameter = (name: string, description: string, limits: Json = {}): Parameter => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', ...limits },
  })
  const own = Object.entries(route.headers ?? {})
  if (own.length > 0) return own.map(([name, text]) => parameter(name, text))
  if (takesKey(route))
    return [
      parameter(
        'Idempotency-Key',
        'A repeated request with the same key gets the first reply for 24 hours, and is not carried out twice',
        { minLength: 1, maxLength: 255 },
      ),
    ]
  if (takesIfMatch(route))
    return [
      parameter(
        'If-Match',
        'The ETag that the change is based on; if the object has another one, the reply is 412',
      ),
    ]
  if (route.hasEtag)
    return [
      parameter('If-None-Match', 'The ETag that you have; if the object still has it, the reply is 304'),
    ]
  return []
}

function requestBody(body: TObject, components: Components): object {
  const required: readonly string[] = body.required ?? []
  const content = { 'application/json': contentOf(withoutDefaults(closed(body)), components) }
  return { required: required.length > 0, content }
}

/** The body of a route that takes a part of a file. */
const PART = {
  required: true,
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
}

const TEXTS: Record<string, string> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted: an operation is in progress',
  204: 'Done; no body',
}

function successes(route: Route, components: Components): Json {
  const replies = Object.entries(route.reply).map(([status, schema]): [string, object] => {
    const isMade = status === '201' || status === '202'
    const isList = route.query !== undefined && 'limit' in route.query.properties
    const own = [
      ...(isMade ? (['Location'] as const) : []),
      ...(isList ? (['Link'] as const) : []),
      ...(carriesEtag(route) ? (['ETag'] as const) : []),
      ...(takesKey(route) ? (['Idempotency-Replayed'] as const) : []),
    ]
    const types = route.contentTypes ?? [route.contentType ?? 'application/json']
    const shown = schema && contentOf(schema, components, route.examples?.[Number(status)])
    const content = shown && Object.fromEntries(types.map((type) => [type, shown]))
    return [
      status,
      { description: TEXTS[status] ?? 'OK', headers: refs(...own), ...(content ? { content } : {}) },
    ]
  })
  const unchanged: [string, object][] = route.hasEtag
    ? [['304', { description: 'Not modified', headers: refs('ETag') }]]
    : []
  return Object.fromEntries([...replies, ...unchanged])
}
