import { canonicalCidr } from '../cidrs.ts'
import { cidrIssues } from '../http/contract/cidr-issues.ts'
import { bodyIssue, type Issue, invalid } from '../http/contract/problem.ts'
import { ANYWHERE, type FirewallRule, MOST_BYTES, type NewRule } from './schema.ts'

const LAST_PORT = 65_535

/** Rules as they are kept: whole, and with ranges in canonical form. @throws ApiError validation_failed */
export function readRules(given: readonly NewRule[]): FirewallRule[] {
  const issues = given.flatMap((rule, at) => [
    ...portIssues(`rules.${at}.ports`, rule),
    ...cidrIssues(`rules.${at}.cidrs`, rule.cidrs ?? []),
  ])
  const rules = given.map(({ direction, protocol, ports = null, cidrs = ANYWHERE, description = null }) => ({
    direction,
    protocol,
    ports,
    cidrs: [...new Set(cidrs.flatMap((text) => canonicalCidr(text) ?? []))],
    description,
  }))
  const bytes = Buffer.byteLength(JSON.stringify(rules))
  if (bytes > MOST_BYTES)
    issues.push(
      bodyIssue(
        'rules',
        'too_long',
        `rules must have at most ${MOST_BYTES} bytes as JSON; these have ${bytes}.`,
      ),
    )
  if (issues.length > 0) throw invalid(issues)
  return rules
}

function portIssues(field: string, { protocol, ports }: NewRule): Issue[] {
  if (ports === null || ports === undefined) return []
  if (protocol !== 'tcp' && protocol !== 'udp')
    return [bodyIssue(field, 'mutually_exclusive', `ports must be null: ${protocol} has no ports.`)]
  const { first, last } = portRange(ports)
  if (first >= 1 && first <= last && last <= LAST_PORT) return []
  const message = `ports must be from 1 to ${LAST_PORT}, and a range must begin with the lower one.`
  return [bodyIssue(field, first < 1 ? 'below_minimum' : 'above_maximum', message)]
}

/** @param ports "22" or "8000-9000" */
export function portRange(ports: string): { first: number; last: number } {
  const [first = 0, last = first] = ports.split('-').map(Number)
  return { first, last }
}
