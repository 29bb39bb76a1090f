import { readFileSync, writeFileSync } from 'node:fs'

/** The JSON Schema keywords in openapi.json that define a type; all others only narrow its values. */
interface Schema {
  $ref?: string
  type?: string | string[]
  /** `binary`: bytes, as they are. */
  format?: string
  enum?: string[]
  const?: string | number | boolean
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema | false
  prefixItems?: Schema[]
  description?: string
}

interface Body {
  content?: Record<string, { schema: Schema }>
  required?: boolean
}

interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  schema: Schema
}

/** A reference to a component, by the name that its path ends with. */
interface Reference {
  $ref: string
}

interface Operation {
  summary: string
  parameters: (Parameter | Reference)[]
  requestBody?: Body
  responses: Record<string, Body | Reference>
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, Parameter>
    responses: Record<string, Body>
    /** Problem documents. */
    examples: Record<string, { value: { code: string } }>
  }
}

/** The values of a field that clients list: the name of the list, and schema and field. */
const lists = {
  serverStatuses: ['Server', 'status'],
  abuseKinds: ['AbuseSign', 'kind'],
  complaintKinds: ['Complaint', 'kind'],
  accountStatuses: ['Account', 'status'],
  roles: ['Member', 'role'],
  cpuTypes: ['Server', 'cpu_type'],
} as const

/** TypeScript for the schemas, lists of values, routes and error codes of an OpenAPI document. */
export function typesOf({ paths, components }: OpenApi): string {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) =>
        `${comment(operation.summary)}'${method.toUpperCase()} ${path}': ${routeType(operation, components)}`,
    ),
  )
  return [
    '// Written by npm run generate from openapi.json: change the schemas of api/, not this file.',
    ...Object.entries(components.schemas).map(
      ([name, schema]) => `export interface ${name} ${typeOf(mixed(schema, components.schemas))}`,
    ),
    ...Object.entries(lists).map(([name, [schema, field]]) => listOf(name, `${schema}.${field}`, components)),
    `/** Every route: what its path, query and body take, and what it replies. */\nexport interface Routes {\n${indent(routes.join('\n'))}\n}`,
    `/** The values of a BerthError's code; a newer service may have more. */\nexport type ErrorCode =\n${indent(
      [...new Set(Object.values(components.examples).map(({ value }) => value.code))]
        .sort()
        .map((code) => `| '${code}'`)
        .join('\n'),
    )}\n`,
  ].join('\n\n')
}

/** @throws Error for a field without an enum */
function listOf(name: string, place: string, { schemas }: OpenApi['components']): string {
  const [schema = '', field = ''] = place.split('.')
  const values = schemas[schema]?.properties?.[field]?.enum
  if (!values) throw new Error(`openapi.json has no enum for ${place}`)
  return `/** Every ${place}. */\nexport const ${name} = [${values.map((value) => `'${value}'`).join(', ')}] as const`
}

function routeType(
  { parameters, requestBody, responses }: Operation,
  components: OpenApi['components'],
): string {
  const all = parameters.map((parameter) => resolve(parameter, components.parameters))
  const placed = (place: string): Schema => {
    const those = all.filter((parameter) => parameter.in === place)
    const described = ({ schema, description }: (typeof those)[number]) =>
      description ? { ...schema, description } : schema
    return {
      type: 'object',
      properties: Object.fromEntries(those.map((parameter) => [parameter.name, described(parameter)])),
      required: those.filter(({ required }) => required).map(({ name }) => name),
    }
  }
  // The client sets headers itself.
  const parts = (['path', 'query'] as const).flatMap((place) => {
    const schema = placed(place)
    if (Object.keys(schema.properties ?? {}).length === 0) return []
    return [member(place, typeOf(schema), (schema.required ?? []).length > 0)]
  })
  const body = requestBody && contentType(requestBody)
  const replies = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, reply]) => contentType(resolve(reply, components.responses)) ?? 'undefined')
  return block([
    ...parts,
    ...(body ? [member('body', body, requestBody.required ?? false)] : []),
    member('reply', [...new Set(replies)].join(' | '), true),
  ])
}

/** @throws Error if a reference does not resolve */
function resolve<Part extends object>(part: Part | Reference, components: Record<string, Part>): Part {
  if (!('$ref' in part)) return part
  const named = components[part.$ref.split('/').at(-1) ?? '']
  if (!named) throw new Error(`openapi.json has no ${part.$ref}`)
  return named
}

function contentType({ content = {} }: Body): string | undefined {
  return Object.values(content).map(({ schema }) => typeOf(schema))[0]
}

/** One type for all alternatives of an object: the service reports best which of its fields exclude each other. */
function mixed(schema: Schema, named: Record<string, Schema>): Schema {
  if (!schema.oneOf) return schema
  const forms = schema.oneOf.map((form) => resolve<Schema>(form, named))
  const properties: Record<string, Schema> = {}
  for (const [name, part] of forms.flatMap((form) => Object.entries(form.properties ?? {}))) {
    const values = [...(properties[name]?.enum ?? []), ...(part.enum ?? [])]
    properties[name] = { ...part, ...(part.enum ? { enum: [...new Set(values)] } : {}) }
  }
  const required = Object.keys(properties).filter((name) =>
    forms.every((form) => form.required?.includes(name)),
  )
  return { type: 'object', properties, required }
}

/** @throws Error for an unknown kind of schema, rather than guess */
function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.replace('#/components/schemas/', '')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const).replaceAll('"', "'")
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')
  switch (schema.type) {
    case 'object':
      return objectType(schema)
    case 'array':
      if (schema.prefixItems) return `[${schema.prefixItems.map(typeOf).join(', ')}]`
      return `Array<${typeOf(schema.items || {})}>`
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
      return schema.format === 'binary' ? 'Blob' : 'string'
    case 'boolean':
    case 'null':
      return schema.type
    case undefined:
      return 'unknown'
    default:
      throw new Error(`sdk/generate.ts does not support this schema: ${JSON.stringify(schema)}`)
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (typeof additionalProperties === 'object') return `Record<string, ${typeOf(additionalProperties)}>`
  const members = Object.entries(properties ?? {}).map(
    ([name, schema]) => comment(schema.description) + member(name, typeOf(schema), required.includes(name)),
  )
  return block(additionalProperties === true ? [...members, '[member: string]: unknown'] : members)
}

// Undefined means the same as a missing field: neither is sent.
const member = (name: string, type: string, isRequired: boolean) =>
  isRequired ? `${name}: ${type}` : `${name}?: ${type} | undefined`
const comment = (text?: string) => (text ? `/** ${text} */\n` : '')
const indent = (text: string) => text.replace(/^/gm, '  ')
const block = (lines: string[]) => `{\n${indent(lines.join('\n'))}\n}`

/** The document, and the file that its types are written to. */
export const places = {
  document: new URL('../openapi.json', import.meta.url),
  types: new URL('openapi.ts', import.meta.url),
}

if (import.meta.main) {
  const document: OpenApi = JSON.parse(readFileSync(places.document, 'utf8'))
  writeFileSync(places.types, typesOf(document))
}
