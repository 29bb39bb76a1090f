import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Catalog } from '../../catalog/file.ts'
import type { Clock } from '../../clock.ts'
import type { ProviderSettings } from '../../config.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { SignedIn } from '../../http/contract/auth.ts'
import type { Visit } from '../../http/contract/route.ts'
import type { Peers } from '../../processes/peers.ts'
import type { Secrets } from '../../secrets.ts'
import { NetworkAttempts } from '../guard/attempts.ts'
import type { KnownPlaces } from '../guard/known-places.ts'
import type { Passwords } from '../guard/passwords.ts'
import type { Tickets } from '../guard/tickets.ts'
import { hashSecret } from '../person/links.ts'
import { createSession } from '../person/sessions.ts'
import type { PersonTable } from '../person/tables.ts'
import { isTwoFactorOn } from '../two-factor/enrollment.ts'
import { notePlace } from './new-places.ts'

/** Sign-up is open to everybody, to people with an invitation, or to nobody. */
export type SignUpPolicy = 'open' | 'invitation' | 'closed'

export interface SignInOptions {
  db: Database
  clock: Clock
  /** The catalogue in force, with the operator's contact and terms. */
  catalog: Pick<Catalog, 'operator'>
  secrets: Secrets
  passwords: Passwords
  signUp: SignUpPolicy
  /** Address at which people open the console. */
  siteUrl: () => string
  /** Called after a mail was queued. */
  mailed: () => void
  /** Gives a person's first account the credit of a trial, if the installation has one. */
  grantTrial: (tx: Queries, of: { accountId: string; email: string }) => Promise<void>
  /** The OpenID Connect provider; null if there is none. */
  oidc: ProviderSettings | null
  /** True if the console is served, where people approve logins of devices. */
  hasConsole: boolean
  /** The processes that share limits with this one. */
  peers: Pick<Peers, 'answering'>
  log: Logger
}

/** A sign-in that still needs the second factor. */
export interface Pending {
  ticket: string
}

/** A completed sign-in. */
export interface Entry {
  signedIn: SignedIn
  /** The value for the session cookie. */
  secret: string
}

const MINUTE = 60_000

/** The last steps of each way to sign in: asking for the second factor, and opening the session. */
export class Admission {
  readonly #options: Pick<SignInOptions, 'clock' | 'secrets' | 'siteUrl'>
  readonly #tickets: Tickets
  readonly #known: KnownPlaces
  /** Attempts from one network, in whichever way they try to sign in. */
  readonly byNetwork: NetworkAttempts

  constructor(
    options: Pick<SignInOptions, 'clock' | 'peers' | 'secrets' | 'siteUrl'>,
    { tickets, known }: { tickets: Tickets; known: KnownPlaces },
  ) {
    this.#options = options
    this.#tickets = tickets
    this.#known = known
    this.byNetwork = new NetworkAttempts(options, { burst: 20, everyMs: MINUTE / 2 })
  }

  /** Continues after the first factor. @param person must be locked (`heldPerson`) */
  async enter(tx: Queries, person: PersonTable, visit: Visit): Promise<Entry | Pending> {
    const { person_id: personId, password } = person
    if (!(await isTwoFactorOn(tx, personId))) return this.admit(tx, person, visit)
    return {
      ticket: this.#tickets.issue('second_factor', { personId, password: hashSecret(password ?? '') }),
    }
  }

  /**
   * Opens a session once all factors are shown, and mails the person if it is from a new place.
   * @param person must be locked (`heldPerson`)
   */
  async admit(tx: Queries, person: PersonTable, visit: Visit): Promise<Entry> {
    const { person_id: personId, email } = person
    await notePlace(tx, this.#options, person, visit)
    const { session, secret } = await createSession(tx, this.#options.clock, { personId, visit })
    const { session_id: sessionId, account_id: accountId } = session
    this.#known.note(email, visit.address)
    return { signedIn: { personId, email, sessionId, accountId }, secret }
  }
}
