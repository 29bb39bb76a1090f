import { paidBy } from '../billing/ledger.ts'
import type { Queries } from '../database/database.ts'
import type { Quota } from '../feature.ts'
import { ApiError } from '../http/contract/problem.ts'
import { accountProblems } from './schema.ts'
import type { AccountTable } from './tables.ts'

/** The facts that an account's limits depend on: its own limits, set by the operator, and how much it has paid. */
export type Limited = Pick<AccountTable, 'account_id' | 'quotas'> & { paid: number | null }

/** The example of a refusal on a route that creates something with a quota. */
export function atLimit({ name, limit }: Quota) {
  return { quota: { name, limit, used: limit, requested: 1 } }
}

/** The limits that the operator set for an account, by name. */
export function ownLimits({ quotas }: Pick<AccountTable, 'quotas'>): Partial<Record<string, number>> {
  const own: Partial<Record<string, number>> = JSON.parse(quotas)
  return own
}

/** Before its first payment, an account may have enough to try everything, but too little to attract abuse. */
function limitOf(own: Partial<Record<string, number>>, paid: number | null, quota: Quota): number {
  const { limit, unpaid = limit } = quota
  return own[quota.name] ?? (Number(paid) > 0 ? limit : unpaid)
}

/** The limits of an account, by name. */
export async function limitsOf(
  db: Queries,
  account: Pick<AccountTable, 'account_id' | 'quotas'>,
  quotas: readonly Quota[],
): Promise<Record<string, number>> {
  const paid = await paidBy(db, account.account_id)
  const own = ownLimits(account)
  return Object.fromEntries(quotas.map((quota) => [quota.name, limitOf(own, paid, quota)]))
}

/**
 * Checks a quota by counting the account's objects. The account's row must be locked, so that the count stays true.
 * @throws ApiError quota_exceeded
 */
export async function requireRoom(tx: Queries, account: Limited, quota: Quota, requested = 1): Promise<void> {
  requireWithin(account, quota, { used: await quota.count(tx, account.account_id), requested })
}

/** @throws ApiError quota_exceeded, with the figures that the contract lists */
export function requireWithin(
  account: Limited,
  quota: Quota,
  { used, requested }: { used: number; requested: number },
): void {
  const { name } = quota
  const own = ownLimits(account)
  const limit = limitOf(own, account.paid, quota)
  if (used + requested <= limit) return
  const paid = own[name] ?? quota.limit
  const raise = paid > limit ? `pay: the first payment raises it to ${paid}` : 'ask the operator to raise it'
  const detail = `This would bring the account to ${used + requested} ${name}; its quota is ${limit}. Delete some, or ${raise}.`
  throw new ApiError(accountProblems.quota_exceeded, detail, { quota: { name, limit, used, requested } })
}
