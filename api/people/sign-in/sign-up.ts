import { createAccount } from '../../accounts/accounts.ts'
import type { Queries } from '../../database/database.ts'
import { ApiError } from '../../http/contract/problem.ts'
import type { Visit } from '../../http/contract/route.ts'
import { enqueueMail } from '../../mail/queue.ts'
import type { MailBounds } from '../guard/mail-bounds.ts'
import { strangerAt } from '../guard/password-queue.ts'
import { requireGoodPassword } from '../guard/passwords.ts'
import { letter } from '../letters/mails.ts'
import { addMember, claimAccount } from '../membership/members.ts'
import { createLink, findLink, linkInvalid, pageOn, redeemLink } from '../person/links.ts'
import { asPerson, createPerson, type NewPerson, personByEmail } from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Admission, Entry, Pending, SignInOptions } from './admission.ts'
import { acceptance } from './terms.ts'

interface Parts {
  admission: Admission
  mailBounds: MailBounds
}

/** Signing up, by a link that is mailed to the address. */
export class SignUps {
  readonly #options: SignInOptions
  readonly #admission: Admission
  readonly #mailBounds: MailBounds

  constructor(options: SignInOptions, { admission, mailBounds }: Parts) {
    this.#options = options
    this.#admission = admission
    this.#mailBounds = mailBounds
  }

  /**
   * Mails a sign-up link. If the address is registered already, the mail says so instead.
   * @throws ApiError sign_up_closed, rate_limited, backend_unavailable
   */
  async request(to: { email: string; language: PersonTable['language'] }, visit: Visit): Promise<void> {
    const { db, clock, signUp, mailed } = this.#options
    if (signUp !== 'open') throw signUpClosed(signUp)
    const email = await this.#mailBounds.take(to.email, visit)
    const person = await personByEmail(db, email)
    await db.transaction().execute(async (tx) => {
      // Always created, so that the response time does not reveal whether the address is registered.
      const link = { purpose: 'sign_up', email, person_id: null, language: to.language } as const
      const secret = await createLink(tx, clock, link)
      const mail = person
        ? letter(person, 'known', pageOn(this.#options, '/sign-in', ''))
        : letter({ ...to, email }, 'sign_up', pageOn(this.#options, '/sign-up', secret))
      await enqueueMail(tx, this.#options, mail)
    })
    mailed()
  }

  /**
   * Creates the person and their account.
   * @throws ApiError link_invalid, validation_failed, terms_not_accepted, rate_limited
   */
  async complete(
    given: { token: string; name: string; password: string; accepted_terms?: string },
    visit: Visit,
  ): Promise<Entry | Pending> {
    const { db, clock, passwords } = this.#options
    this.#admission.byNetwork.take(visit.address)
    const link = await findLink(db, clock, given.token, 'sign_up')
    const { email, language } = link
    const terms = acceptance(this.#options, given.accepted_terms)
    await requireGoodPassword('password', given.password, { email, name: given.name })
    const password = await passwords.hash(given.password, strangerAt(visit.address))
    return db.transaction().execute(async (tx) => {
      await redeemLink(tx, link)
      const person = await createWithAccount(tx, this.#options, {
        email,
        name: given.name,
        language,
        password,
        ...terms,
      })
      if (!person) throw linkInvalid()
      return this.#admission.enter(tx, person, visit)
    })
  }
}

/** Creates a person with an account of their own. @returns null if the address is taken */
export async function createWithAccount(
  tx: Queries,
  { clock, grantTrial }: Pick<SignInOptions, 'clock' | 'grantTrial'>,
  wanted: NewPerson,
): Promise<PersonTable | null> {
  const person = await createPerson(tx, clock, wanted)
  if (!person) return null
  await asPerson(person, async () => {
    await claimAccount(tx, clock, person)
    const accountId = await createAccount(tx, clock, person)
    if (!accountId) return
    await addMember(tx, clock, { accountId, personId: person.person_id, role: 'owner' })
    await grantTrial(tx, { accountId, email: person.email })
  })
  return person
}

export function signUpClosed(signUp: 'invitation' | 'closed'): ApiError {
  const detail =
    signUp === 'closed'
      ? 'Sign-up is closed here. Ask the operator of this installation.'
      : 'Sign-up here is by invitation only. Open the link in your invitation.'
  return new ApiError(peopleProblems.sign_up_closed, detail)
}
