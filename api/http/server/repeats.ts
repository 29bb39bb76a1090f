import type { FastifyReply, FastifyRequest } from 'fastify'
import { covered, credentialId } from '../contract/auth.ts'
import { ApiError } from '../contract/problem.ts'
import { type Call, isForOperators, type Route } from '../contract/route.ts'
import { actorOf, type Known, knownOf, signedInOf } from './call.ts'
import type { Idempotency, KeyOwner, StoredReply } from './idempotency.ts'
import { prepareProblem, toApiError } from './send-problem.ts'

const MAX_KEPT_REFUSAL = 4_096

/** Claims the Idempotency-Key of a POST, or repeats the reply of the first request with this key. */
export function claimer(idempotency: Idempotency, route: Route) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const key = request.headers['idempotency-key']
    if (key === undefined) return
    const known = knownOf(request)
    const repeated = { path: pathOf(request), body: request.body ?? {} }
    const begun = await idempotency.begin(ownerOf(route, known, repeated.body), repeated, String(key))
    if (begun && 'replay' in begun) {
      known.report = begun.replay.report ?? null
      return replay(reply, begun.replay)
    }
    known.claim = begun?.claim ?? null
  }
}

function ownerOf({ scope, isOfToken }: Route, known: Known, body?: unknown): KeyOwner {
  // The path names the account that the operator changes; operators need not be in an account. When a move is
  // repeated, its object is in another account, so the key belongs to the account that receives it.
  if (isForOperators(scope)) {
    const right = known.operator?.tokenId ?? signedInOf(known).personId
    return {
      accountId: known.params.account_id ?? (accountOf(body) || accountOf(known.loaded)),
      rights: [right],
    }
  }
  const actor = actorOf(known)
  return {
    accountId: actor.accountId,
    rights: [covered(actor.scopes), ...(isOfToken ? [credentialId(actor)] : [])],
  }
}

/** The account that an object or a body names; empty if it names none. */
function accountOf(named: unknown): string {
  return typeof named === 'object' && named && 'account_id' in named ? String(named.account_id) : ''
}

interface Removal {
  idempotency: Idempotency
  route: Route
  request: FastifyRequest
  reply: FastifyReply
}

/**
 * Loads the object that a DELETE names, and claims the key of the request. A repeat finds the object gone, so its key
 * takes precedence over the 404.
 * @returns the object; undefined if it is gone and the request has sent its first reply, or taken over its key
 */
export async function loadToRemove(
  { idempotency, route, request, reply }: Removal,
  load: () => Promise<unknown>,
): Promise<unknown> {
  const key = request.headers['idempotency-key']
  if (key === undefined) return load()
  const known = knownOf(request)
  const found = await load().then(
    (object) => ({ object }),
    (error: unknown) => ({ missing: asMissing(error) }),
  )
  const ids = Object.values(known.params)
  const removes = 'missing' in found ? null : ids.join(' ')
  const repeated = { path: pathOf(request), body: request.query, removes }
  const begun = await idempotency.begin(ownerOf(route, known), repeated, String(key))
  if (begun && 'replay' in begun) {
    known.report = begun.replay.report ?? null
    replay(reply, begun.replay)
    return undefined
  }
  known.claim = begun?.claim ?? null
  if ('object' in found) return found.object
  if (!begun) throw found.missing
  known.missing = found.missing
  return undefined
}

/** Carries out a request, or replies for an earlier attempt of its key that died before it could reply. */
export async function carryOut(route: Route, call: Call<string, unknown, unknown, unknown>, known: Known) {
  const { claim, missing } = known
  const earlierId = claim?.earlierId ?? null
  if (earlierId === null) return route.run(call)
  if (!claim?.isRemoval) return route.recover ? route.recover(call, earlierId) : route.run(call)
  try {
    if (missing) throw missing
    return await route.run(call)
  } catch (error) {
    asMissing(error)
    // The object existed when the earlier attempt began.
    if (route.recover) return route.recover(call, earlierId)
    if (204 in route.reply) return undefined
    throw error
  }
}

/**
 * Returns the error if it reports a missing object.
 * @throws the error otherwise
 */
function asMissing(error: unknown): ApiError {
  if (error instanceof ApiError && error.type.status === 404) return error
  throw error
}

const KEPT_HEADERS = ['content-type', 'location', 'link', 'retry-after']

/**
 * Keeps the reply of a request that had an Idempotency-Key, before it leaves. An error must not leave this hook: Fastify
 * would send it as it is.
 */
export async function keepReply(
  idempotency: Idempotency,
  request: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
): Promise<unknown> {
  const claim = request.known?.claim
  if (!claim) return body
  const status = reply.statusCode
  const report = request.known?.report ?? null
  // These replies are not kept: another token, a later try or a repair would get a different one. A long refusal
  // created nothing, and a repeat gets a similar refusal. Repeating a refused DELETE deletes nothing.
  const isLong = status >= 400 && typeof body === 'string' && body.length > MAX_KEPT_REFUSAL
  const isPassing = status === 401 || status === 403 || status === 429 || status >= 500 || isLong
  const isKept = claim.isRemoval ? status < 400 : !isPassing
  const headers = Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
  )
  try {
    if (!isKept) await idempotency.giveUp(claim)
    else
      await idempotency.finish(claim, { status, headers, body: typeof body === 'string' ? body : '', report })
    return body
  } catch (error) {
    request.log.warn({ err: error, request_id: request.id }, 'the reply for an Idempotency-Key was not kept')
    // A refusal is sent even if it was not kept. After a success, the client must retry, as no repeat would get the
    // reply.
    if (status >= 400) return body
    reply.removeHeader('location')
    return prepareProblem(toApiError(error), request, reply)
  }
}

function replay(reply: FastifyReply, { status, headers, body }: StoredReply): FastifyReply {
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers, 'idempotency-replayed': 'true' })
    .serializer((text: unknown) => String(text))
    .send(body)
}

function pathOf(request: FastifyRequest): string {
  return `${request.method} ${request.url.split('?')[0] ?? ''}`
}
