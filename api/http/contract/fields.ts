import Type, { type TSchemaOptions, type TString } from 'typebox'
import { LABEL_NAME, LABEL_SELECTOR, MOST_SELECTOR } from '../../database/labels.ts'

/** Pieces of wire contract that every feature uses. */

/**
 * The id of an object; its example differs for each kind of object in the API's description.
 * @param listedBy the route that lists such ids, for the message about any other text
 */
export function uuid(example: string, description?: string, listedBy?: string) {
  return Type.String({
    format: 'uuid',
    examples: [example],
    ...(description ? { description } : {}),
    errorMessage: listedBy ? `must be an id, a UUID; ${listedBy} lists them.` : 'must be a UUID.',
  })
}

export const Uuid = uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11')
/** The time that the examples show. */
export const MOMENT = '2026-11-20T12:00:00.000Z'
/** RFC 3339, UTC, with Z. */
export function timestamp(description: string, example = MOMENT) {
  return Type.String({ format: 'date-time', description, examples: [example] })
}
export const CreatedAt = timestamp('When it was created (RFC 3339, UTC)')
export const UpdatedAt = timestamp(
  'When it was last changed, by a request or by the service',
  '2026-11-20T12:00:09.000Z',
)
/** The latest time that a timestamp can express. */
export const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z')
/** @param description the meaning of the amount, as the beginning of a phrase */
export function money(description: string, example = '300.00') {
  return Type.String({
    pattern: String.raw`^-?\d+\.\d{2}$`,
    description: `${description}, in rubles with two decimals`,
    examples: [example],
  })
}
export const MonthPrice = money('Price per month of 730 hours')
export const HourPrice = Type.String({
  pattern: String.raw`^\d+\.\d{4}$`,
  description: 'Price per hour, in rubles with four decimals: 1/730 of the price per month',
  examples: ['0.4110'],
})
export const Currency = Type.Enum(['RUB'], { description: 'Currency of all amounts (ISO 4217)' })

export function nullable<T extends Parameters<typeof Type.Union>[0][number]>(
  schema: T,
  options: TSchemaOptions = {},
) {
  return Type.Union([schema, Type.Null()], options)
}

/** Characters that hide or reorder their neighbours. */
const HIDING = String.raw`\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb`
/**
 * Characters that make a name look like another: controls, and those that hide others. It avoids \p{…}, because clients
 * read patterns from openapi.json with other regular expression engines.
 */
export const DECEPTIVE = String.raw`\u0000-\u001f${HIDING}`
/** Characters that are invisible by themselves. They include joiners, which emoji and Persian need. */
const BLANK = String.raw`\s\u034f\u115f\u1160\u17b4\u17b5\u200c\u200d\u2800\u3164\ufe00-\ufe0f\uffa0`
export const VISIBLE = `^(?=.*[^${BLANK}])[^${DECEPTIVE}]*$`
/** The same pattern for texts of several lines, which may have tabs. */
export const VISIBLE_LINES = String.raw`^(?=[\s\S]*[^${BLANK}])[^\u0000-\u0008\u000b-\u001f${HIDING}]*$`

/** A name for people, with at least one visible character. Its length is counted in Unicode code points. */
export function visibleName(maxLength: number, example: string): TString {
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: VISIBLE,
    description: `A name of your choice, 1 to ${maxLength} characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique`,
    examples: [example],
    errorMessage: 'must not be blank, and must not contain control, zero-width or direction characters.',
  })
}

/** The labels of an object. */
export const Labels = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Names and values of your choice',
  examples: [{ env: 'prod' }],
})

/** The labels that a request gives an object. */
export const NewLabels = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 32,
  description: 'Up to 32 names and values of your choice, to filter lists by; replaces all existing labels',
  examples: [{ env: 'prod' }],
  propertyNames: {
    pattern: `^${LABEL_NAME}$`,
    errorMessage: 'must have names of letters, digits and . _ / - (63 at most).',
  },
  additionalProperties: { type: 'string', maxLength: 63 },
})

export const LabelSelector = Type.String({
  maxLength: MOST_SELECTOR,
  pattern: LABEL_SELECTOR,
  description:
    'Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label.',
  examples: ['env=prod,tier!=web,!retired'],
  errorMessage:
    'must have up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas.',
})

const TWO_DIGITS = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'))

/**
 * Returns the same as Date's toISOString in a quarter of the time: a page of servers contains hundreds of
 * timestamps.
 */
export function isoTime(ms: number): string {
  const date = new Date(ms)
  const year = date.getUTCFullYear()
  if (!(year >= 1000 && year <= 9999)) return date.toISOString()
  const two = (n: number) => TWO_DIGITS[n]
  const day = `${year}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
  const time = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
  return `${day}T${time}.${String(date.getUTCMilliseconds()).padStart(3, '0')}Z`
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}
