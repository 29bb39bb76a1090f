import { ApiError } from '../http/problem.ts'
import { accountProblems } from './schema.ts'

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
}

/** @param stored an account's own limits, JSON of a partial Quotas */
export function quotasOf(stored: string): Quotas {
  const own: Partial<Quotas> = JSON.parse(stored)
  return { ...defaultQuotas, ...own }
}

/** The error, with the figures that the contract lists. */
export function quotaExceeded(name: keyof Quotas, limit: number, used: number, requested: number): ApiError {
  const detail = `This would bring the account to ${used + requested} ${name}; its quota is ${limit}. Delete some, or ask the operator to raise it.`
  return new ApiError(accountProblems.quota_exceeded, detail, { quota: { name, limit, used, requested } })
}
