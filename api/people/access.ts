import {
  authenticator,
  isUsableFrom,
  noteOccasionally,
  readAuthorization,
} from '../accounts/authenticator.ts'
import { activeAccounts, frozenRefusal, standingOf } from '../accounts/status.ts'
import { validTokens } from '../accounts/tokens.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { inParts } from '../database/in-parts.ts'
import {
  type Access,
  type Caller,
  type Credential,
  notAMember,
  type OperatorToken,
  roleScopes,
  type SignedIn,
} from '../http/contract/auth.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import type { Credentials } from '../http/server/admission.ts'
import { readCookie } from './person/cookie.ts'
import { hashSecret } from './person/links.ts'
import { findPerson } from './person/people.ts'
import {
  type FoundSession,
  isLive,
  liveMemberships,
  noteSessionUse,
  sessionByHash,
  sessionEnded,
} from './person/sessions.ts'
import { isTwoFactorOn } from './two-factor/enrollment.ts'

/**
 * Finds the caller of a request by its token, or else by its session.
 * @param byOperatorToken returns the operator's token with a value; null if it is not the value of one
 * @throws ApiError 401, or 403 for a token that may not be used from the address
 */
export function callerFinder(
  db: Database,
  clock: Clock,
  byOperatorToken: (value: string, address: string) => Promise<OperatorToken | null>,
): (credentials: Credentials) => Promise<Caller> {
  const byToken = authenticator(db, clock)
  return async ({ authorization, cookie, accountId, address, isSecure }) => {
    const secret = authorization === undefined ? readCookie(cookie, isSecure) : null
    if (secret === null) {
      const token = readAuthorization(authorization)
      const operator = await byOperatorToken(token, address)
      if (operator) return { actor: null, signedIn: null, operator, refusal: accountTokenRequired() }
      return { actor: await byToken(token, address), signedIn: null, operator: null, refusal: null }
    }
    const session = await sessionByHash.first(db, { hash: hashSecret(secret), accountId: accountId ?? null })
    const now = clock.now()
    if (!session || !isLive(session, now)) throw sessionEnded(session?.person_id ?? null)
    const { session_id, last_used_at } = session
    await noteOccasionally(last_used_at, now, () => noteSessionUse(db, session_id, { now, address }))
    return inAccount(session, accountId ?? session.account_id)
  }
}

function inAccount(session: FoundSession, accountId: string | null): Caller {
  const { session_id: sessionId, person_id: personId, email, member_id: memberId, role } = session
  const signedIn = { sessionId, personId, email, accountId: null }
  if (accountId === null) return { actor: null, signedIn, operator: null, refusal: noAccount() }
  const { status, status_reason, status_since, frozen_at, price_percent, price_presets } = session
  // The columns of one account are null together.
  if (
    memberId === null ||
    role === null ||
    status === null ||
    price_percent === null ||
    price_presets === null
  )
    return { actor: null, signedIn, operator: null, refusal: notAMember() }
  if (frozen_at !== null) {
    const refusal = frozenRefusal({ status_reason, status_since }, { accountId, tokenId: null, personId })
    return { actor: null, signedIn, operator: null, refusal }
  }
  const standing = standingOf({
    status,
    status_reason,
    status_since,
    frozen_at,
    price_percent,
    price_presets,
  })
  const person = { ...signedIn, accountId, memberId, role }
  const actor = { accountId, ...standing, tokenId: null, projectId: null, person, scopes: roleScopes[role] }
  return { actor, signedIn: person, operator: null, refusal: null }
}

function accountTokenRequired(): ApiError {
  return new ApiError(
    httpProblems.account_token_required,
    "An operator's token is valid only for /v1/operator. Send a token of the account here.",
  )
}

function noAccount(): ApiError {
  return new ApiError(
    httpProblems.no_account,
    'You are signed in, but are not a member of any account. Ask an owner to invite you.',
  )
}

/**
 * Checks that a person runs this installation. Operators see and change every account, so they need more than a
 * password.
 * @throws ApiError operator_required, two_factor_required
 */
export async function requireOperator(db: Database, { personId }: SignedIn): Promise<void> {
  const { is_operator } = await findPerson(db, personId)
  if (is_operator !== 1)
    throw new ApiError(
      httpProblems.operator_required,
      "This requires the operator's role, which is granted on the machine of the service: berthd person operator <email> on.",
    )
  if (!(await isTwoFactorOn(db, personId)))
    throw new ApiError(
      httpProblems.two_factor_required,
      'As an operator, turn on two-factor authentication first, under Security or with POST /person/two-factor.',
    )
}

/** Determines which tokens and sessions are still valid, so that their streams and consoles may stay open. */
export class CredentialAccess implements Access {
  readonly #db: Database
  readonly #clock: Clock

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  async stillValid<T extends Credential>(credentials: readonly T[]): Promise<Set<T>> {
    const tokens = credentials.flatMap(({ tokenId }) => tokenId ?? [])
    const sessions = credentials.flatMap(({ person }) => person?.sessionId ?? [])
    const valid = await validTokens(this.#db, this.#clock, [...new Set(tokens)])
    const open = await this.#openSessions([...new Set(sessions)])
    return new Set(
      credentials.filter(({ tokenId, person, accountId }) =>
        person ? open.has(keyOf(person.sessionId, accountId, person.role)) : valid.has(tokenId ?? ''),
      ),
    )
  }

  async isUsableFrom(credential: Credential, address: string): Promise<boolean> {
    const { tokenId } = credential
    if (tokenId !== null) return isUsableFrom(this.#db, this.#clock, tokenId, address)
    return (await this.stillValid([credential])).has(credential)
  }

  /** The sessions with each account that they may access, and the role in it. */
  async #openSessions(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const rows = await liveMemberships(this.#db, this.#clock, ids)
    const accounts = [...new Set(rows.map(({ account_id }) => account_id))]
    // This runs at each event while anybody listens, so it must not send a statement for each account.
    const found = await inParts(accounts, (some) =>
      activeAccounts(this.#db).where('account_id', 'in', some).execute(),
    )
    const active = new Set(found.map(({ account_id }) => account_id))
    return new Set(
      rows
        .filter(({ account_id }) => active.has(account_id))
        .map(({ session_id, account_id, role }) => keyOf(session_id, account_id, role)),
    )
  }
}

const keyOf = (...parts: string[]) => parts.join(' ')
