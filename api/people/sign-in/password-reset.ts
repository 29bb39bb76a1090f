import type { Visit } from '../../http/contract/route.ts'
import { enqueueMail } from '../../mail/queue.ts'
import type { MailBounds } from '../guard/mail-bounds.ts'
import { strangerAt } from '../guard/password-queue.ts'
import { requireGoodPassword } from '../guard/passwords.ts'
import { letter } from '../letters/mails.ts'
import { noteChange } from '../letters/notices.ts'
import { createLink, findLink, linkInvalid, pageOn, redeemLink } from '../person/links.ts'
import { asPerson, personByEmail, personById, setPassword } from '../person/people.ts'
import { endSessions, heldReader } from '../person/sessions.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Admission, Entry, Pending, SignInOptions } from './admission.ts'

interface Parts {
  admission: Admission
  mailBounds: MailBounds
}

/** Choosing a new password, by a link that is mailed to the person. */
export class PasswordResets {
  readonly #options: SignInOptions
  readonly #admission: Admission
  readonly #mailBounds: MailBounds

  constructor(options: SignInOptions, { admission, mailBounds }: Parts) {
    this.#options = options
    this.#admission = admission
    this.#mailBounds = mailBounds
  }

  /** Mails a reset link. @throws ApiError rate_limited, backend_unavailable */
  async request(to: { email: string; language: PersonTable['language'] }, visit: Visit): Promise<void> {
    const { db, clock, mailed } = this.#options
    const email = await this.#mailBounds.take(to.email, visit)
    const person = await personByEmail(db, email)
    await db.transaction().execute(async (tx) => {
      const { person_id, language } = person ?? { person_id: null, language: to.language }
      // Always created, so that the response time does not reveal whether the address is registered.
      const secret = await createLink(tx, clock, { purpose: 'reset', email, person_id, language })
      const mail = person
        ? letter(person, 'reset', pageOn(this.#options, '/reset', secret))
        : letter({ ...to, email }, 'unknown', pageOn(this.#options, '/', ''))
      await enqueueMail(tx, this.#options, mail)
    })
    mailed()
  }

  /**
   * Sets the password, and ends all sessions, since the old password may have leaked.
   * @throws ApiError link_invalid, validation_failed, rate_limited
   */
  async complete(
    given: { token: string; password: string },
    visit: Visit,
  ): Promise<(Entry | Pending) & { personId: string }> {
    const { db, clock, passwords, mailed } = this.#options
    this.#admission.byNetwork.take(visit.address)
    const link = await findLink(db, clock, given.token, 'reset')
    const reader = link.person_id === null ? undefined : await personById(db, link.person_id)
    if (!reader) throw linkInvalid()
    await requireGoodPassword('password', given.password, reader)
    const { person_id: personId } = reader
    const password = await passwords.hash(given.password, strangerAt(visit.address))
    const entry = await db.transaction().execute(async (tx) => {
      const person = await heldReader(tx, link)
      await redeemLink(tx, link)
      await setPassword(tx, personId, password)
      await endSessions(tx, personId)
      await asPerson(person, () => noteChange(tx, this.#options, person, 'password_changed'))
      return this.#admission.enter(tx, { ...person, password }, visit)
    })
    mailed()
    return { ...entry, personId }
  }
}
