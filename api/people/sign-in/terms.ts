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
      'Version of the terms that the new person has accepted, as `operator.terms` of `GET /sign-in/options` has it; required if there are terms',
    examples: ['2026-11'],
  }),
)

/**
 * Returns the acceptance of the terms, which is kept with a new person.
 * @throws ApiError terms_not_accepted if there are terms, and another version or none was accepted
 */
export function acceptance(
  { catalog, clock }: { catalog: Pick<Catalog, 'operator'>; clock: Clock },
  accepted: string | undefined,
): Pick<PersonTable, 'terms_version' | 'terms_accepted_at'> {
  const { terms } = catalog.operator
  if (!terms) return { terms_version: null, terms_accepted_at: null }
  if (terms.version === accepted) return { terms_version: accepted, terms_accepted_at: clock.now() }
  throw new ApiError(
    peopleProblems.terms_not_accepted,
    `To sign up, accept the terms at ${terms.url}: send their version, ${terms.version}, as accepted_terms.`,
  )
}
