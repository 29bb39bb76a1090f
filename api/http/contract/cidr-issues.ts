import { canonicalCidr, networkAround } from '../../cidrs.ts'
import { bodyIssue, type Issue } from './problem.ts'

/** Mistakes in a list of addresses and ranges in a body. @param field the field that has the list */
export function cidrIssues(field: string, given: readonly string[]): Issue[] {
  return given.flatMap((text, at) => {
    if (canonicalCidr(text) !== null) return []
    const network = networkAround(text)
    const message = network
      ? `${text} is an address in the range ${network}. Give the range, or the address alone.`
      : `${text} is not an address or range such as 203.0.113.7 or 2001:db8::/32.`
    return [bodyIssue(`${field}.${at}`, 'invalid_format', message)]
  })
}
