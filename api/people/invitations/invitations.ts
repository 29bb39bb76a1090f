import { v7 as uuid } from 'uuid'
import { findAccount, lockAccount } from '../../accounts/accounts.ts'
import { requireRoom } from '../../accounts/quotas.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { type Page, pageOf } from '../../database/page.ts'
import { record } from '../../events/outbox.ts'
import type { EventType } from '../../events/types.ts'
import type { Actor, Role, SignedIn } from '../../http/contract/auth.ts'
import { ApiError, bodyIssue, invalid, notFound } from '../../http/contract/problem.ts'
import type { Remember, Visit } from '../../http/contract/route.ts'
import { enqueueMail } from '../../mail/queue.ts'
import { Attempts } from '../guard/attempts.ts'
import { strangerAt } from '../guard/password-queue.ts'
import { requireGoodPassword } from '../guard/passwords.ts'
import { letter } from '../letters/mails.ts'
import { standingInvitations } from '../membership/invited.ts'
import { actorNow, addMember, memberQuota, membership, requireRoleOver } from '../membership/members.ts'
import { hashSecret, linkInvalid, newSecret, pageOn } from '../person/links.ts'
import { asPerson, canonicalEmail, createPerson, personByEmail } from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import { createSession, holdPerson, moveSession } from '../person/sessions.ts'
import type { InvitationTable, PersonTable } from '../person/tables.ts'
import type { Entry, SignInOptions } from '../sign-in/admission.ts'
import { signUpClosed } from '../sign-in/sign-up.ts'
import { acceptance } from '../sign-in/terms.ts'
import { invitationView } from './view.ts'

const LIVES_MS = 7 * 24 * 3600_000
const MINUTE = 60_000

/** Invitations of people to accounts, by mail. */
export class Invitations {
  readonly #options: SignInOptions
  readonly #byAccount: Attempts
  readonly #byEmail: Attempts
  /** Invitations from one account to one address, so that other accounts can still invite it. */
  readonly #byBoth: Attempts

  constructor(options: SignInOptions) {
    this.#options = options
    this.#byAccount = new Attempts(options, 'invitations of', { burst: 20, everyMs: 10 * MINUTE })
    this.#byEmail = new Attempts(options, 'invitations to', { burst: 12, everyMs: 15 * MINUTE })
    this.#byBoth = new Attempts(options, 'invitations of to', { burst: 3, everyMs: 60 * MINUTE })
  }

