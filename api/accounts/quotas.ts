import { paidBy, paidIn } from '../billing/ledger.ts'
import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
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
  return limitsBy({ ...account, paid: await paidBy(db, account.account_id) }, quotas)
}

/** The same, where it is known how much the account has paid. */
export function limitsBy(account: Limited, quotas: readonly Quota[]): Record<string, number> {
  const own = ownLimits(account)
  return Object.fromEntries(quotas.map((quota) => [quota.name, limitOf(own, account.paid, quota)]))
}

/** Reads an account, how much it has paid, and its use of quotas by name, in one statement. */
export async function readUse(
  db: Queries,
  accountId: string,
  quotas: readonly Quota[],
): Promise<{ account: AccountTable & Limited; used: Record<string, number> }> {
  const names = quotas.map(({ name }) => name)
  const statement = uses.get(names.join()) ?? useOf(quotas)
  uses.set(names.join(), statement)
  const row = await statement.first(db, { accountId })
  if (!row) throw new Error(`no such account: ${accountId}`)
  // A column of each quota follows those of the account.
  const counted: Record<string, unknown> = { ...row }
  const used = names.map((name) => [name, Number(counted[`use_of_${name}`])] as const)
  return { account: row, used: Object.fromEntries(used) }
}

/** The statements for the quotas that are read together; the program has some twenty such lists. */
const uses = new Map<string, ReturnType<typeof useOf>>()

function useOf(quotas: readonly Quota[]) {
  return prepared((db, { accountId }: { accountId: string }) =>
    db
      .selectFrom('accounts')
      .where('accounts.account_id', '=', accountId)
      .selectAll('accounts')
      .select(paidIn(db, accountId).as('paid'))
      .select(quotas.map(({ name, count }) => count(db, accountId).as(`use_of_${name}`))),
  )
}

/** Returns how much of a quota an account uses. */
export async function countUse(db: Queries, accountId: string, quota: Quota): Promise<number> {
  return (await readUse(db, accountId, [quota])).used[quota.name] ?? 0
}

/**
 * Checks a quota by counting the account's objects. The account's row must be locked, so that the count stays true.
 * @throws ApiError quota_exceeded
 */
export async function requireRoom(tx: Queries, account: Limited, quota: Quota, requested = 1): Promise<void> {
  requireWithin(account, quota, { used: await countUse(tx, account.account_id, quota), requested })
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
