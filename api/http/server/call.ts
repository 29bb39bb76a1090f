import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Queries } from '../../database/database.ts'
import type { Actor, Caller, SignedIn } from '../contract/auth.ts'
import type { ApiError } from '../contract/problem.ts'
import type { Call, Part, Report, Route, Visit } from '../contract/route.ts'
import { addressOf } from '../limits/origin.ts'
import type { Policy } from '../limits/rate-limit.ts'
import type { Claim, Idempotency } from './idempotency.ts'
import { isByTls, personRequired } from './page-origin.ts'
import { partOf } from './part.ts'

/** The facts known of a request by the time it reaches its route. */
export interface Known extends Caller {
  params: Record<string, string>
  loaded: unknown
  /** The error for a repeated DELETE whose object is gone. */
  missing: ApiError | null
  claim: Claim | null
  report: Report | null
  /** The count that the request was added to. */
  counted: { policy: Policy; caller: string }
}

declare module 'fastify' {
  interface FastifyRequest {
    known: Known | null
  }
  interface FastifyContextConfig {
    /** True if it is not counted and needs no token. */
    isFree?: true
    /** The operationId. */
    action?: string
    /** True if the request counts as a read, whatever its method. */
    isRead?: true
    /** True if the body is a part of a file. */
    takesPart?: true
    /** True if the request counts by person or token. */
    isOwn?: true
    /**
     * True if clients poll this route, up to twice a second: such requests are counted apart from other
     * reads.
     */
    isPoll?: true
    /** The scopes of which the caller must hold one. */
    accepted?: readonly string[]
  }
}

interface Exchange {
  request: FastifyRequest
  reply: FastifyReply
  route: Route
  known: Known
  idempotency: Idempotency
  publicUrl?: string | undefined
}

/** The argument of a route's `run`. Parts that only a few routes use are created on demand. */
export class HttpCall implements Call<string, unknown, unknown, unknown> {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get actor(): Actor {
    return actorOf(this.#exchange.known)
  }

  get signedIn(): SignedIn {
    return signedInOf(this.#exchange.known)
  }

  get visit(): Visit {
    const { request, publicUrl } = this.#exchange
    const userAgent = request.headers['user-agent'] ?? ''
    return { address: addressOf(request), userAgent, isSecure: isByTls(request, publicUrl) }
  }

  get params(): Record<string, string> {
    return this.#exchange.known.params
  }

  get query(): unknown {
    return this.#exchange.request.query
  }

  get body(): unknown {
    return this.#exchange.request.body
  }

  get part(): Part {
    const { request, route } = this.#exchange
    return partOf(request, route)
  }

  get loaded(): unknown {
    return this.#exchange.known.loaded
  }

  get signal(): AbortSignal {
    return hangupOf(this.#exchange.reply)
  }

  get url(): string {
    return this.#exchange.request.url
  }

  get ifMatch(): string | undefined {
    return this.#exchange.request.headers['if-match']
  }

  get lastEventId(): string | undefined {
    return lastEventIdOf(this.#exchange.request)
  }

  get accept(): string | undefined {
    return this.#exchange.request.headers.accept
  }

  // Routes destructure these from their call, so they must not use `this`.
  get remember() {
    const { known, idempotency } = this.#exchange
    return async (tx: Queries, id: string) =>
      void (known.claim && (await idempotency.remember(tx, known.claim, id)))
  }

  get report() {
    const { known } = this.#exchange
    return (report: Report) => {
      known.report = report
    }
  }

  get setHeader() {
    const { reply } = this.#exchange
    return (name: string, value: string) => void reply.header(name, value)
  }

  get setStatus() {
    const { reply } = this.#exchange
    return (status: number) => void reply.code(status)
  }
}

export function knownOf({ known }: FastifyRequest): Known {
  if (known) return known
  throw new Error('the request reached its route without the hooks')
}

/** @throws the reason why the request has no actor */
export function actorOf({ actor, refusal }: Caller): Actor {
  if (actor) return actor
  throw refusal ?? new Error('the request reached its route without the hooks')
}

/** @throws the reason why nobody has signed in */
export function signedInOf({ signedIn, actor, refusal }: Caller): SignedIn {
  if (signedIn) return signedIn
  throw actor ? personRequired() : (refusal ?? new Error('the request reached its route without the hooks'))
}

/** A client that has not seen any event yet sends an empty one. */
function lastEventIdOf({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : undefined
}

function hangupOf({ raw }: FastifyReply): AbortSignal {
  const hangup = new AbortController()
  // `close` is also emitted after a complete reply.
  raw.once('close', () => raw.writableFinished || hangup.abort())
  if (raw.destroyed) hangup.abort()
  return hangup.signal
}
