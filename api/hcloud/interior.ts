import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Actor } from '../http/contract/auth.ts'
import { invalid, notFound } from '../http/contract/problem.ts'
import type { Call, Report, Route, Visit } from '../http/contract/route.ts'
import { type Check, compileCheck, lowerIds } from '../http/contract/validation.ts'
import { addressOf, onBehalfOf } from '../http/limits/origin.ts'
import { requireScope } from '../http/server/admission.ts'
import { actorOf, knownOf } from '../http/server/call.ts'

/** The parts of a request to a route of /v1. */
export interface Inquiry {
  params?: Record<string, string>
  query?: Record<string, string | number>
  body?: object
}

interface Answer {
  body: unknown
  /** The operation that the request began, if the reply names one. */
  operationId: string | null
}

interface Inner {
  route: Route
  checkQuery: Check
  /** Null if it takes none. */
  checkBody: Check | null
}

const OPERATION = /\/operations\/([0-9a-f-]{36})$/

/**
 * Calls routes of /v1 on behalf of a request to another interface. The rules of /v1 apply: scopes, the status
 * of the account, the schemas of bodies.
 */
export class Interior {
  readonly #routes: ReadonlyMap<string, Inner>

  constructor(routes: readonly Route[]) {
    this.#routes = new Map(
      routes.map((route) => [
        route.id,
        {
          route,
          checkQuery: compileCheck('query', route.query ?? Type.Object({})),
          checkBody: route.body ? compileCheck('body', route.body) : null,
        },
      ]),
    )
  }

  /** @throws ApiError insufficient_scope if the token of a request may not call a route */
  requireScope(request: FastifyRequest, id: string): void {
    requireScope(this.#routeOf(id).route, actorOf(knownOf(request)))
  }

  #routeOf(id: string): Inner {
    const inner = this.#routes.get(id)
    if (!inner) throw new Error(`there is no route ${id}`)
    return inner
  }

  /**
   * @param id the operationId of the route
   * @throws ApiError as the route does
   */
  async call(request: FastifyRequest, id: string, inquiry: Inquiry): Promise<Answer> {
    const inner = this.#routeOf(id)
    const { route } = inner
    const { params = {}, query = {}, body = {} } = inquiry
    const actor = actorOf(knownOf(request))
    requireScope(route, actor)
    const loaded = await route.load?.({ actor, params })
    const issues = [...inner.checkQuery(query), ...(inner.checkBody?.(body) ?? [])]
    if (issues.length > 0) throw invalid(issues)
    if (route.body) lowerIds(body)
    const call = new InnerCall(request, route, { params, query, body, loaded })
    const origin = {
      action: id,
      requestId: request.id,
      address: addressOf(request),
      tokenId: actor.tokenId,
      person: null,
      accountId: actor.accountId,
    }
    const reply = await onBehalfOf(origin, () => route.run(call))
    return { body: reply, operationId: call.operationId }
  }
}

/** The argument of the `run` of a route of /v1. */
class InnerCall implements Call<string, unknown, unknown, unknown> {
  readonly #request: FastifyRequest
  readonly #route: Route
  readonly params: Record<string, string>
  readonly query: unknown
  readonly body: unknown
  readonly loaded: unknown
  // Links between pages would lead to the routes of /v1.
  readonly url = ''
  readonly ifMatch = undefined
  readonly lastEventId = undefined
  readonly accept = undefined
  operationId: string | null = null

  constructor(
    request: FastifyRequest,
    route: Route,
    { params, query, body, loaded }: Required<Inquiry> & { loaded: unknown },
  ) {
    this.#request = request
    this.#route = route
    this.params = params
    this.query = query
    this.body = body
    this.loaded = loaded
  }

  get actor(): Actor {
    return actorOf(knownOf(this.#request))
  }

  get visit(): Visit {
    const userAgent = this.#request.headers['user-agent'] ?? ''
    return { address: addressOf(this.#request), userAgent, isSecure: false }
  }

  get signedIn(): never {
    throw notFound({ code: 'person_not_found', status: 404, title: 'No such person' })
  }

  get part(): never {
    throw new Error(`${this.#route.id} takes a part of a file, which this interface does not send`)
  }

  get signal(): AbortSignal {
    return new AbortController().signal
  }

  // Routes destructure these from their call, so each is bound to it.
  // Clients of this interface send no Idempotency-Key.
  readonly remember = async () => {}
  readonly setStatus = () => {}
  readonly setHeader = (name: string, value: string) => {
    if (name === 'location') this.operationId = OPERATION.exec(value)?.[1] ?? null
  }
  readonly report = (report: Report) => {
    knownOf(this.#request).report = report
  }
}
