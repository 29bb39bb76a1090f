import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from './auth.ts'
import type { Claim, Idempotency } from './idempotency.ts'
import type { Route } from './route.ts'

/** What is known of a request by the time it reaches its route. */
export interface Known {
  actor: Actor | null
  /** Why there is no actor. */
  refusal: unknown
  params: Record<string, string>
  loaded: unknown
  claim: Claim | null
}

/** A request that has an actor. */
export type Admitted = Known & { actor: Actor }

declare module 'fastify' {
  interface FastifyRequest {
    known: Known | null
  }
}

/** What a route's `run` is given of a request. */
export function callOf(
  request: FastifyRequest,
  reply: FastifyReply,
  route: Route,
  { actor, params, loaded, claim }: Admitted,
  idempotency: Idempotency,
): Parameters<Route['run']>[0] {
  return {
    actor,
    loaded,
    params,
    query: request.query,
    body: request.body,
    made: async (tx, id) => void (claim && (await idempotency.made(tx, claim, id))),
    // Made for the few routes that ask for them.
    get signal() {
      return hangupOf(reply)
    },
    get url() {
      return declaredUrl(request, route)
    },
    ifMatch: request.headers['if-match'],
    lastEventId: lastEventIdOf(request),
    setHeader: (name, value) => void reply.header(name, value),
    setStatus: (status) => void reply.code(status),
  }
}

/** An empty one is what a client sends that has seen nothing yet. */
function lastEventIdOf({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : undefined
}

function hangupOf({ raw }: FastifyReply): AbortSignal {
  const hangup = new AbortController()
  // A reply that was sent closes too.
  raw.once('close', () => raw.writableFinished || hangup.abort())
  if (raw.destroyed) hangup.abort()
  return hangup.signal
}

/** The path, with what of the query means something here: the rest need not be repeated to the client. */
function declaredUrl(request: FastifyRequest, route: Route): string {
  const [path = '', query = ''] = request.url.split('?')
  const declared = [...new URLSearchParams(query)].filter(([name]) => name in (route.query?.properties ?? {}))
  return `${path}?${new URLSearchParams(declared)}`
}
