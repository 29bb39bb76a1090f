import type { FastifyInstance, FastifyBaseLogger as Logger } from 'fastify'
import { accountRoutes } from './accounts/routes.ts'
import { heldByStatus } from './accounts/status.ts'
import { authenticator, validTokens } from './accounts/tokens.ts'
import { billingRoutes } from './billing/routes.ts'
import { BillingWorker } from './billing/worker.ts'
import { Capacity, openPools } from './catalog/capacity.ts'
import type { Catalog } from './catalog/file.ts'
import { catalogRoutes } from './catalog/routes.ts'
import type { Clock } from './clock.ts'
import { type Database, ping } from './database/database.ts'
import type { Drivers } from './drivers/drivers.ts'
import { recordEnd } from './events/operations.ts'
import { eventRoutes } from './events/routes.ts'
import { Streams } from './events/streams.ts'
import { EventWorker } from './events/worker.ts'
import { mountDocs } from './http/docs.ts'
import { mountHealth } from './http/health.ts'
import { Idempotency } from './http/idempotency.ts'
import { openApi } from './http/openapi.ts'
import { RateLimiter, type RateLimits } from './http/rate-limit.ts'
import type { Route } from './http/route.ts'
import { buildHttp } from './http/server.ts'
import { Sampler } from './monitoring/sampler.ts'
import { Engine, type EngineOptions } from './operations/engine.ts'
import { operationRoutes } from './operations/routes.ts'
import { operationSchemas } from './operations/schema.ts'
import { Retention } from './retention.ts'
import type { Secrets } from './secrets.ts'
import { SUBJECT_TYPE } from './servers/lifecycle/operations.ts'
import { serverProcedures } from './servers/lifecycle/procedures.ts'
import { Reconciler } from './servers/lifecycle/reconcile.ts'
import type { PortRange } from './servers/ports.ts'
import { allServers, poweredServers, presentServers } from './servers/queries.ts'
import { reprice } from './servers/repricing.ts'
import { serverRoutes } from './servers/routes.ts'
import { Servers } from './servers/servers.ts'
import { suspendAndResume } from './servers/suspension.ts'
import type { Telemetry } from './telemetry.ts'
import { Addresses, type Range } from './webhooks/addresses.ts'
import { enqueue, forgetDeliveries } from './webhooks/deliveries.ts'
import { countWebhooks } from './webhooks/queries.ts'
import { lookupName } from './webhooks/resolve.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import type { Lookup } from './webhooks/send.ts'
import { WebhookWorker } from './webhooks/worker.ts'

export interface AppOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  catalog: Catalog
  secrets: Secrets
  log: Logger
  sshPorts: PortRange
  rateLimits: RateLimits
  /** How long servers go on after the balance of their account is used up; a day unless told. */
  graceMs?: number
  /** The address that customers' ssh commands name. */
  sshHost: string
  /** Where customers find the API, up to and with /v1; unless told, wherever its description was loaded from. */
  publicUrl?: string | undefined
  /** How often machines are measured; every 10 s unless told. */
  sampleSeconds?: number
  /** Where webhooks may go besides the public internet; nowhere unless told. */
  webhookAllow?: readonly Range[]
  /** Ranges of reverse proxies that are believed who calls; nobody is unless told. */
  trustProxy?: readonly string[]
  /** Finds the addresses of webhooks' hosts; by DNS unless told. */
  lookup?: Lookup
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
  events: EventWorker
  webhooks: WebhookWorker
  retention: Retention
  capacity: Capacity
  servers: Servers
  /** Stops listening, lets running steps end, lets go of machines and the database. Machines keep running. */
  close(): Promise<void>
}

const DAY_MS = 24 * 3600_000

/** What the groups of routes are about, for the API's description. */
const TAGS = {
  Account: 'Who you are: profile, balance, projects, SSH keys, tokens.',
  Catalogue: 'What is on offer: zones, templates, presets, limits, capacity, and what a server would cost.',
  Events: 'What happens in the account: to list, to follow, and to have sent to you; and who changed what.',
  Operations: 'Slow work on what the account has: to list, and to wait for.',
  Servers: 'Virtual machines, and the operations on them.',
}

