import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, credentialId, insufficientScope, type SignedIn } from '../contract/auth.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'
import { acceptedBy, type Route } from '../contract/route.ts'
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

interface Door {
  authenticate: (credentials: Credentials) => Promise<Caller>
  rateLimiter: RateLimiter
  turns: Turns
  security: SecurityLog
  publicUrl?: string | undefined
  /** @throws ApiError if the person is not an operator */
  requireOperator: (signedIn: SignedIn) => Promise<void>
}

const NOBODY: Caller = { actor: null, signedIn: null, refusal: null }

/** Identifies the caller and counts the request, before any other check. */
export async function admit(request: FastifyRequest, reply: FastifyReply, door: Door): Promise<void> {
  const caller = await findCaller(request, door)
  const counted = countOf(request, caller)
  request.known = { ...caller, params: {}, loaded: undefined, claim: null, report: null, counted }
  const verdict = door.rateLimiter.take(counted.policy, counted.caller)
  reply.headers(verdict.headers)
  if (!verdict.isAllowed) throw tooMany(verdict)
  await door.turns.take(callerOf(request))
}

function countOf(request: FastifyRequest, { actor, signedIn }: Caller): Known['counted'] {
  const { method, routeOptions } = request
  const own = signedIn?.personId ?? actor?.tokenId
  if (routeOptions.config.isOwn && own) return { policy: 'own', caller: own }
  if (!actor) return { policy: 'anonymous', caller: addressOf(request) }
  // To keep a reply for its key is to write.
  const isQuestion = routeOptions.config.isRead === true && request.headers['idempotency-key'] === undefined
  const isRead = method === 'GET' || method === 'HEAD' || isQuestion
  return { policy: isRead ? 'reads' : 'writes', caller: actor.accountId }
}

/**
 * Counts a refusal by its credential in place of its account.
 * @returns the error to reply with: the refusal, or that there were too many
 */
export function countRefusal(
  problem: ApiError | Error,
  { known }: FastifyRequest,
  reply: FastifyReply,
  rateLimiter: RateLimiter,
): ApiError | Error {
  const isRefusal = problem instanceof ApiError && problem.type.status === 403
  if (!isRefusal || !known?.actor || known.counted.policy === 'own') return problem
  rateLimiter.giveBack(known.counted.policy, known.counted.caller)
  const verdict = rateLimiter.take('refused', credentialId(known.actor))
  reply.headers(verdict.headers)
  return verdict.isAllowed ? problem : tooMany(verdict)
}

async function findCaller(request: FastifyRequest, door: Door): Promise<Caller> {
  const { authorization, cookie, 'berth-account': account } = request.headers
  const accountId = typeof account === 'string' ? account.toLowerCase() : undefined
  try {
    const isSecure = isByTls(request, door.publicUrl)
    const address = addressOf(request)
    const caller = await door.authenticate({ authorization, cookie, accountId, address, isSecure })
    // Tokens are sent on purpose; cookies are sent with every request that a page causes.
    if (caller.signedIn) requireOwnPage(request, door.publicUrl)
    return caller
  } catch (error) {
    // This includes replies with 404 or 429, since their headers reveal whether the token is valid.
    if (authorization) door.security.refused(request, toApiError(error))
    return { ...NOBODY, refusal: error }
  }
}

/**
 * Checks that the caller may use a route.
 * @throws ApiError the reason why there is no actor or person, origin_not_allowed, insufficient_scope,
 * operator_required, two_factor_required
 */
export async function holdTo(
  route: Route,
  request: FastifyRequest,
  { publicUrl, requireOperator }: Pick<Door, 'publicUrl' | 'requireOperator'>,
): Promise<void> {
  const { scope } = route
  // Otherwise another page could sign its visitor in as somebody else.
  if (scope === 'anybody') {
    refuseForeignPage(request, publicUrl)
    return
  }
  if (scope === 'person' || scope === 'operator') {
    const signedIn = signedInOf(knownOf(request))
    if (scope === 'operator') await requireOperator(signedIn)
    return
  }
  const { scopes, person } = actorOf(knownOf(request))
  const accepted = acceptedBy(route)
  if (accepted.some((name) => scopes.includes(name))) return
  const needed = `the scope ${accepted.join(' or ')}.`
  const detail = person
    ? `This requires ${needed} Your role in this account, ${person.role}, does not have it.`
    : `This requires a token with ${needed}`
  throw insufficientScope(detail, scope, accepted)
}

function tooMany({ retryAfterSeconds }: Verdict): ApiError {
  return new ApiError(httpProblems.rate_limited, `Too many requests. Try again in ${retryAfterSeconds} s.`)
}
