import { v7 as uuid } from 'uuid'
import { standings } from '../../accounts/status.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { deleteFound } from '../../database/deletion.ts'
import { type Page, pageOf } from '../../database/page.ts'
import { prepared } from '../../database/prepared.ts'
import { CredentialRefused, type SignedIn } from '../../http/contract/auth.ts'
import { type ApiError, httpProblems } from '../../http/contract/problem.ts'
import type { Visit } from '../../http/contract/route.ts'
import { hashSecret, linkInvalid, newSecret } from './links.ts'
import type { LinkTable, PersonTable, SessionTable } from './tables.ts'

const DAY = 24 * 3600_000
/** A session ends at the latest after this time, and earlier if it is not used. */
export const SESSION_LIVES_MS = 90 * DAY
const IDLE_MS = 14 * DAY
/** Limit for each person. A new session ends the one that was used least recently. */
const MOST_SESSIONS = 20
const MAX_USER_AGENT = 300

/** True if a stored session may still be used. */
export function isLive(session: Pick<SessionTable, 'expires_at' | 'last_used_at'>, now: number): boolean {
  return session.expires_at > now && session.last_used_at > now - IDLE_MS
}

/**
 * Locks a person until the end of the transaction, so that signing in and ending sessions see each other's effects.
 * Call it before changing anything else of the person.
 * @returns the person as they are now
 * @throws ApiError session_ended if they have deleted themselves meanwhile
 */
export async function holdPerson(tx: Queries, personId: string): Promise<PersonTable> {
  const held = await heldPerson(tx, personId)
  if (!held) throw sessionEnded(personId)
  return held
}

/** Locks a person who is signing in. @returns undefined if they have deleted themselves meanwhile */
export function heldPerson(tx: Queries, personId: string): Promise<PersonTable | undefined> {
  const held = tx.updateTable('people').set({ person_id: personId }).where('person_id', '=', personId)
  return held.returningAll().executeTakeFirst()
}

/** Locks the person to whom a link was mailed. @throws ApiError link_invalid */
export async function heldReader(tx: Queries, { person_id, email }: LinkTable): Promise<PersonTable> {
  const person = person_id === null ? undefined : await heldPerson(tx, person_id)
  // If the person has changed their address since, somebody else may read that mailbox.
  if (person?.email !== email) throw linkInvalid()
  return person
}

/** Checks the session again after slow work, since it may have ended meanwhile. @throws ApiError session_ended */
export async function requireSession(
  tx: Queries,
  { personId, sessionId }: Pick<SignedIn, 'personId' | 'sessionId'>,
): Promise<void> {
  await holdPerson(tx, personId)
  if ((await sessionStart(tx, sessionId)) === 0) throw sessionEnded(personId)
}

export function sessionEnded(personId: string | null): ApiError {
  return new CredentialRefused(
    httpProblems.session_ended,
    'The session has ended. Sign in again.',
    personId === null ? null : { accountId: null, tokenId: null, personId },
  )
}

/** Signs in a person, whose row is locked. @returns the session, and the secret of its cookie, which is not stored */
export async function createSession(
  tx: Queries,
  clock: Clock,
  { personId, visit }: { personId: string; visit: Visit },
): Promise<{ session: SessionTable; secret: string }> {
  const now = clock.now()
  const secret = newSecret()
  const session: SessionTable = {
    session_id: uuid(),
    person_id: personId,
    account_id: await lastAccount(tx, personId),
    hash: hashSecret(secret),
    address: visit.address,
    user_agent: visit.userAgent.slice(0, MAX_USER_AGENT).toWellFormed().replaceAll('\0', ''),
    created_at: now,
    last_used_at: now,
    expires_at: now + SESSION_LIVES_MS,
  }
  await tx.insertInto('sessions').values(session).execute()
  const excess = tx
    .selectFrom('sessions')
    .select('session_id')
    .where('person_id', '=', personId)
    .orderBy('last_used_at', 'desc')
    .orderBy('session_id', 'desc')
    .limit(MOST_SESSIONS)
    .offset(MOST_SESSIONS)
  await tx.deleteFrom('sessions').where('session_id', 'in', excess).execute()
  return { session, secret }
}

/** The account that the person used last, or otherwise the first that they joined. */
async function lastAccount(db: Queries, personId: string): Promise<string | null> {
  const memberships = await db
    .selectFrom('members')
    .leftJoin('sessions', (join) =>
      join
        .onRef('sessions.account_id', '=', 'members.account_id')
        .onRef('sessions.person_id', '=', 'members.person_id'),
    )
    .select(['members.account_id', 'members.member_id', 'sessions.last_used_at'])
    .where('members.person_id', '=', personId)
    .execute()
  const used = ({ last_used_at }: (typeof memberships)[number]) => last_used_at ?? 0
  const [first] = memberships.sort((a, b) => used(b) - used(a) || (a.member_id < b.member_id ? -1 : 1))
  return first?.account_id ?? null
}

