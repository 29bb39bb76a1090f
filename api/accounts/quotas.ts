import { paidBy } from '../billing/ledger.ts'
import type { Queries } from '../database/database.ts'
import { ApiError } from '../http/contract/problem.ts'
import { accountProblems } from './schema.ts'
import type { AccountTable } from './tables.ts'

/** How much of each thing an account may have. */
export interface Quotas {
  projects: number
  ssh_keys: number
  tokens: number
  webhooks: number
  servers: number
  cpu: number
  ram_mb: number
  disk_gb: number
  ports: number
  addresses: number
  networks: number
  firewalls: number
  members: number
}

export const defaultQuotas: Quotas = {
  projects: 50,
  ssh_keys: 100,
  tokens: 50,
  webhooks: 20,
  servers: 20,
  cpu: 64,
  ram_mb: 262_144,
  disk_gb: 4096,
  ports: 20,
  addresses: 10,
  networks: 10,
  firewalls: 20,
  members: 50,
}

/** What the example of a refusal says on a route that adds one of these. */
export function atLimit(name: keyof Quotas) {
  return { quota: { name, limit: defaultQuotas[name], used: defaultQuotas[name], requested: 1 } }
}

export const quotaNames = Object.keys(defaultQuotas) as (keyof Quotas)[] // the keys of a whole Quotas

/** What an account has until its first payment: enough to try everything, too little to be worth a false name. */
export const unpaidQuotas: Quotas = {
  ...defaultQuotas,
  servers: 2,
  cpu: 8,
  ram_mb: 16_384,
  disk_gb: 256,
}

type Limited = Pick<AccountTable, 'account_id' | 'quotas'>

/** What an account may have: its own limits, set by the operator, and else the default ones. */
export async function quotasOf(db: Queries, account: Limited): Promise<Quotas> {
  return limitsOf(account, await paidBy(db, account.account_id))
}

/** The same, where it is known how much it has paid. */
export function limitsOf(account: Limited, paid: number | null): Quotas {
  return { ...(Number(paid) > 0 ? defaultQuotas : unpaidQuotas), ...ownLimits(account) }
}

/** The limits that the operator gave an account. */
export function ownLimits({ quotas }: Limited): Partial<Quotas> {
  const own: Partial<Quotas> = JSON.parse(quotas)
  return own
}

/** The limit that an account has once it has paid. */
export function paidLimit(account: Limited, name: keyof Quotas): number {
  return ownLimits(account)[name] ?? defaultQuotas[name]
}

/** @throws ApiError quota_exceeded, where an account that has `used` of something has no room for more of it */
export function requireRoom(quotas: Quotas, name: keyof Quotas, used: number, requested = 1): void {
  const limit = quotas[name]
  if (used + requested > limit) throw quotaExceeded(name, limit, used, requested)
}

/**
 * The error, with the figures that the contract lists.
 * @param paid the limit that the account has once it has paid
 */
export function quotaExceeded(
  name: keyof Quotas,
  limit: number,
  used: number,
  requested: number,
  paid = limit,
): ApiError {
  const raise = paid > limit ? `pay: the first payment raises it to ${paid}` : 'ask the operator to raise it'
  const detail = `This would bring the account to ${used + requested} ${name}; its quota is ${limit}. Delete some, or ${raise}.`
  return new ApiError(accountProblems.quota_exceeded, detail, { quota: { name, limit, used, requested } })
}
