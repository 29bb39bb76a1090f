import type { FastifyInstance, FastifyBaseLogger as Logger } from 'fastify'
import { accountRoutes } from './accounts/routes.ts'
import { authenticator } from './accounts/tokens.ts'
import { billingRoutes } from './billing/routes.ts'
import { Capacity, openPool } from './catalog/capacity.ts'
import type { Catalog } from './catalog/file.ts'
import { catalogRoutes } from './catalog/routes.ts'
import type { Clock } from './clock.ts'
import { type Database, ping } from './database/database.ts'
import type { Driver } from './drivers/driver.ts'
import { mountDocs } from './http/docs.ts'
import { mountHealth } from './http/health.ts'
import { Idempotency } from './http/idempotency.ts'
import { openApi } from './http/openapi.ts'
import { RateLimiter, type RateLimits } from './http/rate-limit.ts'
import type { Route } from './http/route.ts'
import { buildHttp } from './http/server.ts'
import { Sampler } from './monitoring/sampler.ts'
import { Engine, type EngineOptions } from './operations/engine.ts'
import type { Secrets } from './secrets.ts'
import { BillingWorker } from './servers/billing-worker.ts'
import type { PortRange } from './servers/ports.ts'
import { procedures } from './servers/procedures.ts'
import { Reconciler } from './servers/reconcile.ts'
import { serverRoutes } from './servers/routes.ts'
import { Servers } from './servers/servers.ts'
import type { Telemetry } from './telemetry.ts'

export interface AppOptions {
  db: Database
  clock: Clock
  driver: Driver
  catalog: Catalog
  secrets: Secrets
  log: Logger
  sshPorts: PortRange
  rateLimits: RateLimits
  /** How long servers go on after the balance of their account is used up; a day unless told. */
  graceMs?: number
  /** The address that customers' ssh commands name. */
  sshHost: string
  /** How often machines are measured; every 10 s unless told. */
  sampleSeconds?: number
  /** Where the operator watches the service. */
  telemetry?: Telemetry | undefined
  /** For tests: undocumented replies fail, each step can be watched, and is written down or not. */
  validateReplies?: boolean
  observe?: NonNullable<EngineOptions['observe']>
  saveEveryMs?: number
}

export interface App {
  http: FastifyInstance
  engine: Engine
  reconciler: Reconciler
  billing: BillingWorker
  sampler: Sampler
  capacity: Capacity
  servers: Servers
  /** Stops listening, lets running steps end, lets go of machines and the database. Machines keep running. */
  close(): Promise<void>
}

/** The whole program, wired by hand: database, driver, features, routes, worker. Nothing runs yet. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { db, clock, driver, catalog, secrets, log, sshPorts, sshHost, telemetry } = options
  await openPool(db)
  const capacity = new Capacity(driver, catalog, clock)
  const engine = new Engine({
    db,
    clock,
    log,
    procedures: procedures({ db, clock, driver, catalog, secrets, sshPorts }),
    ...(telemetry ? { ended: (end) => telemetry.operation(end) } : {}),
    ...(options.observe ? { observe: options.observe } : {}),
    ...(options.saveEveryMs === undefined ? {} : { saveEveryMs: options.saveEveryMs }),
  })
  const servers = new Servers({ db, clock, catalog, capacity, secrets, engine, sshPorts })
  const graceMs = options.graceMs ?? 24 * 3600_000
  const billing = new BillingWorker({ db, clock, catalog, engine, log, graceMs })
  const reconciler = new Reconciler({ db, clock, driver, engine, log })
  const sampler = new Sampler({ db, clock, driver, log, everySeconds: options.sampleSeconds ?? 10 })
  const routes: Route[] = [
    ...accountRoutes(db, clock),
    ...billingRoutes(db, clock),
    ...catalogRoutes({ db, clock, catalog, capacity }),
    ...serverRoutes({ db, clock, catalog, capacity, driver, secrets, sshHost, servers, engine }),
  ]
  const http = buildHttp({
    routes,
    authenticate: authenticator(db, clock),
    rateLimiter: new RateLimiter(options.rateLimits, clock),
    idempotency: new Idempotency(db, clock, secrets),
    log,
    validateReplies: options.validateReplies ?? false,
    ...(telemetry ? { observe: (request) => telemetry.request(request) } : {}),
  })
  mountDocs(http, openApi(routes))
  mountHealth(http, { database: () => ping(db), compute: () => driver.host() })
  return {
    http,
    engine,
    reconciler,
    billing,
    sampler,
    capacity,
    servers,
    close: async () => {
      // The engine first: long polls end with it, so that the listener has nothing to wait for.
      await Promise.all([engine.stop(), reconciler.stop(), billing.stop(), sampler.stop()])
      await http.close()
      await driver.close()
      await db.destroy()
    },
  }
}