/**
 * The session with a hash, and the person's membership in an account with the account's standing, which are null if
 * they are not a member.
 * @param accountId the account that the request names; null: the session's own
 */
export const sessionByHash = prepared((db, { hash, accountId }: { hash: string; accountId: string | null }) =>
  db
    .selectFrom('sessions')
    .innerJoin('people', 'people.person_id', 'sessions.person_id')
    .leftJoin('members', (join) =>
      join
        .onRef('members.person_id', '=', 'sessions.person_id')
        .on('members.account_id', '=', (eb) => eb.fn.coalesce(eb.val(accountId), 'sessions.account_id')),
    )
    .leftJoin(standings(db).as('account'), 'account.account_id', 'members.account_id')
    .select(['session_id', 'sessions.person_id', 'sessions.account_id', 'last_used_at', 'expires_at'])
    .select(['people.email', 'member_id', 'role', 'account.status', 'status_reason', 'status_since'])
    .select(['price_percent', 'price_presets', 'frozen_at'])
    .where('hash', '=', hash),
)

export type FoundSession = NonNullable<Awaited<ReturnType<typeof sessionByHash.first>>>

/** Addresses at which the person's sessions were last used. */
export async function addressesOf(db: Queries, email: string): Promise<string[]> {
  const sessions = db.selectFrom('sessions').innerJoin('people', 'people.person_id', 'sessions.person_id')
  const rows = await sessions.select('address').where('people.email', '=', email).execute()
  return rows.map(({ address }) => address)
}

/** The addresses and browsers of a person's sessions. */
export function visitsOf(db: Queries, personId: string) {
  const theirs = db.selectFrom('sessions').select(['address', 'user_agent'])
  return theirs.where('person_id', '=', personId).execute()
}

/** Time at which a session began; 0 if it has ended. */
export async function sessionStart(db: Queries, sessionId: string): Promise<number> {
  const session = db.selectFrom('sessions').select('created_at').where('session_id', '=', sessionId)
  return (await session.executeTakeFirst())?.created_at ?? 0
}

export async function noteSessionUse(
  db: Queries,
  sessionId: string,
  { now, address }: { now: number; address: string },
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_used_at: now, address })
    .where('session_id', '=', sessionId)
    .execute()
}

/** The sessions of a person that can still be used, newest first. */
export function listSessions(db: Queries, clock: Clock, personId: string, page: Page) {
  const now = clock.now()
  const live = db
    .selectFrom('sessions')
    .selectAll()
    .where('person_id', '=', personId)
    .where('expires_at', '>', now)
    .where('last_used_at', '>', now - IDLE_MS)
  return pageOf(live.orderBy('session_id', 'desc'), page)
}

/** Ends a session of a person. @returns false if they have no session with this id */
export async function endSession(db: Queries, personId: string, sessionId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('person_id', '=', personId)
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Ends the sessions of a person. @param but the session that continues */
export async function endSessions(tx: Queries, personId: string, but: string | null = null): Promise<void> {
  await holdPerson(tx, personId)
  let all = tx.deleteFrom('sessions').where('person_id', '=', personId)
  if (but !== null) all = all.where('session_id', '<>', but)
  await all.execute()
}

export async function moveSession(db: Queries, sessionId: string, accountId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ account_id: accountId })
    .where('session_id', '=', sessionId)
    .execute()
}

/** Removes the account from the sessions of a person who has left it. */
export async function leaveAccount(
  tx: Queries,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  const here = tx.updateTable('sessions').where('account_id', '=', accountId)
  await here.set({ account_id: null }).where('person_id', '=', personId).execute()
}

/** Queries which of these sessions are valid, with the accounts and roles of their people. */
export function liveMemberships(db: Queries, clock: Clock, sessionIds: readonly string[]) {
  const now = clock.now()
  return db
    .selectFrom('sessions')
    .innerJoin('members', 'members.person_id', 'sessions.person_id')
    .select(['session_id', 'members.account_id', 'role'])
    .where('session_id', 'in', sessionIds)
    .where('expires_at', '>', now)
    .where('last_used_at', '>', now - IDLE_MS)
    .execute()
}

/** Deletes some of the sessions that can't be used any more. @returns the number deleted */
export async function forgetSessions(db: Database, now: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('sessions')
    .select('session_id')
    .where((eb) => eb.or([eb('expires_at', '<=', now), eb('last_used_at', '<=', now - IDLE_MS)]))
    .limit(limit)
  return deleteFound(db, 'sessions', 'session_id', old)
}
