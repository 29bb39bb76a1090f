import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { invalid, notFound } from '../http/contract/problem.ts'
import type { Route } from '../http/contract/route.ts'
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
  /** The operation that the request began, if the route names it. */
  operationId: string | null
}

interface Inner {
  route: Route
  checkQuery: Check
  checkBody: Check
}

const OPERATION = /\/operations\/([0-9a-f-]{36})$/

/**
 * Calls routes of /v1 on behalf of a request to another interface. All rules are theirs: scopes, the status of the
 * account, the schemas of bodies.
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
          checkBody: compileCheck('body', route.body ?? Type.Object({})),
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
    const known = knownOf(request)
    const actor = actorOf(known)
    requireScope(route, actor)
    const loaded = await route.load?.({ actor, params })
    const issues = [...inner.checkQuery(query), ...inner.checkBody(body)]
    if (issues.length > 0) throw invalid(issues)
    lowerIds(body)
    let operationId: string | null = null
    const visit = {
      address: addressOf(request),
      userAgent: request.headers['user-agent'] ?? '',
      isSecure: false,
    }
    const origin = {
      action: id,
      requestId: request.id,
      address: visit.address,
      tokenId: actor.tokenId,
      person: null,
    }
    const run = () =>
      route.run({
        ...{ actor, visit, params, query, body, loaded },
        get signedIn(): never {
          throw notFound({ code: 'person_not_found', status: 404, title: 'No such person' })
        },
        get part(): never {
          throw new Error(`${id} takes a part of a file, which this interface does not send`)
        },
        signal: new AbortController().signal,
        url: request.url,
        ifMatch: undefined,
        lastEventId: undefined,
        // Clients of this interface send no Idempotency-Key.
        remember: async () => {},
        setHeader: (name, value) => {
          if (name === 'location') operationId = OPERATION.exec(value)?.[1] ?? null
        },
        setStatus: () => {},
        report: (report) => {
          known.report = report
        },
      })
    return { body: await onBehalfOf(origin, run), operationId }
  }
}
