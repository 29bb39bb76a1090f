import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { closest, distance } from 'fastest-levenshtein'
import type { TSchema } from 'typebox'
import { cut, type Issue, MAX_ISSUES } from './problem.ts'

type Place = Issue['in']

// The schemas are our own: to check them, each start would compile the schema of JSON Schema itself.
const options = { allErrors: true, strict: false, verbose: true, validateSchema: false } as const
// Bodies are not converted; query parameters are text, and are converted to the type of their schema.
const forBodies = formats.default(new Ajv2020({ ...options, useDefaults: true }))
const forText = formats.default(new Ajv2020({ ...options, useDefaults: true, coerceTypes: 'array' }))

/** Maps the text of each schema to what was compiled from it. */
const compiledBy = new Map([forBodies, forText].map((ajv) => [ajv, new Map<string, ValidateFunction>()]))

// Ajv's implementation compares each item with every other one.
for (const ajv of [forBodies, forText])
  ajv.removeKeyword('uniqueItems').addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isWanted: boolean, items: unknown[]) =>
      !isWanted || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
  })

/**
 * Returns all mistakes in a value of a request, or one more than a reply shows. Fills in defaults. Fields and
 * parameters that the schema does not name are refused.
 */
export type Check = (value: unknown) => Issue[]

export function compileCheck(place: Place, schema: TSchema): Check {
  let compiled: ValidateFunction | null = null
  return (value) => {
    // Compiled on first use: compiling the checks of every route would take most of the time of a start.
    compiled ??= compiledOnce(place === 'body' ? forBodies : forText, closed(schema))
    const validate = compiled
    if (validate(value)) return unstorable(place, value)
    // anyOf reports each branch and itself: the first error for a pointer is the most useful one.
    const issues = new Map<string, Issue>()
    for (const error of validate.errors ?? []) {
      const pointer = pointerOf(error)
      // The error of a condition only reports that its consequence failed, which has a separate error.
      if (error.keyword !== 'if' && !issues.has(pointer)) issues.set(pointer, toIssue(place, pointer, error))
      // Errors that are not shown need no text.
      if (issues.size > MAX_ISSUES) break
    }
    return [...issues.values()]
  }
}

/** Routes, and applications in one process, share what is compiled from equal schemas. */
function compiledOnce(ajv: Ajv2020, schema: TSchema): ValidateFunction {
  const text = JSON.stringify(schema)
  const known = compiledBy.get(ajv)?.get(text)
  if (known) return known
  const validate = ajv.compile(schema)
  compiledBy.get(ajv)?.set(text, validate)
  return validate
}

/** Finds strings that databases cannot store unchanged: those with NUL characters or unpaired surrogates. */
function unstorable(place: Place, value: unknown, pointer = ''): Issue[] {
  if (typeof value === 'string') {
    if (value.isWellFormed() && !value.includes('\0')) return []
    const field = fieldOf(pointer)
    const message = `${field} must be Unicode text without NUL characters.`
    return [{ in: place, field, pointer, code: 'invalid_format', message }]
  }
  if (typeof value !== 'object' || value === null) return []
  // The value passed the schema, which limits everything that it accepts.
  return Object.entries(value).flatMap(([name, part]) =>
    unstorable(place, part, `${pointer}/${escapePointer(name)}`),
  )
}

/** UUIDs may come in capitals (RFC 9562, 4); ours are kept in lower case. Changes the value in place. */
export function lowerIds(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const fields = value as Record<string, unknown> // any object is one of fields
  for (const [name, part] of Object.entries(fields)) {
    if (name.endsWith('_id') && typeof part === 'string') fields[name] = part.toLowerCase()
    if (name.endsWith('_ids') && Array.isArray(part))
      fields[name] = part.map((id: unknown) => (typeof id === 'string' ? id.toLowerCase() : id))
  }
}

/** The same schema, but without further fields in objects. */
export function closed(schema: TSchema): TSchema {
  return closeObjects(schema) as TSchema // only keywords are added
}

function closeObjects(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closeObjects)
  if (typeof part !== 'object' || part === null) return part
  const entries = Object.entries(part).map(([key, value]): [string, unknown] => [key, closeObjects(value)])
  const copy = Object.fromEntries(entries)
  if (copy.type === 'object' && copy.properties && copy.additionalProperties === undefined)
    copy.additionalProperties = false
  return copy
}

/**
 * Returns the pointer to a faulty value. Ajv reports a missing or unknown field at its object, so its name is
 * appended.
 */
function pointerOf({ instancePath, params }: ErrorObject): string {
  const name: unknown = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  return name === undefined ? instancePath : `${instancePath}/${escapePointer(String(name))}`
}