  /**
   * Invites a person; an earlier invitation to the same address is replaced.
   * @throws ApiError role_not_allowed, already_member, quota_exceeded, rate_limited
   */
  async create(
    actor: Actor,
    given: { email: string; role: Role; language: PersonTable['language'] },
    remember: Remember,
  ): Promise<InvitationTable> {
    const { db, clock, mailed } = this.#options
    requireRoleOver(actor, [given.role])
    const email = canonicalEmail(given.email)
    await this.#byAccount.take(actor.accountId)
    await this.#byBoth.take(`${actor.accountId} ${email}`)
    await this.#byEmail.take(email)
    const invitation = await db.transaction().execute(async (tx) => {
      const row = await this.#replace(tx, actor, { email, role: given.role })
      const { secret, ...kept } = row
      const person = await personByEmail(tx, email)
      const invitedBy = actor.person?.email ?? (await findAccount(tx, actor.accountId)).email
      const to = { email, language: person?.language ?? given.language }
      const link = pageOn(this.#options, '/invitation', secret)
      await enqueueMail(tx, this.#options, letter(to, 'invitation', link, { invitedBy }))
      await remember(tx, kept.invitation_id)
      await recordEvent(tx, 'invitation.created', kept, clock.now())
      return kept
    })
    mailed()
    return invitation
  }

  async #replace(
    tx: Queries,
    actor: Actor,
    { email, role }: { email: string; role: Role },
  ): Promise<InvitationTable & { secret: string }> {
    const { clock } = this.#options
    const { accountId, person } = actor
    const account = await lockAccount(tx, accountId)
    requireRoleOver(await actorNow(tx, actor), [role])
    const known = await personByEmail(tx, email)
    if (known && (await membership.first(tx, { accountId, personId: known.person_id })))
      throw new ApiError(peopleProblems.already_member, `${email} is already a member of the account.`)
    const before = tx.deleteFrom('invitations').where('account_id', '=', accountId)
    await before.where('email', '=', email).execute()
    await requireRoom(tx, account, memberQuota)
    const secret = newSecret()
    const now = clock.now()
    const row: InvitationTable = {
      invitation_id: uuid(),
      account_id: accountId,
      email,
      role,
      hash: hashSecret(secret),
      invited_by: person?.email ?? null,
      person_id: person?.personId ?? null,
      token_id: actor.tokenId,
      created_at: now,
      expires_at: now + LIVES_MS,
    }
    await tx.insertInto('invitations').values(row).execute()
    return { ...row, secret }
  }

  /** Describes the invitation that a link is for. @throws ApiError link_invalid */
  async look(token: string) {
    const { db, clock } = this.#options
    const { account_id, email, role, expires_at } = await byToken(db, clock, token)
    const { name } = await findAccount(db, account_id)
    const hasPerson = (await personByEmail(db, email)) !== undefined
    return { accountName: name, email, role, expiresAt: expires_at, hasPerson }
  }

  /**
   * Makes the invited person a member: the person who is signed in, or a person who signs up by the link.
   * @param signedIn called if a person must be signed in
   * @returns a new session, if one was created
   * @throws ApiError link_invalid, invitation_for_another, sign_up_closed, terms_not_accepted, validation_failed,
   * rate_limited
   */
  async accept(
    given: { token: string; name?: string; password?: string; accepted_terms?: string },
    { visit, signedIn }: { visit: Visit; signedIn: () => SignedIn },
  ): Promise<Entry | SignedIn> {
    const { db, clock } = this.#options
    const invitation = await byToken(db, clock, given.token)
    const person = await personByEmail(db, invitation.email)
    if (!person) return this.#signUp(invitation, given, visit)
    const who = signedIn()
    if (who.personId !== person.person_id)
      throw new ApiError(
        peopleProblems.invitation_for_another,
        `The invitation is for ${invitation.email}. Sign in with that address.`,
      )
    await db.transaction().execute(async (tx) => {
      await holdPerson(tx, who.personId)
      await this.#redeem(tx, invitation, person)
      await moveSession(tx, who.sessionId, invitation.account_id)
    })
    return { ...who, accountId: invitation.account_id }
  }

  async #signUp(
    invitation: InvitationTable,
    given: { name?: string; password?: string; accepted_terms?: string },
    visit: Visit,
  ): Promise<Entry> {
    const { db, clock, passwords, signUp } = this.#options
    if (signUp === 'closed') throw signUpClosed(signUp)
    const { name, password } = given
    if (name === undefined || password === undefined)
      throw invalid(
        Object.entries({ name, password })
          .filter(([, value]) => value === undefined)
          .map(([field]) => bodyIssue(field, 'required', `${field} is required.`)),
      )
    const { email } = invitation
    const terms = acceptance(this.#options, given.accepted_terms)
    await requireGoodPassword('password', password, { email, name })
    const hashed = await passwords.hash(password, strangerAt(visit.address))
    return db.transaction().execute(async (tx) => {
      const fresh = { email, name, language: 'en', password: hashed, ...terms } as const
      const person = await createPerson(tx, clock, fresh)
      if (!person) throw linkInvalid()
      await this.#redeem(tx, invitation, person)
      const { session, secret } = await createSession(tx, clock, { personId: person.person_id, visit })
      const { session_id: sessionId, account_id: accountId } = session
      return { signedIn: { personId: person.person_id, email, sessionId, accountId }, secret }
    })
  }

  /**
   * Uses up an invitation; of several simultaneous requests one succeeds. The audit names the person even if they
   * were not signed in.
   */
  async #redeem(tx: Queries, invitation: InvitationTable, person: PersonTable): Promise<void> {
    const { clock } = this.#options
    const { account_id: accountId, role } = invitation
    const { person_id: personId } = person
    await asPerson(person, async () => {
      // The lock keeps the inviter's right to invite in force until the acceptance is written.
      await lockAccount(tx, accountId)
      const stands = await open(tx, clock, accountId)
        .where('invitation_id', '=', invitation.invitation_id)
        .executeTakeFirst()
      if (!stands || !(await removeRow(tx, clock, invitation))) throw linkInvalid()
      if (await membership.first(tx, { accountId, personId })) return
      await addMember(tx, clock, { accountId, personId, role })
    })
  }
}

/** @throws ApiError link_invalid */
async function byToken(db: Queries, clock: Clock, token: string): Promise<InvitationTable> {
  const found = await standingInvitations(db, clock.now())
    .selectAll()
    .where('hash', '=', hashSecret(token))
    .executeTakeFirst()
  if (!found || (await findAccount(db, found.account_id)).status === 'closed') throw linkInvalid()
  return found
}

/** The invitations of an account that are neither accepted nor expired, newest first. */
export function listInvitations(db: Queries, clock: Clock, accountId: string, page: Page) {
  return pageOf(open(db, clock, accountId).orderBy('invitation_id', 'desc'), page)
}

export function findInvitation(db: Queries, clock: Clock, accountId: string, invitationId: string) {
  return open(db, clock, accountId).where('invitation_id', '=', invitationId).executeTakeFirst()
}

function open(db: Queries, clock: Clock, accountId: string) {
  return standingInvitations(db, clock.now()).selectAll().where('account_id', '=', accountId)
}

/**
 * Withdraws an invitation.
 * @throws ApiError not_a_member, token_revoked, role_not_allowed, invitation_not_found if it was used meanwhile
 */
export function withdrawInvitation(
  db: Database,
  clock: Clock,
  actor: Actor,
  invitation: InvitationTable,
): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await lockAccount(tx, actor.accountId)
    requireRoleOver(await actorNow(tx, actor), [invitation.role])
    if (!(await removeRow(tx, clock, invitation))) throw notFound(peopleProblems.invitation_not_found)
  })
}

/** @returns false if it is gone already */
async function removeRow(tx: Queries, clock: Clock, invitation: InvitationTable): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('invitations')
    .where('invitation_id', '=', invitation.invitation_id)
    .executeTakeFirst()
  if (numDeletedRows === 0n) return false
  await recordEvent(tx, 'invitation.deleted', invitation, clock.now())
  return true
}

function recordEvent(tx: Queries, type: EventType, row: InvitationTable, at: number): Promise<void> {
  return record(tx, [{ accountId: row.account_id, type, data: invitationView(row), at }])
}
