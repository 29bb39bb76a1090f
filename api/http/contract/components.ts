import type { TSchema } from 'typebox'

export type Json = Record<string, unknown>

/** Components that routes share, by name: each is described once and referred to. */
export interface Components {
  schemas: Json
  responses: Json
  parameters: Json
  /** One problem document of each code. */
  examples: Json
}

/** The words of JSON Schema that examples depend on. */
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
  /** The objects that it is one of, where its own fields and rules say the same for our checks. */
  forms?: readonly Shape[]
  discriminator?: { propertyName: string }
}

/**
 * A value as a schema wants it: its own example, or one that is made of those of its parts.
 * @throws where a part says none
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
 * A body: named schemas have their example with them.
 * @param example what of it is otherwise in this one place
 */
export function contentOf(schema: TSchema, components: Components, example?: object): Json {
  const placed = publish(schema, components)
  if (example) return { schema: placed, example: { ...Object(exampleOf(schema)), ...example } }
  const isNamed = JSON.stringify(placed).includes('"$ref"')
  return isNamed ? { schema: placed } : { schema: placed, example: exampleOf(schema) }
}

/** Puts named schemas, also nested ones, among the components. @returns what stands in their place */
export function publish(schema: TSchema, components: Components): Json {
  return placed(plain(schema), components) as Json // a schema is an object
}

function placed(part: unknown, components: Components): unknown {
  if (Array.isArray(part)) return part.map((item) => placed(item, components))
  if (typeof part !== 'object' || part === null) return part
  const shape = part as Shape // or something else, to which these words do not apply
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

/** The forms that an object can have; the discriminator names the field that tells them apart. */
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
 * The schema of a request, in which what a field is without a value is told instead of declared: with a default,
 * generators of clients take a field for one that always has a value.
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

/** JSON Schema as it goes over the wire: without the words that only our own checks read, and with each type. */
export function plain(schema: TSchema): Shape {
  const text = JSON.stringify(schema, (key, value) => {
    if (key === 'errorMessage') return undefined
    // Generators of clients make of an enum without a type something that may be anything.
    return Array.isArray(value?.enum) ? { type: 'string', ...value } : value
  })
  const copy: Shape = JSON.parse(text)
  return copy
}
