import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Static } from 'typebox'
import { createAccount } from '../../accounts/accounts.ts'
import type { Clock } from '../../clock.ts'
import type { ProviderSettings } from '../../config.ts'
import type { Database, Queries } from '../../database/database.ts'
import { CredentialRefused, type SignedIn } from '../../http/contract/auth.ts'
import { ApiError } from '../../http/contract/problem.ts'
import type { Visit } from '../../http/contract/route.ts'
import { networkOf } from '../../http/limits/rate-limit.ts'
import type { Mail } from '../../mail/mailer.ts'
import { enqueueMail } from '../../mail/queue.ts'
import type { Peers } from '../../processes/peers.ts'
import type { Secrets } from '../../secrets.ts'
import { Attempts, NetworkAttempts } from '../guard/attempts.ts'
import type { KnownPlaces } from '../guard/known-places.ts'
import type { MailBounds } from '../guard/mail-bounds.ts'
import type { Passwords } from '../guard/passwords.ts'
import { requireGoodPassword } from '../guard/passwords.ts'
import { type Tickets, ticketInvalid } from '../guard/tickets.ts'
import { letter } from '../letters/mails.ts'
import { noteChange } from '../letters/notices.ts'
import { claimAccount } from '../membership/members.ts'
import { notePasskeyUse, type Passkeys, refused } from '../passkeys/passkeys.ts'
import type { PasskeyUse } from '../passkeys/schema.ts'
import { createLink, findLink, hashSecret, linkInvalid, pageOn, redeemLink } from '../person/links.ts'
import {
  asPerson,
  canonicalEmail,
  createPerson,
  personByEmail,
  personById,
  setPassword,
} from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import { createSession, endSessions, heldPerson } from '../person/sessions.ts'
import type { LinkTable, PersonTable } from '../person/tables.ts'
import { nameOf, noProvider, personOfIdentity, setIdentity, verifiedEmail } from '../provider/identities.ts'
import type { Identity, Provider } from '../provider/provider.ts'
import { isTwoFactorOn } from '../two-factor/enrollment.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'

/** Who can sign up: everybody, those who are invited, or nobody. */
export type SignUpPolicy = 'open' | 'invitation' | 'closed'

export interface SignInOptions {
  db: Database
  clock: Clock
  secrets: Secrets
  passwords: Passwords
  signUp: SignUpPolicy
  /** Where people open the console. */
  siteUrl: () => string
  /** Called after a mail was put in. */
  mailed: () => void
  /** The OpenID Connect provider; null: none. */
  oidc: ProviderSettings | null
  /** Whether there are pages, on which a login of a device is approved. */
  hasConsole: boolean
  /** Among whom bounds are shared. */
  peers: Pick<Peers, 'answering'>
  log: Logger
}

/** What the ways in have to know of each other. */
export interface SignInParts {
  tickets: Tickets
  twoFactor: TwoFactor
  passkeys: Passkeys
  provider: Provider | null
  mailBounds: MailBounds
  known: KnownPlaces
}

/** Somebody whose second factor is still to come. */
export interface Pending {
  ticket: string
}

/** Somebody who has just signed in. */
export interface Entry {
  signedIn: SignedIn
  /** What the cookie is to hold. */
  secret: string
}

const MINUTE = 60_000

/** The ways in: what people who have not signed in can do. */
export class SignIns {
  readonly #options: SignInOptions
  readonly #tickets: Tickets
  readonly #twoFactor: TwoFactor
  readonly #passkeys: Passkeys
  readonly #provider: Provider | null
  readonly #byNetwork: NetworkAttempts
  readonly #byEmail: Attempts
  /** Of a person from one network: nobody locks her out from elsewhere. */
  readonly #byBoth: Attempts
  readonly #known: KnownPlaces
  readonly #mailBounds: MailBounds

