import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { SignedIn } from '../../http/contract/auth.ts'
import { VISIBLE } from '../../http/contract/fields.ts'
import { ApiError, notFound } from '../../http/contract/problem.ts'
import { type Proof, requireRecent } from '../guard/proof.ts'
import { type Tickets, ticketInvalid } from '../guard/tickets.ts'
import { type Notify, noteChange } from '../letters/notices.ts'
import { canonicalEmail } from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import { endSessions, heldPerson, holdPerson } from '../person/sessions.ts'
import type { IdentityTable, PersonTable } from '../person/tables.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import type { Identity } from './provider.ts'
import { identityOf } from './store.ts'

export type IdentityOptions = Notify & { db: Database; clock: Clock }

/** Finds the person of a provider's identity, and locks them. */
export async function personOfIdentity(
  tx: Queries,
  identity: Pick<IdentityTable, 'issuer' | 'subject'>,
): Promise<PersonTable | undefined> {
  const found = await byIdentity(tx, identity)
  if (!found) return undefined
  await heldPerson(tx, found.person_id)
  return byIdentity(tx, identity)
}

function byIdentity(
  db: Queries,
  { issuer, subject }: Pick<IdentityTable, 'issuer' | 'subject'>,
): Promise<PersonTable | undefined> {
  return db
    .selectFrom('people')
    .selectAll()
    .where('person_id', 'in', (own) =>
      own
        .selectFrom('identities')
        .select('person_id')
        .where('issuer', '=', issuer)
        .where('subject', '=', subject),
    )
    .executeTakeFirst()
}

/** Connects a person with an identity, in place of an earlier one. @throws ApiError ticket_invalid */
export async function setIdentity(tx: Queries, row: IdentityTable): Promise<void> {
  await tx.deleteFrom('identities').where('person_id', '=', row.person_id).execute()
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('identities')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) throw ticketInvalid()
}

/**
 * Connects a person who has already signed in another way with an identity.
 * @throws ApiError ticket_invalid, identity_for_another, sign_in_again
 */
export async function addIdentity(
  options: IdentityOptions & { tickets: Tickets },
  { personId, sessionId }: SignedIn,
  sealed: string,
): Promise<void> {
  const { db, clock, tickets, mailed } = options
  const ticket = tickets.open('identity', sealed)
  const { personId: meant, issuer, subject } = ticket.contents
  if (meant !== personId)
    throw new ApiError(
      peopleProblems.identity_for_another,
      'The identity belongs to another person. Sign in with the address that you use at the provider.',
    )
  await db.transaction().execute(async (tx) => {
    const person = await holdPerson(tx, personId)
    await requireRecent(tx, clock, sessionId)
    await tickets.spend(tx, ticket)
    await setIdentity(tx, { person_id: personId, issuer, subject, created_at: clock.now() })
    await note(tx, options, person, 'identity_added', issuer)
  })
  mailed()
}

/**
 * Disconnects the identity, and ends all other sessions, since somebody else may use them.
 * @throws ApiError identity_not_found, wrong_code, and those of Proof
 */
export async function removeIdentity(
  options: IdentityOptions & { proof: Proof; twoFactor: TwoFactor },
  signedIn: SignedIn,
  { password, code }: { password?: string; code?: string },
): Promise<void> {
  const { proof, twoFactor } = options
  const { personId, sessionId } = signedIn
  const person = await proof.require(signedIn, password, 'password')
  await twoFactor.confirmed(signedIn, { person, code }, async (tx) => {
    const row = await identityOf(tx, personId)
    if (!row) throw notFound(peopleProblems.identity_not_found)
    await tx.deleteFrom('identities').where('person_id', '=', personId).execute()
    await endSessions(tx, personId, sessionId)
    await note(tx, options, person, 'identity_removed', row.issuer)
  })
}

function note(
  tx: Queries,
  options: IdentityOptions,
  person: PersonTable,
  kind: 'identity_added' | 'identity_removed',
  issuer: string,
): Promise<void> {
  return noteChange(tx, options, person, kind, new URL(issuer).hostname)
}

/** @throws ApiError email_unverified */
export function verifiedEmail({ email }: Identity): string {
  if (email !== null) return canonicalEmail(email)
  throw new ApiError(
    peopleProblems.email_unverified,
    'The provider has not verified your e-mail address. Verify it there, or sign in with a password.',
  )
}

/** Chooses a name for a person who signs up through the provider. */
export function nameOf({ name, email }: { name: string | null; email: string }): string {
  const safe = [...(name ?? '').replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()].slice(0, 64).join('')
  return new RegExp(VISIBLE, 'u').test(safe) ? safe : email.slice(0, 64)
}

export function noProvider(): ApiError {
  return new ApiError(
    peopleProblems.no_provider,
    'Sign-in with a provider is not set up here. The operator sets it up with BERTH_OIDC_ISSUER.',
  )
}
