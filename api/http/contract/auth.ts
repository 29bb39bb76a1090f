import { ApiError, httpProblems, type ProblemType } from './problem.ts'

/**
 * Maps each scope that a route can require to the scopes of a token that satisfy it: the same one, and a coarse one.
 */
export const acceptedFor = {
  'account:read': ['account:read', 'read'],
  'account:write': ['account:write', 'write'],
  'servers:read': ['servers:read', 'read'],
  'servers:write': ['servers:write', 'write'],
} as const satisfies Record<string, readonly string[]>

export type Scope = keyof typeof acceptedFor
export const fineScopes = Object.keys(acceptedFor) as Scope[] // the keys of a constant table

/** All scopes that a token can have. */
export const scopeNames = [...new Set(Object.values(acceptedFor).flat())]
export type ScopeName = (typeof scopeNames)[number]

/** The role of a person in an account of which they are a member. */
export const roleScopes = {
  owner: ['account:read', 'account:write', 'servers:read', 'servers:write'],
  admin: ['account:read', 'account:write', 'servers:read', 'servers:write'],
  member: ['account:read', 'servers:read', 'servers:write'],
  billing: ['account:read', 'account:write'],
  viewer: ['account:read', 'servers:read'],
} as const satisfies Record<string, readonly Scope[]>

export type Role = keyof typeof roleScopes
export const roleNames = Object.keys(roleScopes) as Role[] // the keys of a constant table

/** Scopes of operators' tokens. None includes another. */
export const operatorScopes = ['operator:read', 'operator:write', 'operator:money'] as const
export type OperatorScope = (typeof operatorScopes)[number]

/** A token of the installation's operator. It belongs to no account and is valid only for the operator's routes. */
export interface OperatorToken {
  tokenId: string
  name: string
  scopes: readonly string[]
}

/** A person who has signed in, in one of their sessions. */
export interface SignedIn {
  personId: string
  email: string
  sessionId: string
  /** The account that the request is for; null if the person is in no account, or not in that one. */
  accountId: string | null
}

/** Prices of one account that differ from the catalogue. */
export interface Terms {
  /** Percent added to the prices of the catalogue, from -100 (free) to 100. */
  percent: number
  /** Monthly prices, in units, of presets with a price of their own, by slug. The percent does not apply to them. */
  presets: Readonly<Record<string, number>>
}

/** The status of an account, its reason and start if known, and the account's prices. */
export interface Standing {
  accountStatus: 'active' | 'suspended' | 'closed'
  /** True if the operator keeps the account unchanged, as evidence. */
  isFrozen: boolean
  statusReason: string | null
  statusSince: number | null
  terms: Terms
}

/** The account that sends a request, by one of its tokens or through one of its members. */
export interface Actor extends Standing {
  accountId: string
  scopes: readonly string[]
  /** Null if a person has signed in. */
  tokenId: string | null
  /** The project that a token for hcloud's tools is bound to; null for other callers. */
  projectId: string | null
  /** Null if a token was sent. */
  person: (SignedIn & { memberId: string; role: Role }) | null
}

/** The credential that an actor was authorized by. */
export type Credential = Pick<Actor, 'accountId' | 'tokenId' | 'person'>

/** The id of the token or the session. */
export function credentialId({ tokenId, person }: Pick<Actor, 'tokenId' | 'person'>): string {
  return tokenId ?? person?.sessionId ?? ''
}

/** Checks whether a stream or console may stay open. */
export interface Access {
  /** Returns the credentials that are still valid and belong to active accounts. */
  stillValid<T extends Credential>(credentials: readonly T[]): Promise<Set<T>>
  /** True if the credential is still valid and may be used from this address. */
  isUsableFrom(credential: Credential, address: string): Promise<boolean>
}

/** The sender of a request, as far as the request shows it. */
export interface Caller {
  actor: Actor | null
  /** Also set if the person is in no account. */
  signedIn: SignedIn | null
  /** Set if an operator's token was sent. */
  operator: OperatorToken | null
  /** The reason why there is no actor. */
  refusal: unknown
}

/** The owner of a credential, as the security log records it. */
export interface Whose {
  accountId: string | null
  tokenId: string | null
  personId: string | null
}

export function whoseIs(
  actor: Pick<Actor, 'accountId' | 'tokenId'> | null,
  signedIn: SignedIn | null,
  operator: OperatorToken | null = null,
): Whose | null {
  if (!actor && !signedIn && !operator) return null
  return {
    accountId: actor?.accountId ?? null,
    tokenId: actor?.tokenId ?? operator?.tokenId ?? null,
    personId: signedIn?.personId ?? null,
  }
}

/** The refusal of a known credential: the security log names its owner, the reply does not. */
export class CredentialRefused extends ApiError {
  readonly whose: Whose | null

  constructor(type: ProblemType, detail: string, whose: Whose | null) {
    super(type, detail)
    this.whose = whose
  }
}

export function holds(actor: Pick<Actor, 'scopes'>, scope: Scope): boolean {
  return acceptedFor[scope].some((name) => actor.scopes.includes(name))
}

/** The fine scopes that these names stand for: a coarse scope stands for all that accept it. */
export function covered(names: readonly string[]): Scope[] {
  return fineScopes.filter((scope) => holds({ scopes: names }, scope))
}

/** The error for a token without the scope; any of the accepted scopes suffices. */
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

/** The error for an operator's token without the scope. */
export function insufficientOperatorScope(scope: OperatorScope): ApiError {
  return new ApiError(
    httpProblems.insufficient_scope,
    `This requires an operator's token with the scope ${scope}: berthd operator token create`,
    { required_scope: scope, accepted_scopes: [scope] },
  )
}

/** The error for an account that the person is not a member of. */
export function notAMember(): ApiError {
  return new ApiError(
    httpProblems.not_a_member,
    'You are not a member of this account. Choose one of the accounts that GET /person lists.',
  )
}
