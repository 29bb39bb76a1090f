import { randomInt } from 'node:crypto'
import { findAccount } from '../../accounts/accounts.ts'
import { mintToken } from '../../accounts/minting.ts'
import { refuseHeld, standingOf } from '../../accounts/status.ts'
import type { TokenTable } from '../../accounts/tables.ts'
import { countOf } from '../../database/page.ts'
import {
  covered,
  insufficientScope,
  notAMember,
  roleScopes,
  type ScopeName,
  type SignedIn,
} from '../../http/contract/auth.ts'
import { ApiError, httpProblems, type ProblemType } from '../../http/contract/problem.ts'
import type { Visit } from '../../http/contract/route.ts'
import { Recent } from '../../http/limits/recent.ts'
import { Attempts, NetworkAttempts } from '../guard/attempts.ts'
import { membership, roleNow } from '../membership/members.ts'
import { hashSecret, newSecret } from '../person/links.ts'
import { asPerson, personById } from '../person/people.ts'
import type { MemberTable } from '../person/tables.ts'
import type { SignInOptions } from '../sign-in/admission.ts'
import { deviceProblems } from './schema.ts'
import type { DeviceLoginTable } from './tables.ts'

const MINUTE = 60_000
const DAY = 24 * 3600_000
const LIVES_MS = 10 * MINUTE
const TOKEN_LIVES_MS = 90 * DAY
const INTERVAL_MS = 5_000
/** Programs whose clock runs a little fast may poll this much too early. */
const TOLERANCE_MS = 500
/** Limit for all networks together. */
const MOST_WAITING = 10_000
/** Without vowels no code forms a word; letters that look alike are left out, too. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8

/** Errors of a person who has lost the role since they approved the login. */
const LOST: readonly ProblemType[] = [httpProblems.not_a_member, httpProblems.insufficient_scope]

/** Reply to a program that begins a login. */
export interface Started {
  deviceCode: string
  userCode: string
  expiresInMs: number
  intervalMs: number
}

/** Logins of programs on machines without a browser (RFC 8628). A person approves them in their own browser. */
export class DeviceLogins {
  readonly #options: SignInOptions
  readonly #startsByNetwork: NetworkAttempts
  readonly #guessesByPerson: Attempts
  readonly #guessesByNetwork: NetworkAttempts
  /** Time of the next permitted poll and its interval, by login. */
  readonly #pace = new Recent<{ at: number; everyMs: number }>(MOST_WAITING)

  constructor(options: SignInOptions) {
    this.#options = options
    this.#startsByNetwork = new NetworkAttempts(options, { burst: 10, everyMs: MINUTE })
    this.#guessesByPerson = new Attempts(options, 'user codes', { burst: 10, everyMs: MINUTE })
    this.#guessesByNetwork = new NetworkAttempts(options, { burst: 30, everyMs: MINUTE / 2 })
  }

  /** @throws ApiError rate_limited, backend_unavailable */
  async start(
    { clientName, scopes }: { clientName: string; scopes: readonly ScopeName[] | null },
    { address }: Visit,
  ): Promise<Started> {
    const { db, clock, secrets } = this.#options
    this.#startsByNetwork.take(address)
    const now = clock.now()
    if ((await countOf(db.selectFrom('device_logins').where('expires_at', '>', now))) >= MOST_WAITING)
      throw new ApiError(
        httpProblems.backend_unavailable,
        'Too many logins wait for approval. Try again later, or log in with a token.',
        {},
        { 'retry-after': '600' },
      )
    const [deviceCode, userCode] = [newSecret(), newUserCode()]
    await db
      .insertInto('device_logins')
      .values({
        device_hash: hashSecret(deviceCode),
        user_hash: secrets.digest(userCode),
        client_name: clientName,
        address,
        scopes: scopes?.join(' ') ?? null,
        account_id: null,
        person_id: null,
        status: 'pending',
        created_at: now,
        expires_at: now + LIVES_MS,
      })
      .execute()
    return { deviceCode, userCode, expiresInMs: LIVES_MS, intervalMs: INTERVAL_MS }
  }

  /** Finds the pending login for a user code. @throws ApiError user_code_not_found, rate_limited */
  async look(code: string, { personId }: SignedIn, visit: Visit): Promise<DeviceLoginTable> {
    const { db, clock, secrets } = this.#options
    await this.#guessesByPerson.take(personId)
    this.#guessesByNetwork.take(visit.address)
    const login = await db
      .selectFrom('device_logins')
      .selectAll()
      .where('user_hash', '=', secrets.digest(canonical(code)))
      .where('status', '=', 'pending')
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    if (!login) throw codeNotFound()
    await this.#guessesByPerson.giveBack(personId)
    this.#guessesByNetwork.giveBack(visit.address)
    return login
  }

  /** @throws ApiError user_code_not_found, rate_limited, not_a_member, account_suspended, insufficient_scope */
  async approve(
    { code, accountId }: { code: string; accountId: string },
    signedIn: SignedIn,
    visit: Visit,
  ): Promise<void> {
    const { db } = this.#options
    const login = await this.look(code, signedIn, visit)
    const { personId } = signedIn
    const member = await membership.first(db, { accountId, personId })
    if (!member) throw notAMember()
    refuseHeld(standingOf(await findAccount(db, accountId)))
    const lacking = beyondRole(login, member)
    if (lacking)
      throw insufficientScope(
        `The program requests ${lacking}, which your role ${member.role} does not have. Nothing was approved.`,
        lacking,
      )
    await this.#decide(login, { status: 'approved', account_id: accountId, person_id: personId })
  }

