import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** The parts of an OpenAPI document that the tests read. */
export interface OpenApi {
  info: { title: string; version: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, { examples?: unknown[] }>
    parameters: Record<string, object>
    responses: Record<string, object>
    headers: Record<string, Header>
  }
}

/** The same document, in which what operations share stands in each of them: parameters and responses. */
export function resolved(document: OpenApi): OpenApi {
  const { parameters, responses } = document.components
  const named = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(named)
    if (typeof part !== 'object' || part === null) return part
    const [, kind, name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(String(Reflect.get(part, '$ref'))) ?? []
    if (kind === 'parameters') return parameters[name]
    if (kind === 'responses') return responses[name]
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, named(value)]))
  }
  return { ...document, paths: named(document.paths) as OpenApi['paths'] } // what they refer to is of their kind
}

interface Header {
  required?: boolean
}

export interface Operation {
  operationId: string
  deprecated?: boolean
  security: Record<string, string[]>[]
  parameters: { name: string; in: string; required: boolean; schema: object }[]
  requestBody?: { required: boolean; content: Record<string, { schema: object }> }
  responses: Record<
    string,
    { headers?: Record<string, Header | { $ref: string }>; content?: Record<string, { schema: object }> }
  >
}

/** Headers that HTTP itself and browsers read, whatever the interface is. */
const OF_HTTP = [
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-content-type-options',
  'x-frame-options',
  'referrer-policy',
  'content-security-policy',
  'strict-transport-security',
]

/** A request and the reply to it, as a client sees them. */
export interface Exchange {
  method: string
  /** Relative to the base address, without the query. */
  path: string
  status: number
  headers: Record<string, string | undefined>
  body: unknown
}

/** Holds replies against the document that the service serves of itself. */
export class Schema {
  readonly document: OpenApi
  readonly #ajv = formats.default(new Ajv2020({ strict: false, allErrors: true }))
  readonly #compiled = new Map<object, ValidateFunction>()

  constructor(document: OpenApi) {
    this.document = resolved(document)
    const schemas = closed(document.components.schemas)
    this.#ajv.addSchema({ components: { schemas } }, 'openapi')
  }

  /** The documented path that leads to where a request went. */
  pathOf(path: string): string | undefined {
    return Object.keys(this.document.paths).find((template) =>
      new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
  }

  /** @returns what of the reply the document does not say; empty where all is as it says */
  faultsOf({ method, path, status, headers, body }: Exchange): string[] {
    const methods = this.document.paths[this.pathOf(path) ?? '']
    if (!methods) return this.#problemFaults(404, { status, headers, body })
    const operation = methods[method === 'HEAD' ? 'get' : method.toLowerCase()]
    if (!operation) return this.#problemFaults(405, { status, headers, body })
    const reply = operation.responses[String(status)]
    if (!reply) return [`${operation.operationId} does not document the status ${status}`]
    const faults = this.#headerFaults(reply.headers ?? {}, headers)
    return method === 'HEAD' ? faults : [...faults, ...this.#bodyFaults(reply.content, headers, body)]
  }

  #headerFaults(documented: Record<string, Header | { $ref: string }>, sent: Exchange['headers']): string[] {
    const isRequired = (header: Header | { $ref: string }) =>
      '$ref' in header
        ? this.document.components.headers[header.$ref.split('/').at(-1) ?? '']?.required
        : header.required
    const missing = Object.entries(documented)
      .filter(([name, header]) => isRequired(header) && !sent[name.toLowerCase()])
      .map(([name]) => `the documented header ${name} is missing`)
    const known = [...OF_HTTP, ...Object.keys(documented).map((name) => name.toLowerCase())]
    const strange = Object.keys(sent).filter((name) => sent[name] !== undefined && !known.includes(name))
    return [...missing, ...strange.map((name) => `the header ${name} is not documented`)]
  }

  #bodyFaults(
    content: Record<string, { schema: object }> | undefined,
    headers: Exchange['headers'],
    body: unknown,
  ): string[] {
    if (!content) return body === '' ? [] : ['there is a body where none is documented']
    const type = headers['content-type']?.split(';')[0] ?? ''
    const { schema } = content[type] ?? {}
    if (!schema) return [`the content type "${type}" is not documented`]
    return this.#schemaFaults(schema, body)
  }

  /** A request to an undocumented path or method can only be refused. */
  #problemFaults(expected: number, { status, headers, body }: Pick<Exchange, 'status' | 'headers' | 'body'>) {
    if (status !== expected) return [`neither path nor method is documented, and the status is ${status}`]
    if (!headers['content-type']?.startsWith('application/problem+json')) return ['it is no problem document']
    if (status === 405 && !headers.allow) return ['the header Allow is missing']
    return this.#schemaFaults({ $ref: '#/components/schemas/Problem' }, body)
  }

  #schemaFaults(schema: object, value: unknown): string[] {
    let validate = this.#compiled.get(schema)
    if (!validate) {
      const absolute = JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/', '"openapi#/'))
      validate = this.#ajv.compile(absolute)
      this.#compiled.set(schema, validate)
    }
    if (validate(value)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    )
  }
}

/** The same schemas, in which an object has no fields but those that are documented. */
function closed<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(closed) as Part // a list of the same
  if (typeof part !== 'object' || part === null) return part
  const copy: Record<string, unknown> = Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, closed(value)]),
  )
  if (copy.type === 'object' && copy.properties && copy.additionalProperties === undefined)
    copy.additionalProperties = false
  return copy as Part // it only gains keywords
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** Lists the names, ids, times and amounts of a body that break the conventions of the interface. */
export function unconventional(body: unknown, name = '', parent = ''): string[] {
  if (Array.isArray(body)) return body.flatMap((item) => unconventional(item, name.replace(/s$/, ''), parent))
  if (typeof body === 'object' && body !== null)
    return Object.entries(body).flatMap(([key, value]) => {
      const isSnake = /^[a-z][a-z0-9_]*$/.test(key) || name === 'labels'
      return [...(isSnake ? [] : [`${key} is not snake_case`]), ...unconventional(value, key, name)]
    })
  const money = parent !== 'labels' && /(_rub|^balance|^balance_after|^amount)$/.test(name)
  const rules: [applies: boolean, form: RegExp, what: string][] = [
    [name.endsWith('_id'), UUID, 'a lower-case UUID'],
    [name.endsWith('_at') || name === 'billed_since', UTC, 'RFC 3339 in UTC'],
    [money, name.endsWith('_hour_rub') ? /^-?\d+\.\d{4}$/ : /^-?\d+\.\d{2}$/, 'a decimal string'],
  ]
  return rules
    .filter(([applies, form]) => applies && body !== null && !form.test(typeof body === 'string' ? body : ''))
    .map(([, , what]) => `${name} is ${JSON.stringify(body)}, which is not ${what}`)
}
