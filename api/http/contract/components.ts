import type { TSchema } from 'typebox'

export type Json = Record<string, unknown>

/** Components that routes share, by name: each is described once and referenced. */
export interface Components {
  schemas: Json
  responses: Json
  parameters: Json
  /** One problem document of each code. */
  examples: Json
}

/** The keywords of JSON Schema that examples depend on. */
export interface Shape extends TSchema {
  title?: string
  description?: string
  type?: string
  enum?: readonly unknown[]
  properties?: Record<string, Shape>
  items?: Shape
  anyOf?: readonly Shape[]
  default?: unknown
  examples?: readonly unknown[]
  /** The alternatives of an object. Its own fields and rules state the same for our validation. */
  forms?: readonly Shape[]
  discriminator?: { propertyName: string }
}

/**
 * Returns an example of a schema: its own, or one composed of its parts' examples.
 * @throws Error if a part has none
 */
export function exampleOf(schema: Shape): unknown {
  const { examples, default: fallback, enum: allowed, anyOf, properties, items, type } = schema
  if (examples) return examples[0]
  if (fallback !== undefined) return fallback
  if (allowed) return allowed[0]
  if (anyOf?.[0]) return exampleOf(anyOf[0])
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, exampleOf(part)]))
  if (items) return [exampleOf(items)]
  if (type === 'boolean') return true
  throw new Error(`This schema needs an example: ${JSON.stringify(schema)}`)
}

/**
 * Describes a body; named schemas include their example.
 * @param example the fields of the example that differ in this place
 */
export function contentOf(schema: TSchema, components: Components, example?: object): Json {
  const placed = publish(schema, components)
  if (example) return { schema: placed, example: { ...Object(exampleOf(schema)), ...example } }
  const isNamed = JSON.stringify(placed).includes('"$ref"')
  return isNamed ? { schema: placed } : { schema: placed, example: exampleOf(schema) }
}

/** Moves named schemas, including nested ones, to the components. @returns the reference in their place */
export function publish(schema: TSchema, components: Components): Json {
  return placed(plain(schema), components) as Json // a schema is an object
}

function placed(part: unknown, components: Components): unknown {
  if (Array.isArray(part)) return part.map((item) => placed(item, components))
  if (typeof part !== 'object' || part === null) return part
  const shape = part as Shape // any other value has none of the keywords
  const copy = Object.fromEntries(
    Object.entries(part)
      .filter(([key, value]) => !(key === 'examples' && Array.isArray(value)))
      .map(([key, value]) => [key, placed(value, components)]),
  )
  if (typeof shape.title !== 'string' || shape.type !== 'object') return copy
  const { title, description, forms } = shape
  components.schemas[title] = forms
    ? { title, description, ...alternatives(shape, forms, components), examples: [exampleOf(shape)] }
    : { ...copy, examples: [exampleOf(shape)] }
  return { $ref: `#/components/schemas/${shape.title}` }
}

/** The alternatives of an object; the discriminator names the field that distinguishes them. */
function alternatives({ discriminator }: Shape, forms: readonly Shape[], components: Components): Json {
  const oneOf = forms.map((form) => placed(form, components) as { $ref: string }) // forms are named
  if (!discriminator) return { oneOf }
  const { propertyName } = discriminator
  const mapping = Object.fromEntries(
    forms.flatMap((form, at) =>
      (form.properties?.[propertyName]?.enum ?? []).map((value) => [value, oneOf[at]?.$ref]),
    ),
  )
  return { oneOf, discriminator: { propertyName, mapping } }
}

/**
 * The schema of a request, with defaults in the descriptions instead of `default`: generators of clients treat a field
 * with a default as one that always has a value.
 */
export function withoutDefaults(schema: TSchema): TSchema {
  const text = JSON.stringify(schema, (_key, value) => {
    if (value?.default === undefined || !value.type) return value
    const { default: fallback, description = '', ...rest } = value
    const told = `Default: ${JSON.stringify(fallback)}.`
    return {
      examples: [fallback],
      ...rest,
      description: description ? `${description.replace(/\.$/, '')}. ${told}` : told,
    }
  })
  const copy: TSchema = JSON.parse(text)
  return copy
}

/** The JSON Schema for openapi.json: without the keywords of our own validation, and with all types. */
export function plain(schema: TSchema): Shape {
  const text = JSON.stringify(schema, (key, value) => {
    if (key === 'errorMessage') return undefined
    // Generators of clients treat an enum without a type as any value.
    return Array.isArray(value?.enum) ? { type: 'string', ...value } : value
  })
  const copy: Shape = JSON.parse(text)
  return copy
}
