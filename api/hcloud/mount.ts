import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { KeyedMutex } from '../concurrency.ts'
import type { Database } from '../database/database.ts'
import { acceptedFor } from '../http/contract/auth.ts'
import { invalid } from '../http/contract/problem.ts'
import { HCLOUD_PREFIX, type Route } from '../http/contract/route.ts'
import { compileCheck } from '../http/contract/validation.ts'
import { Recent } from '../http/limits/recent.ts'
import type { MountedApi } from '../http/server/server.ts'
import type { Operation } from '../operations/schema.ts'
import { actionRoutes } from './actions.ts'
import { addressRoutes } from './addresses.ts'
import { catalogueRoutes } from './catalogue.ts'
import { sendHcloudError } from './errors.ts'
import { Exchange, type HcloudParts, type HcloudRoute } from './exchange.ts'
import { firewallRoutes } from './firewalls.ts'
import { imageRoutes } from './images.ts'
import { Interior } from './interior.ts'
import { isoRoutes } from './isos.ts'
import { metricRoutes } from './metrics.ts'
import { networkRoutes } from './networks.ts'
import { Numbers } from './numbers.ts'
import { serverActionRoutes } from './server-actions.ts'
import { serverRoutes } from './servers.ts'
import { sshKeyRoutes } from './ssh-keys.ts'
import { volumeRoutes } from './volumes.ts'

/** The routes of the hcloud interface. */
export const routes: readonly HcloudRoute[] = [
  ...actionRoutes,
  ...catalogueRoutes,
  ...imageRoutes,
  ...isoRoutes,
  ...serverRoutes,
  ...serverActionRoutes,
  ...metricRoutes,
  ...sshKeyRoutes,
  ...networkRoutes,
  ...firewallRoutes,
  ...volumeRoutes,
  ...addressRoutes,
]

const MOST_ENDED = 10_000
const MOST_SHARED = 100
/** A token must hold one of these scopes; the routes of /v1 decide which. */
const READS = [...acceptedFor['servers:read'], ...acceptedFor['account:read']]
const WRITES = [...acceptedFor['servers:write'], ...acceptedFor['account:write']]

/**
 * The interface for tools that speak the hcloud API: a translation to the routes of /v1, in a Fastify context
 * of its own.
 * @param own the routes of /v1
 */
export function hcloudApi({ db, clock }: { db: Database; clock: Clock }, own: readonly Route[]): MountedApi {
  const parts = {
    db,
    interior: new Interior(own),
    numbers: new Numbers(db, clock),
    shared: new Recent<{ at: number; value: unknown }>(MOST_SHARED),
    ended: new Recent<Operation>(MOST_ENDED),
    seen: new Recent<true>(MOST_ENDED),
    naming: new KeyedMutex(),
    clock,
  }
  return {
    prefix: HCLOUD_PREFIX,
    sendError: sendHcloudError,
    mount: (http) => {
      http.addHook('onSend', limits(clock))
      for (const route of routes) mount(http, route, parts)
    },
  }
}

function mount(
  http: FastifyInstance,
  { method, path, status = method === 'POST' ? 201 : 200, body, isPoll, run }: HcloudRoute,
  parts: HcloudParts,
): void {
  const check = body && compileCheck('body', body)
  // Requests of an account that set names run one after the other, so that a name found free stays free.
  const isNaming = method === 'PUT' || (method === 'POST' && !path.includes(':'))
  http.route({
    method,
    url: path,
    config: {
      action: `hcloud ${method} ${path}`,
      accepted: method === 'GET' ? READS : WRITES,
      ...(isPoll ? { isPoll } : {}),
    },
    handler: async (request, reply) => {
      // A caller without a suitable token is refused before the body is read.
      const x = new Exchange(request, parts)
      const given = withoutNulls(request.body ?? {})
      const issues = check?.(given) ?? []
      if (issues.length > 0) throw invalid(issues)
      const result = await (isNaming ? parts.naming.run(x.accountId, () => run(x, given)) : run(x, given))
      await x.settle()
      reply.code(result ? status : 204).header('cache-control', 'no-store')
      if (typeof result !== 'string') return reply.send(result)
      // The bytes are made once: a header needs their number, and the connection sends them unchanged.
      return reply.type('application/json; charset=utf-8').send(Buffer.from(result))
    },
  })
}

/** Removes nulls, which clients send for omitted fields. The parser limits the depth of the body. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}

/** Adds the rate-limit headers that these clients read to the standard ones. */
function limits(clock: Clock) {
  return (
    _request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (e: null, p: unknown) => void,
  ) => {
    const limit = /;q=(\d+)/.exec(String(reply.getHeader('ratelimit-policy')))?.[1]
    const [, rest, seconds] = /;r=(\d+);t=(\d+)/.exec(String(reply.getHeader('ratelimit'))) ?? []
    if (limit !== undefined && rest !== undefined)
      reply.headers({
        'ratelimit-limit': limit,
        'ratelimit-remaining': rest,
        'ratelimit-reset': String(Math.ceil(clock.now() / 1000) + Number(seconds)),
      })
    done(null, payload)
  }
}
