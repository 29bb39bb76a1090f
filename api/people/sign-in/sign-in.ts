import type { Static } from 'typebox'
import type { Queries } from '../../database/database.ts'
import { CredentialRefused } from '../../http/contract/auth.ts'
import type { ApiError } from '../../http/contract/problem.ts'
import type { Visit } from '../../http/contract/route.ts'
import { networkOf } from '../../http/limits/rate-limit.ts'
import { Attempts } from '../guard/attempts.ts'
import type { KnownPlaces } from '../guard/known-places.ts'
import { type Tickets, ticketInvalid } from '../guard/tickets.ts'
import { notePasskeyUse, type Passkeys, refused } from '../passkeys/passkeys.ts'
import type { PasskeyUse } from '../passkeys/schema.ts'
import { findLink, hashSecret, redeemLink } from '../person/links.ts'
import { asPerson, canonicalEmail, personByEmail, personById } from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import { heldPerson, heldReader } from '../person/sessions.ts'
import type { PersonTable } from '../person/tables.ts'
import { nameOf, noProvider, personOfIdentity, setIdentity, verifiedEmail } from '../provider/identities.ts'
import type { Identity, Provider } from '../provider/provider.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import type { Admission, Entry, Pending, SignInOptions } from './admission.ts'
import { createWithAccount, signUpClosed } from './sign-up.ts'
import { acceptance } from './terms.ts'

interface Parts {
  admission: Admission
  tickets: Tickets
  twoFactor: TwoFactor
  passkeys: Passkeys
  provider: Provider | null
  known: KnownPlaces
}

const MINUTE = 60_000

/** Signing in with a password, a passkey, a provider or a link, and with a code as the second step. */
export class SignIns {
  readonly #options: SignInOptions
  readonly #admission: Admission
  readonly #tickets: Tickets
  readonly #twoFactor: TwoFactor
  readonly #passkeys: Passkeys
  readonly #provider: Provider | null
  readonly #byEmail: Attempts
  /** Attempts at one person from one network, so that nobody can lock them out elsewhere. */
  readonly #byBoth: Attempts
  readonly #known: KnownPlaces

  constructor(options: SignInOptions, parts: Parts) {
    this.#options = options
    this.#admission = parts.admission
    this.#tickets = parts.tickets
    this.#twoFactor = parts.twoFactor
    this.#passkeys = parts.passkeys
    this.#provider = parts.provider
    this.#byEmail = new Attempts(options, 'sign-ins', { burst: 50, everyMs: MINUTE })
    this.#byBoth = new Attempts(options, 'sign-ins from', { burst: 10, everyMs: 3 * MINUTE })
    this.#known = parts.known
  }

  /** @throws ApiError sign_in_failed, rate_limited */
  async signIn(given: { email: string; password: string }, visit: Visit): Promise<Entry | Pending> {
    const { db, passwords } = this.#options
    const email = canonicalEmail(given.email)
    this.#admission.byNetwork.take(visit.address)
    const source = await this.#known.sourceOf(email, visit.address)
    passwords.requireRoom(source)
    const both = `${networkOf(visit.address)} ${email}`
    await this.#byBoth.take(both)
    const isCounted = await this.#known.take(this.#byEmail, email, visit.address)
    const person = await personByEmail(db, email)
    if (!(await passwords.matches(given.password, person?.password ?? null, source)) || !person)
      throw signInFailed(person)
    this.#admission.byNetwork.giveBack(visit.address)
    await this.#byBoth.giveBack(both)
    if (isCounted) await this.#byEmail.giveBack(email)
    return db.transaction().execute(async (tx) => {
      const held = await heldPerson(tx, person.person_id)
      // The password may have changed while it was being compared.
      if (held?.password !== person.password) throw signInFailed(person)
      return this.#admission.enter(tx, held, visit)
    })
  }

  /** Completes a sign-in with the second factor. @throws ApiError ticket_invalid, wrong_code, rate_limited */
  async useCode(given: { ticket: string; code: string }, visit: Visit): Promise<Entry> {
    const { db, mailed } = this.#options
    this.#admission.byNetwork.take(visit.address)
    const ticket = this.#tickets.open('second_factor', given.ticket)
    const { personId, password } = ticket.contents
    const current = (person: PersonTable | undefined) => {
      // The first factor is void once the password has changed.
      if (!person || hashSecret(person.password ?? '') !== password) throw ticketInvalid()
      return person
    }
    const person = current(await personById(db, personId))
    const entry = await this.#twoFactor.withCode(person, given.code, () =>
      db.transaction().execute(async (tx) => {
        await this.#tickets.spend(tx, ticket)
        const held = current(await heldPerson(tx, personId))
        await asPerson(person, () => this.#twoFactor.useCode(tx, person, given.code))
        return this.#admission.admit(tx, held, visit)
      }),
    )
    this.#admission.byNetwork.giveBack(visit.address)
    mailed()
    return entry
  }

