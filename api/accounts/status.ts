import type { Queries } from '../database/database.ts'
import { ApiError } from '../http/contract/problem.ts'
import { audienceOf, type Deed, deedOf, type Route } from '../http/contract/route.ts'
import { accountProblems } from './schema.ts'
import type { AccountTable } from './tables.ts'

type Status = AccountTable['status']

/** The kinds of requests that an account may send in each status. Top-ups are made by the operator. */
export const allowedIn: Readonly<Record<Status, readonly Deed[]>> = {
  active: ['read', 'follow', 'stop', 'delete', 'change'],
  suspended: ['read', 'stop', 'delete'],
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
        const { accountStatus } = call.actor
        if (!allowedIn[accountStatus].includes(deed)) throw refusal(accountStatus)
        return route.load?.(call)
      },
    }
  })
}

/** @throws ApiError account_suspended if an account in this status may not change anything */
export function refuseHeld(status: Status): void {
  if (!allowedIn[status].includes('change')) throw refusal(status)
}

/** @throws ApiError account_suspended if the account is closed: nobody could use what it would get */
export async function refuseClosed(db: Queries, accountId: string): Promise<void> {
  const closed = heldAccounts(db).where('status', '=', 'closed').where('account_id', '=', accountId)
  if (await closed.executeTakeFirst()) throw refusal('closed')
}

function refusal(status: Status): ApiError {
  const detail =
    status === 'closed'
      ? 'The account is closed: it can only be read.'
      : 'The account is suspended: it can read, stop and delete. Ask the operator to resume it.'
  return new ApiError(accountProblems.account_suspended, detail)
}

/** A query of the accounts that are neither suspended nor closed. */
export function activeAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('status', '=', 'active')
}

/** A query of the accounts that are closed: their servers are deleted after some days. */
export function closedAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('status', '=', 'closed')
}

/** A query of the accounts that are suspended or closed: nothing of theirs runs, and nothing is sent to them. */
export function heldAccounts(db: Queries) {
  return db.selectFrom('accounts').select('account_id').where('status', '<>', 'active')
}
