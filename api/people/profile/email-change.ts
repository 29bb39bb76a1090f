import { moveAccountEmail } from '../../accounts/accounts.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { SignedIn } from '../../http/contract/auth.ts'
import type { Visit } from '../../http/contract/route.ts'
import { enqueueMail } from '../../mail/queue.ts'
import type { MailBounds } from '../guard/mail-bounds.ts'
import type { Proof } from '../guard/proof.ts'
import { letter } from '../letters/mails.ts'
import { type Notify, noteChange } from '../letters/notices.ts'
import { accountIdsOf, claimAccount, recordMemberUpdates } from '../membership/members.ts'
import { createLink, endLinks, findLink, linkInvalid, pageOn, redeemLink } from '../person/links.ts'
import { findPerson, personByEmail } from '../person/people.ts'
import { endSessions, requireSession } from '../person/sessions.ts'
import type { LinkTable } from '../person/tables.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'

type Options = Notify & { db: Database; clock: Clock }

interface Parts {
  proof: Proof
  twoFactor: TwoFactor
  mailBounds: MailBounds
}

/** Changes a person's e-mail address once they have proven the new one. */
export class EmailChange {
  readonly #options: Options
  readonly #parts: Parts

  constructor(options: Options, parts: Parts) {
    this.#options = options
    this.#parts = parts
  }

  /**
   * Mails a link to the new address. If the address is taken, the mail says so instead.
   * @throws ApiError wrong_code, rate_limited, backend_unavailable, and those of Proof
   */
  async request(
    signedIn: SignedIn,
    given: { email: string; password?: string; code?: string },
    visit: Visit,
  ): Promise<void> {
    const { clock } = this.#options
    const { proof, twoFactor, mailBounds } = this.#parts
    const person = await proof.require(signedIn, given.password, 'password')
    const email = await mailBounds.take(given.email, visit)
    const { person_id, language } = person
    await twoFactor.confirmed(signedIn, { person, code: given.code }, async (tx) => {
      // The link is always created, so that the response time does not reveal whether the address is taken.
      const secret = await createLink(tx, clock, { purpose: 'email', email, person_id, language })
      const mail = (await personByEmail(tx, email))
        ? letter({ email, language }, 'email_taken', pageOn(this.#options, '/sign-in', ''))
        : letter({ email, language }, 'email', pageOn(this.#options, '/email', secret))
      await enqueueMail(tx, this.#options, mail)
    })
  }

  /**
   * Changes the address of the signed-in person with the link. A link to a mistyped address is useless to its
   * reader, because that reader is not signed in. Ends all other sessions.
   * @throws ApiError link_invalid, session_ended
   */
  async confirm(signedIn: SignedIn, token: string): Promise<void> {
    const { db, clock, mailed } = this.#options
    const link = await findLink(db, clock, token, 'email')
    if (link.person_id !== signedIn.personId) throw linkInvalid()
    const change = db.transaction().execute((tx) => this.#change(tx, signedIn, link))
    await change.catch(async (error: unknown) => {
      // If two people claim one address at once, the database refuses the second.
      const holder = await personByEmail(db, link.email)
      throw holder && holder.person_id !== signedIn.personId ? linkInvalid() : error
    })
    mailed()
  }

  async #change(tx: Queries, signedIn: SignedIn, link: LinkTable): Promise<void> {
    const { clock } = this.#options
    const { personId, sessionId } = signedIn
    await requireSession(tx, signedIn)
    await redeemLink(tx, link)
    const before = await findPerson(tx, personId)
    const { email } = link
    if (await personByEmail(tx, email)) throw linkInvalid()
    await tx.updateTable('people').set({ email }).where('person_id', '=', personId).execute()
    // This revokes password reset links, too.
    await endLinks(tx, before.email)
    await endSessions(tx, personId, sessionId)
    await noteChange(tx, this.#options, before, 'email_changed')
    await claimAccount(tx, clock, { ...before, email })
    for (const accountId of await accountIdsOf(tx, personId))
      await moveAccountEmail(tx, accountId, { from: before.email, to: [email] })
    await recordMemberUpdates(tx, clock, personId)
  }
}
