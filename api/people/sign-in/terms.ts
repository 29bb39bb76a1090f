import Type from 'typebox'
import type { Catalog } from '../../catalog/file.ts'
import type { Clock } from '../../clock.ts'
import { ApiError } from '../../http/contract/problem.ts'
import { peopleProblems } from '../person/schema.ts'
import type { PersonTable } from '../person/tables.ts'

export const AcceptedTerms = Type.Optional(
  Type.String({
    maxLength: 64,
    description:
      'Version of the terms that the person has accepted, as `operator.terms` of `GET /sign-in/options` has it; new people must send it if there are terms',
    examples: ['2026-11'],
  }),
)

type InForce = Pick<Catalog, 'operator'>

/** The terms in force that a person has yet to accept; null if there are none. */
export function termsDue({ operator }: InForce, { terms_version }: Pick<PersonTable, 'terms_version'>) {
  return operator.terms?.version === terms_version ? null : operator.terms
}

/**
 * Returns the acceptance of the terms, which is kept with a new person.
 * @throws ApiError terms_not_accepted if there are terms, and another version or none was accepted
 */
export function acceptance(
  { catalog, clock }: { catalog: InForce; clock: Clock },
  accepted: string | undefined,
): Pick<PersonTable, 'terms_version' | 'terms_accepted_at'> {
  const { terms } = catalog.operator
  if (!terms) return { terms_version: null, terms_accepted_at: null }
  if (terms.version === accepted) return { terms_version: accepted, terms_accepted_at: clock.now() }
  throw new ApiError(
    peopleProblems.terms_not_accepted,
    `Accept the terms at ${terms.url}: send their version, ${terms.version}, as accepted_terms.`,
  )
}
