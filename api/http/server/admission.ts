import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type Actor,
  type Caller,
  CredentialRefused,
  insufficientOperatorScope,
  insufficientScope,
  type OperatorScope,
  type SignedIn,
  whoseIs,
} from '../contract/auth.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'
import {
  acceptedBy,
  HCLOUD_PREFIX,
  isAudience,
  isForOperators,
  PREFIX,
  type Route,
} from '../contract/route.ts'
import { addressOf, callerOf } from '../limits/origin.ts'
import type { RateLimiter, Verdict } from '../limits/rate-limit.ts'
import type { Turns } from '../limits/turns.ts'
import { actorOf, type Known, knownOf, signedInOf } from './call.ts'
import { isByTls, refuseForeignPage, requireOwnPage } from './page-origin.ts'
import type { SecurityLog } from './security-log.ts'
import { toApiError } from './send-problem.ts'

/** The parts of a request that show who sends it. */
export interface Credentials {
  authorization: string | undefined
  cookie: string | undefined
  /** The account that a person acts for, one of those that they are in. */
  accountId: string | undefined
  address: string
  /** The request came over TLS, where the cookie has another name. */
  isSecure: boolean
}

interface AdmissionOptions {
  authenticate: (credentials: Credentials) => Promise<Caller>
  rateLimiter: RateLimiter
  turns: Turns
  security: SecurityLog
  publicUrl?: string | undefined
  /** @throws ApiError if the person is not an operator */
  requireOperator: (signedIn: SignedIn) => Promise<void>
}

const NOBODY: Caller = { actor: null, signedIn: null, operator: null, refusal: null }

/** Identifies the caller and counts the request, before any other check. */
export async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  options: AdmissionOptions,
): Promise<void> {
  const caller = await findCaller(request, options)
  const counted = countOf(request, caller)
  request.known = {
    ...caller,
    params: {},
    loaded: undefined,
    missing: null,
    claim: null,
    report: null,
    counted,
  }
  const verdict = options.rateLimiter.take(counted.policy, counted.caller)
  reply.headers(verdict.headers)
  if (!verdict.isAllowed) throw tooMany(verdict)
  await options.turns.take(callerOf(request))
}

function countOf(request: FastifyRequest, { actor, signedIn, operator }: Caller): Known['counted'] {
  const { method, headers, routeOptions } = request
  const { isOwn, isPoll, isRead: isQuestion, accepted } = routeOptions.config
  const own = ownerOf({ actor, signedIn })
  if (isOwn && own) return { policy: 'own', caller: own }
  // Storing a reply for an idempotency key is a write.
  const isRead = method === 'GET' || method === 'HEAD' || (isQuestion && !headers['idempotency-key'])
  if (operator) return { policy: isRead ? 'reads' : 'writes', caller: operator.tokenId }
  if (!actor) return { policy: 'anonymous', caller: addressOf(request) }
  // A request that will be refused must not use up the limit of the account.
  const isRefused = accepted ? !holdsOne(actor, accepted) : !isRead && !signedIn
  if (isRefused) return { policy: 'refused', caller: own }
  if (isPoll) return { policy: 'polls', caller: actor.accountId }
  return { policy: isRead ? 'reads' : 'writes', caller: signedIn?.personId ?? actor.accountId }
}

/** The person or the token that sent a request. */
function ownerOf({ actor, signedIn }: Pick<Caller, 'actor' | 'signedIn'>): string {
  return signedIn?.personId ?? actor?.tokenId ?? ''
}

function holdsOne({ scopes }: Pick<Actor, 'scopes'>, accepted: readonly string[]): boolean {
  return accepted.some((name) => scopes.includes(name))
}

/**
 * Counts a refusal for a role or a status by its person or token, in place of the account.
 * @returns the error to reply with: the refusal, or that there were too many
 */
