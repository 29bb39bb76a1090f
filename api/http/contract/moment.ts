import { LAST_MOMENT } from './fields.ts'
import { bodyIssue, invalid } from './problem.ts'

/**
 * Reads a time of a body, which the schema has found to be in the form of RFC 3339.
 * @returns milliseconds since 1970
 * @throws ApiError validation_failed if the text is no valid time, or is one that a reply could not express
 */
export function readMoment(field: string, text: string): number {
  const at = Date.parse(text)
  // Date rejects leap seconds, zones without minutes, and times that their zone moves into the year 10000.
  if (at >= 0 && at <= LAST_MOMENT) return at
  throw invalid([bodyIssue(field, 'invalid_format', `${field} must be a time such as 2030-01-31T12:00:00Z.`)])
}
