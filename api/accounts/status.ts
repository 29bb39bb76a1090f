import type { Queries } from '../database/database.ts'
import { CredentialRefused, type Standing, type Terms, type Whose } from '../http/contract/auth.ts'
import { isoTime } from '../http/contract/fields.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { audienceOf, type Deed, deedOf, type Route } from '../http/contract/route.ts'
import { accountProblems } from './schema.ts'
import type { AccountTable } from './tables.ts'

type Status = AccountTable['status']

/**
 * The kinds of requests that an account may send in each status. An account that owes money may pay; all but
 * closed accounts may answer complaints.
 */
export const allowedIn: Readonly<Record<Status, readonly Deed[]>> = {
  active: ['read', 'follow', 'stop', 'delete', 'pay', 'answer', 'change'],
  suspended: ['read', 'stop', 'delete', 'pay', 'answer'],
  closed: ['read'],
}

/** Wraps routes, so that they first refuse accounts whose status does not allow the request. */
export function heldByStatus(routes: readonly Route[]): Route[] {
  return routes.map((route) => {
    if (audienceOf(route)) return route
    const deed = deedOf(route)
    if (Object.values(allowedIn).every((deeds) => deeds.includes(deed))) return route
    return {
      ...route,
      errors: [...new Set([...(route.errors ?? []), accountProblems.account_suspended])],
      load: async (call) => {
        if (!allowedIn[call.actor.accountStatus].includes(deed)) throw refusal(call.actor)
        return route.load?.(call)
      },
    }
  })
}

/** @throws ApiError account_suspended if an account in this status may not change anything */
export function refuseHeld(standing: Standing): void {
  if (!allowedIn[standing.accountStatus].includes('change')) throw refusal(standing)
}

/** The columns of standingOf. */
const STANDING = [
  'status',
  'status_reason',
  'status_since',
  'frozen_at',
  'price_percent',
  'price_presets',
] as const

/** The status and the prices of an account as its callers carry them. */
export function standingOf(row: Pick<AccountTable, (typeof STANDING)[number]>): Standing {
  const { status, status_reason, status_since, frozen_at } = row
  return {
    accountStatus: status,
    statusReason: status_reason,
    statusSince: status_since,
    isFrozen: frozen_at !== null,
    terms: termsOf(row),
  }
}

export function termsOf({
  price_percent,
  price_presets,
}: Pick<AccountTable, 'price_percent' | 'price_presets'>): Terms {
  const presets: Record<string, number> = JSON.parse(price_presets)
  return { percent: price_percent, presets }
}

/** Queries the columns of standingOf, for joins. */
export function standings(db: Queries) {
  return db.selectFrom('accounts').select(['account_id', ...STANDING])
}

/** @throws ApiError account_suspended if the account is closed: nobody could use a new object */
export async function refuseClosed(db: Queries, accountId: string): Promise<void> {
  const account = await findClosed(db, accountId)
  if (account) throw refusal(standingOf(account))
}

export async function isClosed(db: Queries, accountId: string): Promise<boolean> {
  return (await findClosed(db, accountId)) !== undefined
}

function findClosed(db: Queries, accountId: string) {
  const closed = db.selectFrom('accounts').selectAll().where('status', '=', 'closed')
  return closed.where('account_id', '=', accountId).executeTakeFirst()
}

/** The refusal of each request for a frozen account, even to read or to delete. */
export function frozenRefusal(
  { status_reason, status_since }: Pick<AccountTable, 'status_reason' | 'status_since'>,
  whose: Whose,
): ApiError {
  const detail = `The account is frozen${becauseOf(status_reason, status_since)}. Ask the operator.`
  return new CredentialRefused(httpProblems.account_frozen, detail, whose)
}

/** Returns a text such as " since 2026-11-24T12:00:00.000Z: It sends spam". */
function becauseOf(reason: string | null, at: number | null): string {
  const since = at === null ? '' : ` since ${isoTime(at)}`
  const why = reason === null ? '' : `: ${reason}`
  return `${since}${why.replace(/[.!?\s]*$/, '')}`
}

/** @throws ApiError account_frozen if nothing of the account may be deleted */
export function refuseFrozen({ isFrozen }: Pick<Standing, 'isFrozen'>): void {
  if (isFrozen)
    throw new ApiError(
      httpProblems.account_frozen,
      'The account is frozen: nothing of it may be deleted. Resume it first.',
    )
}

function refusal({ accountStatus, statusReason, statusSince, isFrozen }: Standing): ApiError {
  const rest = isFrozen
    ? 'It is kept as it is. Ask the operator to resume it.'
    : accountStatus === 'closed'
      ? 'It can only be read.'
      : 'It can read, stop, delete, pay and answer complaints. Ask the operator to resume it.'
  const detail = `The account is ${isFrozen ? 'frozen' : accountStatus}${becauseOf(statusReason, statusSince)}. ${rest}`
  return new ApiError(accountProblems.account_suspended, detail)
}

/** Queries the accounts that are neither suspended nor closed. */
export function activeAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('status', '=', 'active')
}

/** Queries the accounts that are not closed. */
export function openAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('status', '<>', 'closed')
}

/** Queries the closed accounts, whose servers are deleted after some days. */
export function closedAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('status', '=', 'closed')
}

/** Queries the frozen accounts: none of their objects is deleted. */
export function frozenAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('frozen_at', 'is not', null)
}

/** Queries the accounts that were closed before a moment. */
export function closedBefore(db: Queries, moment: number) {
  return closedAccounts(db).where('status_since', '<=', moment)
}

/** Queries the accounts whose status changed after a moment, with the operator's reason. */
export function changedSince(db: Queries, after: number) {
  return db
    .selectFrom('accounts')
    .select(['account_id', 'status', 'frozen_at', 'status_reason', 'status_since as since'])
    .where('status_since', '>', after)
    .$narrowType<{ since: number }>()
}

/** Queries the suspended and closed accounts: their servers do not run, and their webhooks get no events. */
export function heldAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('status', '<>', 'active')
}