export function countRefusal(
  problem: ApiError | Error,
  { known }: FastifyRequest,
  reply: FastifyReply,
  rateLimiter: RateLimiter,
): ApiError | Error {
  const isRefusal = problem instanceof ApiError && problem.type.status === 403
  if (!isRefusal || !known?.actor) return problem
  const { policy, caller } = known.counted
  if (policy === 'own' || policy === 'refused') return problem
  rateLimiter.giveBack(policy, caller)
  const verdict = rateLimiter.take('refused', ownerOf(known))
  reply.headers(verdict.headers)
  return verdict.isAllowed ? problem : tooMany(verdict)
}

async function findCaller(request: FastifyRequest, options: AdmissionOptions): Promise<Caller> {
  const { authorization, cookie, 'berth-account': account } = request.headers
  const accountId = typeof account === 'string' ? account.toLowerCase() : undefined
  try {
    const isSecure = isByTls(request, options.publicUrl)
    const address = addressOf(request)
    const caller = await options.authenticate({ authorization, cookie, accountId, address, isSecure })
    requireEntrance(caller, request)
    // Tokens are sent on purpose; cookies are sent with every request that a page causes.
    if (caller.signedIn) requireOwnPage(request, options.publicUrl)
    return caller
  } catch (error) {
    // This includes replies with 404 or 429, since their headers reveal whether the token is valid.
    if (authorization) options.security.refused(request, toApiError(error))
    return { ...NOBODY, refusal: error }
  }
}

/**
 * Checks that tokens for hcloud's tools are used only on that interface, and that it accepts no other credentials.
 * @throws ApiError invalid_token, missing_token
 */
function requireEntrance({ actor, signedIn, operator }: Caller, { url, routeOptions }: FastifyRequest): void {
  // This uses the router's pattern, because the same path can be written in several ways.
  const isHcloud = (routeOptions.url ?? url).startsWith(`${HCLOUD_PREFIX}/`)
  if (isHcloud && (signedIn || operator)) throw new ApiError(httpProblems.missing_token, NEEDS_HCLOUD)
  if (!actor || isHcloud === (actor.projectId !== null)) return
  throw new CredentialRefused(
    httpProblems.invalid_token,
    isHcloud
      ? NEEDS_HCLOUD
      : `This token is valid only for ${HCLOUD_PREFIX}. Create another one for ${PREFIX}.`,
    whoseIs(actor, signedIn),
  )
}

const NEEDS_HCLOUD = `${HCLOUD_PREFIX} requires a token of its own. Create one: berth token create NAME --hcloud`

/**
 * Checks that the caller may use a route.
 * @throws ApiError the reason why there is no actor or person, origin_not_allowed, insufficient_scope,
 * operator_required, two_factor_required
 */
export async function holdTo(
  route: Route,
  request: FastifyRequest,
  { publicUrl, requireOperator }: Pick<AdmissionOptions, 'publicUrl' | 'requireOperator'>,
): Promise<void> {
  const { scope } = route
  // Otherwise another page could sign its visitor in as somebody else.
  if (scope === 'anybody') {
    refuseForeignPage(request, publicUrl)
    return
  }
  const known = knownOf(request)
  if (isForOperators(scope)) {
    if (known.operator) requireOperatorScope(known.operator, scope)
    else await requireOperator(signedInOf(known))
    return
  }
  if (scope === 'person') {
    signedInOf(known)
    return
  }
  requireScope(route, actorOf(known))
}

/** @throws ApiError insufficient_scope */
export function requireScope(route: Route, actor: Actor): void {
  const { scope } = route
  if (isAudience(scope)) return
  const accepted = acceptedBy(route)
  if (holdsOne(actor, accepted)) return
  const { person } = actor
  const needed = `the scope ${accepted.join(' or ')}.`
  const detail = person
    ? `This requires ${needed} Your role in this account, ${person.role}, does not have it.`
    : `This requires a token with ${needed}`
  throw insufficientScope(detail, scope, accepted)
}

function requireOperatorScope({ scopes }: Pick<Actor, 'scopes'>, scope: OperatorScope): void {
  if (!scopes.includes(scope)) throw insufficientOperatorScope(scope)
}

function tooMany({ retryAfterSeconds }: Verdict): ApiError {
  return new ApiError(httpProblems.rate_limited, `Too many requests. Try again in ${retryAfterSeconds} s.`)
}
