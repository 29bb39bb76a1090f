import type { Static } from 'typebox'
import { canonicalCidr } from '../cidrs.ts'
import { cidrIssues } from '../http/contract/cidr-issues.ts'
import { readMoment } from '../http/contract/moment.ts'
import { bodyIssue, invalid } from '../http/contract/problem.ts'
import type { TokenCreate } from './schema.ts'

/** Returns each range once, in canonical form. @throws ApiError validation_failed */
export function readCidrs(given: readonly string[]): string[] {
  const issues = cidrIssues('cidrs', given)
  if (issues.length > 0) throw invalid(issues)
  return [...new Set(given.flatMap((text) => canonicalCidr(text) ?? []))]
}

/** Returns the moment of an `expires_at`; null if there is none. @throws ApiError validation_failed */
function expiryOf(text: string | null | undefined, now: number): number | null {
  if (!text) return null
  const at = readMoment('expires_at', text)
  if (at <= now)
    throw invalid([bodyIssue('expires_at', 'below_minimum', 'expires_at must be in the future.')])
  return at
}

/** Returns the token that a request describes. @throws ApiError validation_failed */
export function readToken(
  { name, scopes, expires_at, cidrs, kind = 'api', project_id: projectId }: Static<typeof TokenCreate>,
  now: number,
) {
  return {
    name,
    scopes,
    expiresAt: expiryOf(expires_at, now),
    cidrs: readCidrs(cidrs ?? []),
    kind,
    projectId,
  }
}
