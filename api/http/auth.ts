import { ApiError, httpProblems } from './problem.ts'

/** Scopes are the interface's own four; each has one coarse alternative that is accepted in its place. */
export const acceptedFor = {
  'account:read': ['account:read', 'read'],
  'account:write': ['account:write', 'write'],
  'servers:read': ['servers:read', 'read'],
  'servers:write': ['servers:write', 'write'],
} as const satisfies Record<string, readonly string[]>

export type Scope = keyof typeof acceptedFor

/** All scopes that a token can have. */
export const scopeNames = [...new Set(Object.values(acceptedFor).flat())]
export type ScopeName = (typeof scopeNames)[number]

/** Who sends a request: an account by one of its tokens. */
export interface Actor {
  accountId: string
  accountStatus: 'active' | 'suspended' | 'closed'
  tokenId: string
  scopes: readonly string[]
}

export function holds(actor: Pick<Actor, 'scopes'>, scope: Scope): boolean {
  return acceptedFor[scope].some((name) => actor.scopes.includes(name))
}

/** The fine scopes that these names amount to: a coarse one stands for all that accept it. */
export function covered(names: readonly string[]): Scope[] {
  const scopes = Object.keys(acceptedFor) as Scope[] // the keys of a constant table
  return scopes.filter((scope) => holds({ scopes: names }, scope))
}

/** The error for a token without the scope; any of the accepted ones would do. */
export function insufficientScope(
  detail: string,
  scope: Scope,
  accepted: readonly ScopeName[] = acceptedFor[scope],
): ApiError {
  return new ApiError(httpProblems.insufficient_scope, detail, {
    required_scope: scope,
    accepted_scopes: accepted,
  })
}