  /** @throws ApiError user_code_not_found, rate_limited */
  async deny(code: string, signedIn: SignedIn, visit: Visit): Promise<void> {
    await this.#decide(await this.look(code, signedIn, visit), { status: 'denied' })
  }

  /** If several people decide at once, one decision counts. */
  async #decide(
    { device_hash }: DeviceLoginTable,
    decision: Partial<Pick<DeviceLoginTable, 'status' | 'account_id' | 'person_id'>>,
  ): Promise<void> {
    const pending = this.#options.db.updateTable('device_logins').where('status', '=', 'pending')
    const { numUpdatedRows } = await pending
      .set(decision)
      .where('device_hash', '=', device_hash)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw codeNotFound()
  }

  /**
   * Returns the program's token once a person has approved the login. It is returned only once.
   * @throws ApiError authorization_pending, slow_down, access_denied, expired_token, quota_exceeded, account_suspended
   */
  async redeem(deviceCode: string): Promise<TokenTable & { value: string }> {
    const { db, clock } = this.#options
    const hash = hashSecret(deviceCode)
    const login = await db
      .selectFrom('device_logins')
      .selectAll()
      .where('device_hash', '=', hash)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    if (!login) throw expired()
    if (login.status === 'denied') throw denied()
    const { account_id: accountId, person_id: personId } = login
    if (accountId === null || personId === null) throw this.#pending(hash)
    // The person may have lost the role since they approved it.
    const member = await membership.first(db, { accountId, personId })
    if (!member || beyondRole(login, member)) throw denied()
    refuseHeld(standingOf(await findAccount(db, accountId)))
    return this.#issue(login, member)
  }

  async #issue(login: DeviceLoginTable, member: MemberTable): Promise<TokenTable & { value: string }> {
    const { db, clock } = this.#options
    const { account_id: accountId, person_id: personId, role } = member
    const actor = { accountId, scopes: roleScopes[role], tokenId: null, person: { personId } }
    const wanted = {
      name: login.client_name,
      scopes: scopesFor(login, member),
      cidrs: [],
      expiresAt: clock.now() + TOKEN_LIVES_MS,
      replaces: null,
    }
    const person = await personById(db, personId)
    if (!person) throw denied()
    return asPerson(person, () =>
      // This is in the same transaction, so that only one of two simultaneous requests gets it.
      mintToken({ db, clock, roleNow }, actor, wanted, async (tx) => {
        const { numDeletedRows } = await tx
          .deleteFrom('device_logins')
          .where('device_hash', '=', login.device_hash)
          .executeTakeFirst()
        if (numDeletedRows === 0n) throw expired()
      }).catch((error: unknown) => {
        const isLost = error instanceof ApiError && LOST.includes(error.type)
        throw isLost ? denied() : error
      }),
    )
  }

  /** The pace is kept in memory, so that polls cause no writes. */
  #pending(hash: string): ApiError {
    const now = this.#options.clock.now()
    const { at, everyMs } = this.#pace.get(hash) ?? { at: now, everyMs: INTERVAL_MS }
    const isEarly = now < at - TOLERANCE_MS
    const next = isEarly ? everyMs + INTERVAL_MS : everyMs
    this.#pace.set(hash, { at: now + next, everyMs: next })
    if (!isEarly)
      return new ApiError(
        deviceProblems.authorization_pending,
        'The login is not approved yet. Try again after the interval.',
      )
    const interval = next / 1000
    return new ApiError(deviceProblems.slow_down, `Wait ${interval} s between two requests.`, { interval })
  }
}

function newUserCode(): string {
  return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
}

/** Normalizes a code that a person has typed. */
function canonical(code: string): string {
  return code.toUpperCase().replace(/[^A-Z]/g, '')
}

/** Formats a code for people, with a dash. */
export function withDash(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`
}

/** The scopes that a login requests; null: all scopes of the role. */
export function askedScopes({ scopes }: Pick<DeviceLoginTable, 'scopes'>): ScopeName[] | null {
  return scopes === null ? null : (scopes.split(' ') as ScopeName[]) // as the schema let them in
}

function scopesFor(login: DeviceLoginTable, { role }: MemberTable): readonly ScopeName[] {
  return askedScopes(login) ?? roleScopes[role]
}

/** Returns a scope that the program requests and the member lacks, if there is one. */
function beyondRole(login: DeviceLoginTable, member: MemberTable) {
  const own = covered(roleScopes[member.role])
  return covered(scopesFor(login, member)).find((scope) => !own.includes(scope))
}

function codeNotFound(): ApiError {
  return new ApiError(
    deviceProblems.user_code_not_found,
    'The code is wrong, was used already, or has expired. Compare it with the code that the program shows, or start the login again.',
  )
}

function expired(): ApiError {
  return new ApiError(
    deviceProblems.expired_token,
    'The login was not approved in time, or its token was already returned. Start it again.',
  )
}

function denied(): ApiError {
  return new ApiError(
    deviceProblems.access_denied,
    'The login was denied, or the person can no longer approve it.',
  )
}