  constructor(options: SignInOptions, parts: SignInParts) {
    this.#options = options
    this.#tickets = parts.tickets
    this.#twoFactor = parts.twoFactor
    this.#passkeys = parts.passkeys
    this.#provider = parts.provider
    this.#byNetwork = new NetworkAttempts(options, { burst: 20, everyMs: MINUTE / 2 })
    this.#byEmail = new Attempts(options, 'sign-ins', { burst: 50, everyMs: MINUTE })
    this.#byBoth = new Attempts(options, 'sign-ins from', { burst: 10, everyMs: 3 * MINUTE })
    this.#known = parts.known
    this.#mailBounds = parts.mailBounds
  }

  /**
   * Mails the link to sign up with; to somebody who has, that she has.
   * @throws ApiError sign_up_closed, rate_limited, backend_unavailable
   */
  async requestSignUp(to: { email: string; language: PersonTable['language'] }, visit: Visit): Promise<void> {
    const { db, clock, signUp } = this.#options
    if (signUp !== 'open') throw signUpClosed(signUp)
    const email = await this.#mailBounds.take(to.email, visit)
    const person = await personByEmail(db, email)
    await this.#mail(async (tx) => {
      // Made in any case, so that the reply takes as long; whom it is not sent to it is no use.
      const link = { purpose: 'sign_up', email, person_id: null, language: to.language } as const
      const secret = await createLink(tx, clock, link)
      if (person) return letter(person, 'known', this.#page('/sign-in'))
      return letter({ ...to, email }, 'sign_up', this.#page('/sign-up', secret))
    })
  }

