import { paidIn } from '../billing/ledger.ts'
import type { LimitStep, LimitSteps } from '../catalog/limit-steps.ts'
import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { Quota } from '../feature.ts'
import { ApiError } from '../http/contract/problem.ts'
import { formatMoney, UNITS_PER_KOPECK } from '../money.ts'
import { stepsIn } from './limit-steps.ts'
import { accountProblems } from './schema.ts'
import type { AccountTable } from './tables.ts'

/**
 * The facts that decide an account's limits: those set by the operator, the sum that it has paid, and the
 * steps.
 */
export type Limited = Pick<AccountTable, 'account_id' | 'quotas'> & {
  paid: number | null
  steps: string | null
}

/** A limit of an account with its reason, and the next sum that raises it, in units. */
export interface Limit {
  limit: number
  reason: 'default' | 'unpaid' | 'paid' | 'own'
  next: LimitStep | null
}

/** The example of a refusal on a route that creates something with a quota. */
export function atLimit({ name, limit }: Quota) {
  return { quota: { name, limit, used: limit, requested: 1 } }
}

/** Limits that an operator gives an account, by name; null is the default. */
export type GivenLimits = Readonly<Record<string, number | null>>

/** Returns changed limits as the row of an account keeps them, without default ones. */
export function writtenLimits(change: GivenLimits, before: Pick<AccountTable, 'quotas'> = { quotas: '{}' }) {
  const all = Object.entries({ ...ownLimits(before), ...change })
  return JSON.stringify(Object.fromEntries(all.filter(([, limit]) => limit !== null)))
}

/** The limits that the operator set for an account, by name. */
export function ownLimits({ quotas }: Pick<AccountTable, 'quotas'>): Partial<Record<string, number>> {
  const own: Partial<Record<string, number>> = JSON.parse(quotas)
  return own
}

/**
 * Before its first payment, or the first step of the catalogue, an account may have enough to try everything,
 * but too little to attract abuse. Steps may exceed the operator's own limit, unless that is below the limit
 * of new accounts: such a limit is meant to hold.
 */
function limitOf(account: Limited, quota: Quota): Limit {
  const { name, limit: most, unpaid = most } = quota
  const all: LimitSteps = JSON.parse(account.steps ?? '{}')
  const paid = account.paid ?? 0
  const steps = all[name] ?? (unpaid < most ? [{ paid: UNITS_PER_KOPECK, limit: most }] : [])
  const last = steps.findLast((step) => step.paid <= paid)
  const start = steps[0]?.paid === 0 ? steps[0].limit : unpaid
  const own = ownLimits(account)[name]
  if (own !== undefined && (own < start || !all[name])) return { limit: own, reason: 'own', next: null }
  const limit = Math.max(own ?? 0, start, last?.limit ?? 0)
  const next = steps.find((step) => step.paid > paid && step.limit > limit) ?? null
  if (limit === own) return { limit, reason: 'own', next }
  return { limit, reason: last && last.paid > 0 ? 'paid' : next ? 'unpaid' : 'default', next }
}

/** The limits of an account, by name. */
export async function limitsOf(
  db: Queries,
  account: Pick<AccountTable, 'account_id' | 'quotas'>,
  quotas: readonly Quota[],
): Promise<Record<string, number>> {
  const explained = Object.entries(await explainedLimits(db, account, quotas))
  return Object.fromEntries(explained.map(([name, { limit }]) => [name, limit]))
}

/** Returns the limits of an account, each with its reason. */
export async function explainedLimits(
  db: Queries,
  account: Pick<AccountTable, 'account_id' | 'quotas'>,
  quotas: readonly Quota[],
): Promise<Record<string, Limit>> {
  const { account_id, quotas: own } = account
  const facts = (await earnings.first(db, { accountId: account_id })) ?? { paid: null, steps: null }
  return limitsBy({ account_id, quotas: own, ...facts }, quotas)
}

const earnings = prepared((db, { accountId }: { accountId: string }) =>
  db
    .selectFrom('accounts')
    .where('accounts.account_id', '=', accountId)
    .select([paidIn(db, accountId).as('paid'), stepsIn(db).as('steps')]),
)

/** Returns the limits of an account whose paid sum is known, each with its reason. */
export function limitsBy(account: Limited, quotas: readonly Quota[]): Record<string, Limit> {
  return Object.fromEntries(quotas.map((quota) => [quota.name, limitOf(account, quota)]))
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
      .select([paidIn(db, accountId).as('paid'), stepsIn(db).as('steps')])
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
  const { limit, next } = limitOf(account, quota)
  if (used + requested <= limit) return
  const raise = next ? raisedBy(account, next) : 'ask the operator to raise it'
  const detail = `This would bring the account to ${used + requested} ${name}; its quota is ${limit}. Delete some, or ${raise}.`
  throw new ApiError(accountProblems.quota_exceeded, detail, { quota: { name, limit, used, requested } })
}

function raisedBy({ paid }: Limited, { paid: due, limit }: LimitStep): string {
  if (due <= UNITS_PER_KOPECK) return `pay: the first payment raises it to ${limit}`
  return `pay ${formatMoney(due - Math.max(0, paid ?? 0))} rubles more: ${formatMoney(due)} in all raise it to ${limit}`
}