function toIssue(place: Place, pointer: string, error: ErrorObject): Issue {
  const issue = (code: Issue['code'], message: string): Issue => {
    const field = fieldOf(pointer)
    return {
      in: place,
      field,
      pointer,
      code,
      message: field ? `${field} ${message}` : `The ${place} ${message}`,
    }
  }
  const params: Record<string, unknown> = error.params
  switch (error.keyword) {
    case 'required':
      return issue('required', explanationOf(error) ?? 'is required.')
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return issue('unknown_field', `is not a known ${nounOf(place)}.${hint(error)}`)
    case 'type':
      return issue('wrong_type', `must be ${typeName(params.type)}.`)
    case 'enum':
      return issue('not_in_enum', `must be one of ${list(params.allowedValues)}.`)
    case 'const':
      return issue('not_in_enum', `must be ${String(params.allowedValue)}.`)
    case 'maxLength':
      return issue('too_long', `must have at most ${params.limit} characters.`)
    case 'maxItems':
      return issue('too_long', `must have at most ${params.limit} items.`)
    case 'maxProperties':
      return issue('too_long', `must have at most ${params.limit} entries.`)
    case 'minLength':
      return issue(
        'too_short',
        params.limit === 1 ? 'must not be empty.' : `must have at least ${params.limit} characters.`,
      )
    case 'minItems':
    case 'minProperties':
      return issue(
        'too_short',
        `must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}.`,
      )
    case 'minimum':
      return issue('below_minimum', `must be at least ${params.limit}.`)
    case 'maximum':
      return issue('above_maximum', `must be at most ${params.limit}.`)
    case 'multipleOf':
      return issue('not_a_step', `must be a multiple of ${params.multipleOf}.`)
    case 'uniqueItems':
      return issue('invalid_format', 'must not contain the same item twice.')
    case 'not':
      return issue('mutually_exclusive', describeFormat(error))
    case 'anyOf':
    case 'oneOf':
      return issue('wrong_type', 'has an invalid format.')
    default:
      return issue('invalid_format', describeFormat(error))
  }
}

/** A query has parameters, a body fields. */
const nounOf = (place: Place) => (place === 'query' ? 'parameter' : 'field')

const LONGEST_GUESS = 64
const SHORTEST_BEGINNING = 3

/** Suggests the field that was meant: a required one that is missing, else one that is named alike. */
function hint({ params, parentSchema, data }: ErrorObject): string {
  const name = String(params.additionalProperty ?? params.unevaluatedProperty)
  const { properties = {}, required = [] } = parentSchema ?? {}
  const missing = required.filter((field: string) => !Object.hasOwn(Object(data), field))
  const guess = alike(name, missing) ?? alike(name, Object.keys(properties))
  return guess === null ? '' : ` Did you mean ${guess}?`
}

/**
 * Returns the known name that has this name as a part or beginning, or differs in less than half of the
 * letters; null if none does.
 */
function alike(name: string, known: readonly string[]): string | null {
  if (name.length > LONGEST_GUESS || known.length === 0) return null
  const isBeginning = (field: string) => name.length >= SHORTEST_BEGINNING && field.startsWith(name)
  const whole = known.find((field) => field.split('_').includes(name)) ?? known.find(isBeginning)
  const nearest = whole ?? closest(name, known)
  const isAlike = whole !== undefined || distance(name, nearest) < Math.max(name.length, nearest.length) / 2
  return isAlike ? nearest : null
}

/** Schemas explain a pattern or a rule in `errorMessage`; the pattern itself helps nobody. */
function explanationOf({ parentSchema }: ErrorObject): string | null {
  const explained: unknown = parentSchema?.errorMessage
  return typeof explained === 'string' ? explained : null
}

function describeFormat(error: ErrorObject): string {
  const fallback =
    error.keyword === 'format' ? `must be a valid ${error.params.format}.` : 'has an invalid format.'
  return explanationOf(error) ?? fallback
}

function typeName(type: unknown): string {
  const names: Record<string, string> = {
    integer: 'a whole number',
    number: 'a number',
    string: 'a string',
    boolean: 'true or false',
    object: 'an object',
    array: 'a list',
    null: 'null',
  }
  return (Array.isArray(type) ? type : [type]).map((name) => names[String(name)] ?? String(name)).join(' or ')
}

function list(values: unknown): string {
  return Array.isArray(values) ? values.join(', ') : String(values)
}

/** A pointer as people write it. */
function fieldOf(pointer: string): string {
  return cut(pointer.slice(1).split('/').map(unescapePointer).join('.'))
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