  /** Signs in with a passkey, which counts as both factors. @throws ApiError ticket_invalid, passkey_refused, rate_limited */
  async usePasskey(given: Static<typeof PasskeyUse>, visit: Visit): Promise<Entry> {
    const { db, clock } = this.#options
    this.#admission.byNetwork.take(visit.address)
    const ticket = this.#tickets.open('passkey_sign_in', given.ticket)
    const passkey = await this.#passkeys.verify(given, ticket)
    const { person_id } = passkey
    const entry = await db.transaction().execute(async (tx) => {
      await this.#tickets.spend(tx, ticket)
      const person = await heldPerson(tx, person_id)
      if (!person || !(await notePasskeyUse(tx, passkey, clock.now()))) throw refused(person_id)
      return this.#admission.admit(tx, person, visit)
    })
    this.#admission.byNetwork.giveBack(visit.address)
    return entry
  }

  /**
   * Signs in with the provider's answer. People are recognized by issuer and subject, never by e-mail address.
   * If the address belongs to an existing person, they must sign in as usual once and connect the identity.
   * @throws ApiError no_provider, ticket_invalid, provider_refused, email_unverified, sign_up_closed, rate_limited
   */
  async useProvider(
    given: { ticket: string; answer: string; language: PersonTable['language']; accepted_terms?: string },
    visit: Visit,
  ): Promise<Entry | Pending | { identityTicket: string }> {
    const { db } = this.#options
    if (!this.#provider) throw noProvider()
    this.#admission.byNetwork.take(visit.address)
    const ticket = this.#tickets.open('provider', given.ticket)
    await this.#tickets.spend(db, ticket)
    const identity = await this.#provider.finish(given.answer, ticket.contents)
    const entry = await db.transaction().execute(async (tx) => {
      const known = await personOfIdentity(tx, identity)
      if (known) return this.#admission.enter(tx, known, visit)
      const email = verifiedEmail(identity)
      const { issuer, subject } = identity
      const person = await personByEmail(tx, email)
      if (person) {
        const contents = { personId: person.person_id, issuer, subject }
        return { identityTicket: this.#tickets.issue('identity', contents) }
      }
      return this.#admission.enter(tx, await this.#signUpBy(tx, identity, { ...given, email }), visit)
    })
    this.#admission.byNetwork.giveBack(visit.address)
    return entry
  }

  async #signUpBy(
    tx: Queries,
    { issuer, subject, name }: Identity,
    given: Pick<PersonTable, 'email' | 'language'> & { accepted_terms?: string },
  ): Promise<PersonTable> {
    const { clock, signUp } = this.#options
    if (signUp !== 'open') throw signUpClosed(signUp)
    const { email, language } = given
    const terms = acceptance(this.#options, given.accepted_terms)
    const wanted = { email, name: nameOf({ name, email }), language, password: null, ...terms }
    const person = await createWithAccount(tx, this.#options, wanted)
    if (!person) throw ticketInvalid()
    await setIdentity(tx, { person_id: person.person_id, issuer, subject, created_at: clock.now() })
    return person
  }

  /** Signs in with a link from the operator. @throws ApiError link_invalid, rate_limited */
  async useLink(token: string, visit: Visit): Promise<Entry | Pending> {
    const { db, clock } = this.#options
    this.#admission.byNetwork.take(visit.address)
    const link = await findLink(db, clock, token, 'sign_in')
    return db.transaction().execute(async (tx) => {
      const person = await heldReader(tx, link)
      await redeemLink(tx, link)
      return this.#admission.enter(tx, person, visit)
    })
  }
}

function signInFailed(person: PersonTable | undefined): ApiError {
  return new CredentialRefused(
    peopleProblems.sign_in_failed,
    'The e-mail address or the password is wrong. If you forgot your password, reset it.',
    person ? { accountId: null, tokenId: null, personId: person.person_id } : null,
  )
}
