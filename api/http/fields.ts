import Type, { type TSchemaOptions, type TString } from 'typebox'

/** Pieces of wire contract that every feature uses. */

/** The id of something; the example tells its kind from others in the API's description. */
export function uuid(example: string, description?: string) {
  return Type.String({ format: 'uuid', examples: [example], ...(description ? { description } : {}) })
}

export const Uuid = uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11')
/** RFC 3339, UTC, with Z. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-11-20T12:00:00.000Z'] })
/** The last one that a Timestamp can say. */
export const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z')
export const Money = Type.String({
  pattern: String.raw`^-?\d+\.\d{2}$`,
  description: 'Rubles with two decimals',
  examples: ['300.00'],
})
export const HourPrice = Type.String({
  pattern: String.raw`^\d+\.\d{4}$`,
  description: 'Rubles per hour with four decimals',
  examples: ['0.4110'],
})

export function nullable<T extends Parameters<typeof Type.Union>[0][number]>(
  schema: T,
  options: TSchemaOptions = {},
) {
  return Type.Union([schema, Type.Null()], options)
}

/** A name for people: something must be seen of it. Length is counted in Unicode code points. */
export function visibleName(maxLength: number): TString {
  // Without \p{…}: clients read it from openapi.json, in whatever dialect they have.
  const pattern = String.raw`^(?=.*\S)[^\u0000-\u001f\u007f-\u009f]*$`
  return Type.String({
    minLength: 1,
    maxLength,
    pattern,
    examples: ['web-1'],
    errorMessage: 'must not be blank or contain control characters.',
  })
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'))

/** What Date's own toISOString says, in a quarter of its time: a page of servers has hundreds of times. */
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
