import { type RawBuilder, sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import { findAccount, findAccountByEmail, lockAccount, moveAccountEmail } from '../../accounts/accounts.ts'
import { requireUnrevoked, revokeTokensOf } from '../../accounts/revocation.ts'
import { refuseFrozen } from '../../accounts/status.ts'
import type { AccountTable } from '../../accounts/tables.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { countIn, countOf, type Page, pageOf } from '../../database/page.ts'
import { prepared } from '../../database/prepared.ts'
import { record } from '../../events/outbox.ts'
import type { EventType } from '../../events/types.ts'
import type { Quota } from '../../feature.ts'
import { type Actor, covered, notAMember, type Role, roleScopes } from '../../http/contract/auth.ts'
import { ApiError, notFound } from '../../http/contract/problem.ts'
import { type MutableMail, peopleProblems } from '../person/schema.ts'
import { leaveAccount } from '../person/sessions.ts'
import type { MemberTable, PersonTable } from '../person/tables.ts'
import { standingInvitations } from './invited.ts'
import { memberView } from './view.ts'

/** The roles of people who may pay. */
export const PAYING: readonly Role[] = ['owner', 'admin', 'billing']
/** The roles of people who may change servers. */
export const RUNNING: readonly Role[] = ['owner', 'admin', 'member']

export type MemberRow = MemberTable & { email: string; name: string }

export const membership = prepared((db, { accountId, personId }: { accountId: string; personId: string }) =>
  db.selectFrom('members').selectAll().where('person_id', '=', personId).where('account_id', '=', accountId),
)

/** The accounts that a person is a member of, with the role in each, oldest membership first. */
export async function membershipsOf(
  db: Queries,
  personId: string,
): Promise<(MemberTable & { account: AccountTable })[]> {
  const rows = await db
    .selectFrom('members')
    .selectAll()
    .where('person_id', '=', personId)
    .orderBy('member_id')
    .execute()
  return Promise.all(rows.map(async (row) => ({ ...row, account: await findAccount(db, row.account_id) })))
}

export async function accountIdsOf(db: Queries, personId: string): Promise<string[]> {
  const rows = await db.selectFrom('members').select('account_id').where('person_id', '=', personId).execute()
  return rows.map(({ account_id }) => account_id)
}

/** Makes a person a member of an account. */
export async function addMember(
  tx: Queries,
  clock: Clock,
  { accountId, personId, role }: { accountId: string; personId: string; role: MemberTable['role'] },
): Promise<MemberTable> {
  const row = {
    member_id: uuid(),
    account_id: accountId,
    person_id: personId,
    role,
    created_at: clock.now(),
  }
  await tx.insertInto('members').values(row).execute()
  await recordEvent(tx, 'member.created', await memberOf(tx, row), row.created_at)
  return row
}

/**
 * Makes a person the owner of the account that the operator created for their proven address. If that account has
 * members, none of them uses the address any more, so it loses the address instead.
 */
export async function claimAccount(
  tx: Queries,
  clock: Clock,
  { person_id: personId, email }: PersonTable,
): Promise<void> {
  const known = await findAccountByEmail(tx, email)
  if (!known) return
  const { account_id: accountId } = known
  if (await hasMembers(tx, accountId)) await moveAccountEmail(tx, accountId, { from: email, to: [] })
  else await addMember(tx, clock, { accountId, personId, role: 'owner' })
}

/** Announces a person's new name or address in each of their accounts. */
export async function recordMemberUpdates(tx: Queries, clock: Clock, personId: string): Promise<void> {
  const rows = await tx.selectFrom('members').selectAll().where('person_id', '=', personId).execute()
  for (const row of rows) await recordEvent(tx, 'member.updated', await memberOf(tx, row), clock.now())
}

async function memberOf(tx: Queries, row: MemberTable): Promise<MemberRow> {
  const people = tx.selectFrom('people').select(['email', 'name'])
  return { ...row, ...(await people.where('person_id', '=', row.person_id).executeTakeFirstOrThrow()) }
}

function recordEvent(tx: Queries, type: EventType, row: MemberRow, at: number): Promise<void> {
  return record(tx, [{ accountId: row.account_id, type, data: memberView(row), at }])
}

function ofAccount(db: Queries, accountId: string) {
  return db
    .selectFrom('members')
    .innerJoin('people', 'people.person_id', 'members.person_id')
    .selectAll('members')
    .select(['people.email', 'people.name'])
    .where('account_id', '=', accountId)
}

/**
 * The addresses to write to about an account: people in these roles or, if it has no people, its contact address.
 * @param kind leaves out people who muted such mails; omitted: the mail always comes
 */
export async function readersOf(
  db: Queries,
  accountId: string,
  roles: readonly Role[],
  kind?: MutableMail,
): Promise<Pick<PersonTable, 'email' | 'language'>[]> {
  let people = ofAccount(db, accountId).clearSelect().select(['people.email', 'people.language'])
  if (kind !== undefined) people = people.where('muted_mails', 'not like', `%${kind}%`)
  const readers = await people.where('role', 'in', roles).orderBy('member_id').execute()
  if (readers.length > 0 || (await hasMembers(db, accountId))) return readers
  const { email } = await findAccount(db, accountId)
  return email.endsWith('.invalid') ? [] : [{ email, language: 'en' }]
}

/** The people of an account, newest first. */
export function listMembers(db: Queries, accountId: string, page: Page) {
  return pageOf(ofAccount(db, accountId).orderBy('member_id', 'desc'), page)
}

export function findMember(db: Queries, accountId: string, memberId: string) {
  return ofAccount(db, accountId).where('member_id', '=', memberId).executeTakeFirst()
}

/** Counts members and open invitations, which share one quota. */
function countMembers(db: Queries, accountId: string): RawBuilder<number> {
  const invited = standingInvitations(db, 0).where('account_id', '=', accountId)
  const members = db.selectFrom('members').where('account_id', '=', accountId)
  return sql<number>`(${countIn(members)} + ${countIn(invited)})`
}

export const memberQuota: Quota = {
  name: 'members',
  description: 'People in the account, and invitations',
  limit: 50,
  example: 1,
  count: countMembers,
}

/**
 * Refuses roles beyond the actor's own. Only owners may change ownership.
 * @throws ApiError role_not_allowed
 */
export function requireRoleOver(actor: Pick<Actor, 'scopes' | 'person'>, roles: readonly Role[]): void {
  const own = covered(actor.scopes)
  const isBeyond = (role: Role) =>
    roleScopes[role].some((scope) => !own.includes(scope)) ||
    (role === 'owner' && actor.person?.role !== 'owner')
  const beyond = roles.find(isBeyond)
  if (!beyond) return
  const detail =
    beyond === 'owner'
      ? 'Only an owner who is signed in can add, change or remove owners.'
      : `The role ${beyond} exceeds your own.`
  throw new ApiError(peopleProblems.role_not_allowed, detail)
}

/**
 * Reads a person's role again under the account's lock: it may have changed since the request was authorized.
 * @throws ApiError not_a_member
 */
export async function roleNow(tx: Queries, accountId: string, personId: string): Promise<Role> {
  const member = await membership.first(tx, { accountId, personId })
  if (!member) throw notAMember()
  return member.role
}

/**
 * Reads an actor's role again under the account's lock.
 * @throws ApiError not_a_member, token_revoked, role_not_allowed
 */
export async function actorNow(tx: Queries, actor: Actor): Promise<Pick<Actor, 'scopes' | 'person'>> {
  const { accountId, person } = actor
  const { expires_at, cidrs } = await requireUnrevoked(tx, actor)
  if (expires_at !== null || cidrs !== '[]')
    throw new ApiError(
      peopleProblems.role_not_allowed,
      'A token that expires, or that is limited to addresses, can change no members. Use another token, or sign in.',
    )
  if (!person) return actor
  const role = await roleNow(tx, accountId, person.personId)
  return { scopes: roleScopes[role], person: { ...person, role } }
}

/**
 * Changes a member's role, and revokes their tokens with scopes beyond it.
 * @throws ApiError role_not_allowed, last_owner, member_not_found
 */
export function changeRole(
  db: Database,
  clock: Clock,
  { actor, memberId, role }: { actor: Actor; memberId: string; role: Role },
): Promise<MemberRow> {
  const { accountId } = actor
  return db.transaction().execute(async (tx) => {
    // The lock makes sure that an owner remains if two of them leave at once.
    await lockAccount(tx, accountId)
    const member = await findMember(tx, accountId, memberId)
    if (!member) throw notFound(peopleProblems.member_not_found)
    requireRoleOver(await actorNow(tx, actor), [member.role, role])
    if (role !== 'owner') await requireAnotherOwner(tx, member)
    await tx.updateTable('members').set({ role }).where('member_id', '=', memberId).execute()
    const { person_id: personId } = member
    await revokeTokensOf(tx, clock, { accountId, personId, keep: roleScopes[role] })
    const changed = { ...member, role }
    await recordEvent(tx, 'member.updated', changed, clock.now())
    return changed
  })
}

/**
 * Removes a person from an account, and revokes the tokens that they created in it.
 * @param actor null if they leave by themselves
 * @throws ApiError role_not_allowed, last_owner, member_not_found, account_frozen
 */
export function removeMember(
  db: Database,
  clock: Clock,
  { actor, accountId, memberId }: { actor: Actor | null; accountId: string; memberId: string },
): Promise<void> {
  return db.transaction().execute(async (tx) => {
    refuseFrozen({ isFrozen: (await lockAccount(tx, accountId)).frozen_at !== null })
    const member = await findMember(tx, accountId, memberId)
    if (!member) throw notFound(peopleProblems.member_not_found)
    if (actor) requireRoleOver(await actorNow(tx, actor), [member.role])
    await requireAnotherOwner(tx, member)
    await takeOut(tx, clock, member)
    await leaveAccount(tx, { accountId, personId: member.person_id })
  })
}

/**
 * Removes a person from an account that is locked, and revokes the tokens that they created in it. An owner who stays
 * becomes the account's contact.
 */
export async function takeOut(tx: Queries, clock: Clock, member: MemberTable): Promise<void> {
  const { member_id, account_id: accountId, person_id: personId } = member
  const row = await memberOf(tx, member)
  await tx.deleteFrom('members').where('member_id', '=', member_id).execute()
  const owners = await ofAccount(tx, accountId).where('role', '=', 'owner').orderBy('member_id').execute()
  await moveAccountEmail(tx, accountId, { from: row.email, to: owners.map(({ email }) => email) })
  await revokeTokensOf(tx, clock, { accountId, personId, keep: [] })
  await recordEvent(tx, 'member.deleted', row, clock.now())
}

/** The other members of a member's account. */
export function membersBeside(tx: Queries, { account_id, member_id }: MemberTable) {
  return tx.selectFrom('members').where('account_id', '=', account_id).where('member_id', '<>', member_id)
}

/** True if the account would have no owner without this member. The account must be locked. */
export async function isLastOwner(tx: Queries, member: MemberTable): Promise<boolean> {
  if (member.role !== 'owner') return false
  return (await countOf(membersBeside(tx, member).where('role', '=', 'owner'))) === 0
}

/** @throws ApiError last_owner */
async function requireAnotherOwner(tx: Queries, member: MemberTable): Promise<void> {
  if (!(await isLastOwner(tx, member))) return
  throw new ApiError(
    peopleProblems.last_owner,
    'This is the only owner of the account. Make another member an owner first.',
  )
}

/** The owners of an account, oldest membership first. */
export function listOwners(db: Queries, accountId: string): Promise<PersonTable[]> {
  return db
    .selectFrom('people')
    .innerJoin('members', 'members.person_id', 'people.person_id')
    .selectAll('people')
    .where('account_id', '=', accountId)
    .where('role', '=', 'owner')
    .orderBy('member_id')
    .execute()
}

export async function hasMembers(db: Queries, accountId: string): Promise<boolean> {
  const one = db.selectFrom('members').select('member_id').where('account_id', '=', accountId).limit(1)
  return (await one.executeTakeFirst()) !== undefined
}