/** The whole program, wired by hand: database, drivers, features, routes, workers. Nothing runs yet. */
export async function buildApp(options: AppOptions): Promise<App> {
  const { db, clock, drivers, catalog } = options
  await openPools(db, drivers.pools)
  const capacity = new Capacity(drivers, catalog, clock, options.log)
  const { engine, servers, reconciler, sampler, routes: rentRoutes } = renting(options, capacity)
  const { billing, routes: chargeRoutes } = charging(options, engine)
  const { events, webhooks, routes: pushRoutes } = pushing(options)
  const retention = new Retention({ db, clock, log: options.log })
  const routes = heldByStatus([
    ...accountRoutes(db, clock, countWebhooks),
    ...chargeRoutes,
    ...catalogRoutes({ db, clock, catalog, capacity }),
    ...pushRoutes,
    ...rentRoutes,
  ])
  const http = answering(options, routes)
  return {
    http,
    engine,
    reconciler,
    billing,
    sampler,
    events,
    webhooks,
    retention,
    capacity,
    servers,
    close: async () => {
      // The engine first: long polls end with it, so that the listener has nothing to wait for.
      const workers = [engine, reconciler, billing, sampler, events, webhooks, retention]
      await Promise.all(workers.map((worker) => worker.stop()))
      await http.close()
      await drivers.close()
      await db.destroy()
    },
  }
}

/** What carries out what customers do with servers, and watches their machines. */
function renting(options: AppOptions, capacity: Capacity) {
  const { db, clock, drivers, catalog, secrets, log, telemetry, sshPorts, sshHost } = options
  const { graceMs = DAY_MS, sampleSeconds = 10 } = options
  const procedures = {
    [SUBJECT_TYPE]: serverProcedures({ db, clock, drivers, catalog, secrets, sshPorts, log }),
  }
  const schemas = operationSchemas(procedures)
  const engine = new Engine({
    db,
    clock,
    log,
    procedures,
    ended: recordEnd,
    onEnd: telemetry?.operation,
    observe: options.observe,
    saveEveryMs: options.saveEveryMs,
  })
  const servers = new Servers({ db, clock, catalog, capacity, secrets, engine, sshPorts, graceMs })
  const reconciler = new Reconciler({ db, clock, drivers, engine, log })
  const measured = { powered: poweredServers, present: presentServers }
  const sampler = new Sampler({ db, clock, drivers, log, servers: measured, everySeconds: sampleSeconds })
  const details = { db, clock, catalog, capacity, drivers, secrets, sshHost }
  const routes = [
    ...serverRoutes({ ...details, sampleSeconds, servers, engine, operationSchemas: schemas }),
    ...operationRoutes({ db, clock, engine, schemas }),
  ]
  return { engine, servers, reconciler, sampler, routes }
}

/** What money comes and goes by. */
function charging({ db, clock, log, catalog, graceMs = DAY_MS }: AppOptions, engine: Engine) {
  const billing = new BillingWorker({
    db,
    clock,
    log,
    servers: allServers,
    reprice: (now) => reprice(db, catalog, now),
    suspendAndResume: () => suspendAndResume({ db, clock, engine, graceMs }),
  })
  return { billing, routes: billingRoutes({ db, clock, servers: allServers }) }
}

/** What answers requests. */
function answering(options: AppOptions, routes: readonly Route[]): FastifyInstance {
  const { db, clock, drivers, secrets, log, telemetry, rateLimits, trustProxy = [], publicUrl } = options
  const http = buildHttp({
    routes,
    authenticate: authenticator(db, clock),
    rateLimiter: new RateLimiter(rateLimits, clock),
    idempotency: new Idempotency(db, clock, secrets),
    log,
    trustProxy,
    validateReplies: options.validateReplies ?? false,
    observe: telemetry?.request,
  })
  mountDocs(http, openApi(routes, TAGS, publicUrl))
  const compute = drivers.pools.map((pool, at) => {
    return [at === 0 ? 'compute' : `compute_${pool}`, () => drivers.at(pool).host()] as const
  })
  mountHealth(http, [{ database: () => ping(db) }, Object.fromEntries(compute)])
  return http
}

/** What brings events to customers: the relay, streams, webhooks. */
function pushing({
  db,
  clock,
  log,
  secrets,
  webhookAllow = [],
  lookup = (name) => lookupName(name),
}: AppOptions) {
  const addresses = new Addresses(webhookAllow)
  const webhooks = new WebhookWorker({ db, clock, log, secrets, addresses, lookup })
  const streams = new Streams({ db, clock, log, validTokens: (ids) => validTokens(db, clock, ids) })
  const events = new EventWorker({
    db,
    clock,
    log,
    streams,
    publish: (tx, events) => enqueue(tx, events, clock.now()),
    published: () => webhooks.wake(),
    forget: (before, limit) => forgetDeliveries(db, before, limit),
  })
  const routes = [
    ...eventRoutes({ db, worker: events, streams }),
    ...webhookRoutes({ db, clock, secrets, addresses, relay: () => events.relay() }),
  ]
  return { events, webhooks, routes }
}
