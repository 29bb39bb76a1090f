import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { closest } from 'fastest-levenshtein'
import type { TSchema } from 'typebox'
import type { Issue } from './problem.ts'

type Place = Issue['in']

const options = { allErrors: true, strict: false, verbose: true } as const
// Bodies are taken as they are; query parameters are text and become what their schema says.
const forBodies = formats.default(new Ajv2020({ ...options, useDefaults: true }))
const forText = formats.default(new Ajv2020({ ...options, useDefaults: true, coerceTypes: 'array' }))

/** Says all that is wrong with a value at one place of the request; fills in defaults. */
export type Check = (value: unknown) => Issue[]

export function compileCheck(place: Place, schema: TSchema): Check {
  const validate = (place === 'body' ? forBodies : forText).compile(schema)
  return (value) => {
    if (validate(value)) return unstorable(place, value)
    const issues = (validate.errors ?? []).flatMap((error) => toIssue(place, error))
    // anyOf reports each branch and itself: the first word on a pointer is the most telling one.
    return issues.filter((issue, at) => issues.findIndex((other) => other.pointer === issue.pointer) === at)
  }
}

/** Strings that no database keeps as they are: with NUL characters or halves of surrogate pairs. */
function unstorable(place: Place, value: unknown, pointer = ''): Issue[] {
  if (typeof value === 'string') {
    if (value.isWellFormed() && !value.includes('\0')) return []
    const field = pointer.slice(1).split('/').map(unescapePointer).join('.')
    const message = `${field} must be Unicode text without NUL characters.`
    return [{ in: place, field, pointer, code: 'invalid_format', message }]
  }
  if (typeof value !== 'object' || value === null) return []
  // The schema was met: what it does not bound, it does not let through.
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

/** The same schema, in which an object has no fields but those it names. */
export function closed(schema: TSchema): TSchema {
  return closeObjects(schema) as TSchema // it only gains keywords
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
 * The same schema as the serializer likes it: of `anyOf` it must try out the branches for each value, so that a list
 * of objects with fields that may be null would take twice as long.
 */
export function serializable(schema: TSchema): TSchema {
  return foldNulls(schema) as TSchema // it stays a schema
}

function foldNulls(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(foldNulls)
  if (typeof part !== 'object' || part === null) return part
  const copy = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, foldNulls(value)]))
  if (!Array.isArray(copy.anyOf) || copy.anyOf.length !== 2 || copy.anyOf[1].type !== 'null') return copy
  const { anyOf, ...rest } = copy
  return { ...anyOf[0], ...rest, nullable: true }
}

function toIssue(place: Place, error: ErrorObject): Issue[] {
  const issue = (pointer: string, code: Issue['code'], message: string): Issue[] => {
    const field = pointer.slice(1).split('/').map(unescapePointer).join('.')
    return [
      { in: place, field, pointer, code, message: field ? `${field} ${message}` : `The ${place} ${message}` },
    ]
  }
  const here = error.instancePath
  const params: Record<string, unknown> = error.params
  switch (error.keyword) {
    case 'required':
      return issue(`${here}/${escapePointer(String(params.missingProperty))}`, 'required', 'is required.')
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownField(error, issue)
    case 'type':
      return issue(here, 'wrong_type', `must be ${typeName(params.type)}.`)
    case 'enum':
      return issue(here, 'not_in_enum', `must be one of ${list(params.allowedValues)}.`)
    case 'const':
      return issue(here, 'not_in_enum', `must be ${String(params.allowedValue)}.`)
    case 'maxLength':
      return issue(here, 'too_long', `must have at most ${params.limit} characters.`)
    case 'maxItems':
      return issue(here, 'too_long', `must have at most ${params.limit} items.`)
    case 'maxProperties':
      return issue(here, 'too_long', `must have at most ${params.limit} entries.`)
    case 'minLength':
      return issue(
        here,
        'too_short',
        params.limit === 1 ? 'must not be empty.' : `must have at least ${params.limit} characters.`,
      )
    case 'minItems':
    case 'minProperties':
      return issue(
        here,
        'too_short',
        `must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}.`,
      )
    case 'minimum':
      return issue(here, 'below_minimum', `must be at least ${params.limit}.`)
    case 'maximum':
      return issue(here, 'above_maximum', `must be at most ${params.limit}.`)
    case 'multipleOf':
      return issue(here, 'not_a_step', `must be a multiple of ${params.multipleOf}.`)
    case 'uniqueItems':
      return issue(here, 'invalid_format', 'must not name the same item twice.')
    case 'false schema':
      return issue(here, 'mutually_exclusive', 'does not go with the other fields.')
    case 'if':
    case 'anyOf':
    case 'oneOf':
      return error.keyword === 'if' ? [] : issue(here, 'wrong_type', 'has none of the allowed forms.')
    default:
      return issue(here, 'invalid_format', describeFormat(error))
  }
}

function unknownField(
  error: ErrorObject,
  issue: (pointer: string, code: 'unknown_field', message: string) => Issue[],
): Issue[] {
  const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty)
  const known = Object.keys(error.parentSchema?.properties ?? {})
  const hint = known.length > 0 ? ` Did you mean ${closest(name, known)}?` : ''
  return issue(`${error.instancePath}/${escapePointer(name)}`, 'unknown_field', `is not a field here.${hint}`)
}

/** Schemas say in `errorMessage` what a pattern means; the pattern itself helps nobody. */
function describeFormat(error: ErrorObject): string {
  const told: unknown = error.parentSchema?.errorMessage
  if (typeof told === 'string') return told
  return error.keyword === 'format' ? `must be a valid ${error.params.format}.` : 'has the wrong form.'
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

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
