import type { FastifyInstance } from 'fastify'
import { adviceOn } from '../catalog/operator.ts'
import { isSqlite, ping } from '../database/database.ts'
import { asCaller } from '../database/line.ts'
import { tags } from '../features.ts'
import { hcloudApi } from '../hcloud/mount.ts'
import { openApi } from '../http/contract/openapi.ts'
import type { Route } from '../http/contract/route.ts'
import { networkOf, RateLimiter } from '../http/limits/rate-limit.ts'
import type { Turns } from '../http/limits/turns.ts'
import { mountDocs } from '../http/server/docs.ts'
import { mountHealth } from '../http/server/health.ts'
import { Idempotency } from '../http/server/idempotency.ts'
import { mountPages } from '../http/server/pages.ts'
import type { SecurityLog } from '../http/server/security-log.ts'
import { buildHttp } from '../http/server/server.ts'
import type { SocketRoute } from '../http/server/websocket.ts'
import { operatorTokens } from '../operator/tokens.ts'
import { mountNotifications } from '../payments/notify.ts'
import type { PaymentWorker } from '../payments/worker.ts'
import { callerFinder, requireOperator } from '../people/access.ts'
import type { Wired } from './options.ts'

interface Parts {
  sockets: readonly SocketRoute[]
  security: SecurityLog
  turns: Turns
  payments: PaymentWorker
  billingPage: () => string | null
}

/** Wires the HTTP server. */
export function answering(
  options: Wired,
  routes: readonly Route[],
  { sockets, security, turns, payments, billingPage }: Parts,
): FastifyInstance {
  const { db, clock, drivers, log, telemetry, rateLimits, trustProxy = [], publicUrl, disk } = options
  const authenticate = callerFinder(db, clock, operatorTokens(db, clock))
  const pages = options.isWorker ? null : (options.pages ?? null)
  const http = buildHttp({
    routes: options.isWorker ? [] : routes,
    sockets: options.isWorker ? [] : sockets,
    otherApis: options.hasHcloud && !options.isWorker ? [hcloudApi(options, routes)] : [],
    hasPages: pages !== null,
    publicUrl,
    authenticate: isSqlite(db)
      ? authenticate
      : (credentials) => asCaller(networkOf(credentials.address), () => authenticate(credentials)),
    ...(isSqlite(db) ? {} : { asCaller }),
    requireOperator: (signedIn) => requireOperator(db, signedIn),
    adviceOn: (code, accountId) => adviceOn(options.catalog, { code, accountId, billingPage: billingPage() }),
    rateLimiter: new RateLimiter(rateLimits, clock, () => options.peers.answering),
    turns,
    idempotency: new Idempotency({ ...options, living: options.peers.living }),
    log,
    clock,
    security,
    disk,
    trustProxy,
    validateReplies: options.validateReplies ?? false,
    observe: telemetry?.request,
  })
  if (!options.isWorker) {
    mountDocs(http, () => openApi(routes, tags, publicUrl))
    mountNotifications(http, payments)
    mountPages(http, pages, () => options.catalog.operator.logoUrl)
  }
  const compute = drivers.pools.map((pool, at) => {
    return [at === 0 ? 'compute' : `compute_${pool}`, () => drivers.at(pool).host()] as const
  })
  mountHealth(http, [{ database: () => ping(db) }, Object.fromEntries(compute)], disk)
  return http
}