  /** Makes the person whose address was proven, and her account. @throws ApiError link_invalid, validation_failed, rate_limited */
  async completeSignUp(
    given: { token: string; name: string; password: string },
    visit: Visit,
  ): Promise<Entry | Pending> {
    const { db, clock, passwords } = this.#options
    this.#byNetwork.take(visit.address)
    const link = await findLink(db, clock, given.token, 'sign_up')
    const { email, language } = link
    await requireGoodPassword('password', given.password, { email, name: given.name })
    const password = await passwords.hash(given.password)
    return db.transaction().execute(async (tx) => {
      await redeemLink(tx, link)
      const person = await createPerson(tx, clock, { email, name: given.name, language, password })
      if (!person) throw linkInvalid()
      await asPerson(person, () => this.#giveAccount(tx, person))
      return this.#enter(tx, person, visit)
    })
  }

  /** @throws ApiError sign_in_failed, rate_limited */
  async signIn(given: { email: string; password: string }, visit: Visit): Promise<Entry | Pending> {
    const { db, passwords } = this.#options
    const email = canonicalEmail(given.email)
    this.#byNetwork.take(visit.address)
    passwords.requireRoom()
    const both = `${networkOf(visit.address)} ${email}`
    await this.#byBoth.take(both)
    const isCounted = await this.#known.take(this.#byEmail, email, visit.address)
    const person = await personByEmail(db, email)
    if (!(await passwords.matches(given.password, person?.password ?? null)) || !person)
      throw signInFailed(person)
    this.#byNetwork.giveBack(visit.address)
    await this.#byBoth.giveBack(both)
    if (isCounted) await this.#byEmail.giveBack(email)
    return db.transaction().execute(async (tx) => {
      const held = await heldPerson(tx, person.person_id)
      // To compare takes a while, in which she may have chosen another one.
      if (held?.password !== person.password) throw signInFailed(person)
      return this.#enter(tx, held, visit)
    })
  }

  /** The second step, with a code. @throws ApiError ticket_invalid, wrong_code, rate_limited */
  async useCode(given: { ticket: string; code: string }, visit: Visit): Promise<Entry> {
    const { db, mailed } = this.#options
    this.#byNetwork.take(visit.address)
    const ticket = this.#tickets.open('second_factor', given.ticket)
    const { personId, password } = ticket.contents
    const current = (person: PersonTable | undefined) => {
      // Whoever knows an old password has no first factor.
      if (!person || hashSecret(person.password ?? '') !== password) throw ticketInvalid()
      return person
    }
    const person = current(await personById(db, personId))
    const entry = await this.#twoFactor.withCode(person, given.code, () =>
      db.transaction().execute(async (tx) => {
        await this.#tickets.spend(tx, ticket)
        current(await heldPerson(tx, personId))
        await asPerson(person, () => this.#twoFactor.useCode(tx, person, given.code))
        return this.#admit(tx, person, visit)
      }),
    )
    this.#byNetwork.giveBack(visit.address)
    mailed()
    return entry
  }

  /** Both factors in one: the device, and what unlocks it. @throws ApiError ticket_invalid, passkey_refused, rate_limited */
  async usePasskey(given: Static<typeof PasskeyUse>, visit: Visit): Promise<Entry> {
    const { db, clock } = this.#options
    this.#byNetwork.take(visit.address)
    const ticket = this.#tickets.open('passkey_sign_in', given.ticket)
    const { passkey_id, person_id } = await this.#passkeys.verify(given, ticket)
    const entry = await db.transaction().execute(async (tx) => {
      await this.#tickets.spend(tx, ticket)
      const person = await heldPerson(tx, person_id)
      if (!person || !(await notePasskeyUse(tx, passkey_id, clock.now()))) throw refused(person_id)
      return this.#admit(tx, person, visit)
    })
    this.#byNetwork.giveBack(visit.address)
    return entry
  }

  /**
   * The first step at the provider. Whom it knows is known here by its name for her. An address alone opens nothing
   * that is there already: its person signs in as usual once, and connects both with a ticket.
   * @throws ApiError no_provider, ticket_invalid, provider_refused, email_unverified, sign_up_closed, rate_limited
   */
  async useProvider(
    given: { ticket: string; answer: string; language: PersonTable['language'] },
    visit: Visit,
  ): Promise<Entry | Pending | { identityTicket: string }> {
    const { db } = this.#options
    if (!this.#provider) throw noProvider()
    this.#byNetwork.take(visit.address)
    const ticket = this.#tickets.open('provider', given.ticket)
    await this.#tickets.spend(db, ticket)
    const identity = await this.#provider.finish(given.answer, ticket.contents)
    const entry = await db.transaction().execute(async (tx) => {
      const known = await personOfIdentity(tx, identity)
      if (known) return this.#enter(tx, known, visit)
      const email = verifiedEmail(identity)
      const { issuer, subject } = identity
      const person = await personByEmail(tx, email)
      if (person) {
        const contents = { personId: person.person_id, issuer, subject }
        return { identityTicket: this.#tickets.issue('identity', contents) }
      }
      return this.#enter(tx, await this.#signUpBy(tx, identity, { email, language: given.language }), visit)
    })
    this.#byNetwork.giveBack(visit.address)
    return entry
  }

  async #signUpBy(
    tx: Queries,
    { issuer, subject, name }: Identity,
    { email, language }: Pick<PersonTable, 'email' | 'language'>,
  ): Promise<PersonTable> {
    const { clock, signUp } = this.#options
    if (signUp !== 'open') throw signUpClosed(signUp)
    const person = await createPerson(tx, clock, {
      email,
      name: nameOf({ name, email }),
      language,
      password: null,
    })
    if (!person) throw ticketInvalid()
    await asPerson(person, () => this.#giveAccount(tx, person))
    await setIdentity(tx, { person_id: person.person_id, issuer, subject, created_at: clock.now() })
    return person
  }

  /** The first step by a link for that. @throws ApiError link_invalid, rate_limited */
  async useLink(token: string, visit: Visit): Promise<Entry | Pending> {
    const { db, clock } = this.#options
    this.#byNetwork.take(visit.address)
    const link = await findLink(db, clock, token, 'sign_in')
    return db.transaction().execute(async (tx) => {
      const person = await holdReader(tx, link)
      await redeemLink(tx, link)
      return this.#enter(tx, person, visit)
    })
  }

  /** Mails the link to choose another password with. @throws ApiError rate_limited, backend_unavailable */
  async requestReset(to: { email: string; language: PersonTable['language'] }, visit: Visit): Promise<void> {
    const { db, clock } = this.#options
    const email = await this.#mailBounds.take(to.email, visit)
    const person = await personByEmail(db, email)
    await this.#mail(async (tx) => {
      const { person_id, language } = person ?? { person_id: null, language: to.language }
      // As above.
      const secret = await createLink(tx, clock, { purpose: 'reset', email, person_id, language })
      if (!person) return letter({ ...to, email }, 'unknown', this.#page('/'))
      return letter(person, 'reset', this.#page('/reset', secret))
    })
  }

  /** Also ends the sessions of whoever knew the old one. @throws ApiError link_invalid, validation_failed, rate_limited */
  async completeReset(
    given: { token: string; password: string },
    visit: Visit,
  ): Promise<(Entry | Pending) & { personId: string }> {
    const { db, clock, passwords, mailed } = this.#options
    this.#byNetwork.take(visit.address)
    const link = await findLink(db, clock, given.token, 'reset')
    const reader = link.person_id === null ? undefined : await personById(db, link.person_id)
    if (!reader) throw linkInvalid()
    await requireGoodPassword('password', given.password, reader)
    const { person_id: personId } = reader
    const password = await passwords.hash(given.password)
    const entry = await db.transaction().execute(async (tx) => {
      const person = await holdReader(tx, link)
      await redeemLink(tx, link)
      await setPassword(tx, personId, password)
      await endSessions(tx, personId)
      await asPerson(person, () => noteChange(tx, this.#options, person, 'password_changed'))
      return this.#enter(tx, { ...person, password }, visit)
    })
    mailed()
    return { ...entry, personId }
  }

  async #mail(write: (tx: Queries) => Promise<Mail>): Promise<void> {
    const { db, mailed } = this.#options
    await db.transaction().execute(async (tx) => enqueueMail(tx, this.#options, await write(tx)))
    mailed()
  }

  #page(path: string, secret = ''): URL {
    return pageOn(this.#options, path, secret)
  }

  async #giveAccount(tx: Queries, person: PersonTable): Promise<void> {
    const { clock } = this.#options
    await createAccount(tx, clock, person)
    await claimAccount(tx, clock, person)
  }

  /** After the first factor, whichever it was. @param person who is held */
  async #enter(tx: Queries, person: PersonTable, visit: Visit): Promise<Entry | Pending> {
    const { person_id: personId, password } = person
    if (!(await isTwoFactorOn(tx, personId))) return this.#admit(tx, person, visit)
    return {
      ticket: this.#tickets.issue('second_factor', { personId, password: hashSecret(password ?? '') }),
    }
  }

  async #admit(tx: Queries, { person_id: personId, email }: PersonTable, visit: Visit): Promise<Entry> {
    const { session, secret } = await createSession(tx, this.#options.clock, { personId, visit })
    const { session_id: sessionId, account_id: accountId } = session
    this.#known.note(email, visit.address)
    return { signedIn: { personId, email, sessionId, accountId }, secret }
  }
}

/** Whom a link was mailed to, held. @throws ApiError link_invalid */
async function holdReader(tx: Queries, { person_id, email }: LinkTable): Promise<PersonTable> {
  const person = person_id === null ? undefined : await heldPerson(tx, person_id)
  // Whoever reads what goes to an address that she has left is not she.
  if (person?.email !== email) throw linkInvalid()
  return person
}

function signInFailed(person: PersonTable | undefined): ApiError {
  return new CredentialRefused(
    peopleProblems.sign_in_failed,
    'The e-mail address or the password is wrong. If you forgot the password, choose another one.',
    person ? { accountId: null, tokenId: null, personId: person.person_id } : null,
  )
}

/** The error where somebody can't sign up. */
export function signUpClosed(signUp: 'invitation' | 'closed'): ApiError {
  const detail =
    signUp === 'closed'
      ? 'Nobody can sign up here. Ask the operator of this installation.'
      : 'Only who is invited can sign up here. Open the link of your invitation.'
  return new ApiError(peopleProblems.sign_up_closed, detail)
}
