import type { SignedIn } from '../../http/contract/auth.ts'
import type { Report, Visit } from '../../http/contract/route.ts'
import { membershipsOf } from '../membership/members.ts'
import { writeCookie } from '../person/cookie.ts'
import { findPerson } from '../person/people.ts'
import { SESSION_LIVES_MS } from '../person/sessions.ts'
import { identityOf } from '../provider/store.ts'
import { showTwoFactor } from '../two-factor/enrollment.ts'
import type { Entry, Pending, SignInOptions } from './admission.ts'
import type { Person, SignIn } from './schema.ts'
import { termsDue } from './terms.ts'
import { personView } from './view.ts'

/** Parts of a call that are needed to sign somebody in. */
interface Answer {
  visit: Visit
  setHeader(name: string, value: string): void
  report(report: Report): void
}

/** The database, and the catalogue with the terms in force. */
type Place = Pick<SignInOptions, 'db' | 'catalog'>

/** Sets the cookie of the new session, or returns a ticket for the missing second factor. */
export async function letIn(
  place: Place,
  entry: Entry | Pending,
  { visit, setHeader, report }: Answer,
): Promise<SignIn> {
  if ('ticket' in entry) return { is_signed_in: false, person: null, ticket: entry.ticket }
  const { signedIn, secret } = entry
  setHeader('set-cookie', writeCookie(secret, visit.isSecure, SESSION_LIVES_MS))
  const { sessionId, personId } = signedIn
  report({ event: 'signed_in', objectId: sessionId, personId })
  return { is_signed_in: true, person: await showPerson(place, signedIn), ticket: null }
}

/** Describes the signed-in person to themselves. */
export async function showPerson({ db, catalog }: Place, signedIn: SignedIn): Promise<Person> {
  const person = await findPerson(db, signedIn.personId)
  const memberships = await membershipsOf(db, signedIn.personId)
  const issuer = (await identityOf(db, signedIn.personId))?.issuer ?? null
  const twoFactor = await showTwoFactor(db, signedIn.personId)
  const terms = termsDue(catalog, person)
  return personView(person, signedIn, memberships, { twoFactor, issuer, terms })
}
