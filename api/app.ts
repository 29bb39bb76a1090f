import type { FastifyInstance, FastifyBaseLogger as Logger } from 'fastify'
import { heldByStatus } from './accounts/status.ts'
import { addressQuota } from './addresses/addresses.ts'
import { BillingWorker } from './billing/worker.ts'
import { Capacity } from './catalog/capacity.ts'
import { type Catalog, hostOf } from './catalog/file.ts'
import { openPools } from './catalog/usage.ts'
import type { Clock } from './clock.ts'
import type { ProviderSettings } from './config.ts'
import { Consoles } from './consoles/consoles.ts'
import { type Database, isSqlite, ping } from './database/database.ts'
import { asCaller } from './database/line.ts'
import type { RecentReads } from './database/replica.ts'
import type { PortRange } from './drivers/driver.ts'
import type { Drivers } from './drivers/drivers.ts'
import { recordEnd } from './events/operations.ts'
import { Streams } from './events/streams.ts'
import { EventWorker } from './events/worker.ts'
import { cleaning, eventScopes, features, quotas, tags } from './features.ts'
import type { Access } from './http/contract/auth.ts'
import { openApi } from './http/contract/openapi.ts'
import type { Route } from './http/contract/route.ts'
import { networkOf, RateLimiter, type RateLimits } from './http/limits/rate-limit.ts'
import { Turns } from './http/limits/turns.ts'
import { Departure } from './http/server/departure.ts'
import { mountDocs } from './http/server/docs.ts'
import { mountHealth } from './http/server/health.ts'
import { Idempotency } from './http/server/idempotency.ts'
import { mountPages, type Pages } from './http/server/pages.ts'
import { SecurityLog } from './http/server/security-log.ts'
import { buildHttp } from './http/server/server.ts'
import type { SocketRoute } from './http/server/websocket.ts'
import type { Mailer } from './mail/mailer.ts'
import { MailQueue } from './mail/queue.ts'
import { Sampler } from './monitoring/sampler.ts'
import { NETWORK_SUBJECT } from './networks/networks.ts'
import { Engine, type EngineOptions } from './operations/engine.ts'
import { operationSchemas } from './operations/schema.ts'
import { CredentialAccess, callerFinder, requireOperator } from './people/access.ts'
import { Passwords } from './people/guard/passwords.ts'
import { roleNow } from './people/membership/members.ts'
import { personOf } from './people/person/people.ts'
import type { SignUpPolicy } from './people/sign-in/admission.ts'
import { noPeers, type Peers } from './processes/peers.ts'
import { Retention } from './retention.ts'
import type { Secrets } from './secrets.ts'
import { missingToResume, requireCover } from './servers/commitment.ts'
import { networkProcedures } from './servers/lifecycle/attach.ts'
import { Connectivity } from './servers/lifecycle/connectivity.ts'
import { serverProcedures } from './servers/lifecycle/procedures.ts'
import { Reconciler } from './servers/lifecycle/reconcile.ts'
import { SERVER_SUBJECT } from './servers/operations.ts'
import { Orders } from './servers/order/orders.ts'
import {
  allServers,
  billedItems,
  poweredServers,
  presentServers,
  protectedServers,
} from './servers/queries.ts'
import { reprice } from './servers/repricing.ts'
import { serverRows } from './servers/rows.ts'
import { serverProblems } from './servers/schema.ts'
import { Servers } from './servers/servers.ts'
import { suspendAndResume } from './servers/suspension.ts'
import type { Telemetry } from './telemetry.ts'
import { Addresses, type Range } from './webhooks/addresses.ts'
import { enqueue, forgetDeliveries } from './webhooks/deliveries.ts'
import { lookupName } from './webhooks/resolve.ts'
import type { Lookup } from './webhooks/send.ts'
import { WebhookWorker } from './webhooks/worker.ts'

export interface AppOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  catalog: Catalog
  secrets: Secrets
  log: Logger
  /** Receives the security log (default: the other log). */
  securityLog?: Logger | undefined
  sshPorts: PortRange
  rateLimits: RateLimits
  /** The time that servers keep running after the account's balance is used up (default: a day). */
  graceMs?: number
  /** The time after which suspended servers are deleted (default: never). */
  keepSuspendedMs?: number | null
  /** The address that customers' ssh commands name. */
  sshHost: string
  /** The URL of the API, including /v1 (default: the address that its description was loaded from). */
  publicUrl?: string | undefined
  /** The interval of measurements of machines (default: 10 s). */
  sampleSeconds?: number
  /** Ranges that webhooks may reach besides the public internet (default: none). */
  webhookAllow?: readonly Range[]
  /** Ranges of reverse proxies whose X-Forwarded-For is trusted (default: none). */
  trustProxy?: readonly string[]
  /** Resolves the names of webhooks' hosts (default: DNS). */
  lookup?: Lookup
  /** Sends mails (default: they stay in the queue). */
  mailer?: Mailer
  /** Hashes passwords (default: at the service's own cost). */
  passwords?: Passwords
  /** The people who can sign up (default: everybody). */
  signUp?: SignUpPolicy
  /** The OpenID Connect provider that people can sign in with (default: none). */
  oidc?: ProviderSettings | null
  /** Where people open the console, for the links in mails. */
  siteUrl?: () => string
  /** The console as it was built; without one `/` leads to the API's documentation. */
  pages?: Pages | null
  /** Whether people can use a console somewhere (default: yes). */
  hasConsole?: boolean
  /** Where the operator watches the service. */
  telemetry?: Telemetry | undefined
  /** Runs reads that may be a second old (default: on the database). */
  recent?: RecentReads
  /** The other processes that serve the same database (default: none). */
  peers?: Peers
  /** By which name this process takes work. */
  owner?: string
  /** Whether it answers no requests but those for its health. */
  isWorker?: boolean
  /** For tests: undocumented replies fail, each step can be watched, and is written down or not. */
  validateReplies?: boolean
  observe?: NonNullable<EngineOptions['observe']>
  saveEveryMs?: number
}

export interface App {
  http: FastifyInstance
  engine: Engine
  connectivity: Connectivity
  reconciler: Reconciler
  billing: BillingWorker
  sampler: Sampler
  events: EventWorker
  webhooks: WebhookWorker
  retention: Retention
  consoles: Consoles
  mails: MailQueue
  security: SecurityLog
  capacity: Capacity
  servers: Servers
  /** Stops listening, lets running steps end, lets go of machines and the database. Machines keep running. */
  close(lingerMs?: number): Promise<void>
}

/** The options with their defaults. */
type Wired = AppOptions & { peers: Peers; recent: RecentReads }

const DAY_MS = 24 * 3600_000

/** The whole program, wired by hand: database, drivers, features, routes, workers. Nothing runs yet. */
export async function buildApp(given: AppOptions): Promise<App> {
  const { peers: others = noPeers(), recent = (read) => read(given.db) } = given
  const options: Wired = { ...given, peers: others, recent }
  const { db, clock, drivers, catalog, peers } = options
  const turns = new Turns()
  await openPools(db, drivers.pools)
  const capacity = new Capacity(drivers, catalog, clock, options.log)
  const access = new CredentialAccess(db, clock)
  const consoles = new Consoles({ ...options, access })
  const { parts: rentParts, ...rented } = renting(options, capacity, turns)
  const { engine, connectivity, reconciler, sampler } = rented
  const { billing, parts: chargeParts } = charging(options, engine)
  const { events, webhooks, parts: pushParts } = pushing(options, access)
  const { mails, parts: signInParts } = signingIn(options)
  const retention = new Retention({ db, clock, log: options.log, peers, cleaning: cleaning() })
  const parts = {
    ...options,
    ...{ capacity, consoles, eventScopes, quotas, roleNow, personOf },
    ...rentParts,
    ...chargeParts,
    ...pushParts,
    ...signInParts,
  }
  const routes = heldByStatus(features.flatMap((feature) => feature.routes(parts)))
  const security = watching(options)
  const http = answering(options, routes, { sockets: [consoles.socket], security, turns })
  const departure = new Departure(http)
  return {
    http,
    ...rented,
    billing,
    events,
    webhooks,
    retention,
    consoles,
    mails,
    security,
    capacity,
    close: async (lingerMs = 0) => {
      departure.begin()
      // The engine first: long polls and consoles end with these, so that the listener has nothing to wait for.
      const workers = [engine, reconciler, billing, sampler, events, webhooks, retention, consoles, mails]
      await Promise.all(workers.map((worker) => worker.stop()))
      await departure.end(lingerMs)
      await connectivity.settled()
      await security.stop()
      await peers.stop()
      await drivers.close()
      await db.destroy()
    },
  }
}

/** Wires the parts that carry out orders of servers and watch machines. */
function renting(options: Wired, capacity: Capacity, turns: Turns) {
  const { db, clock, drivers, catalog, secrets, log, telemetry, sshPorts, sshHost, peers } = options
  const { graceMs = DAY_MS, sampleSeconds = 10 } = options
  const connectivity = new Connectivity({ db, drivers, log })
  const steps = { db, clock, drivers, connectivity, catalog, secrets, sshPorts, log }
  const changed = (serverIds: readonly string[]) => connectivity.changed(serverIds)
  const procedures = {
    [SERVER_SUBJECT]: serverProcedures(steps),
    [NETWORK_SUBJECT]: networkProcedures(steps),
  }
  const schemas = operationSchemas(procedures)
  const engine = new Engine({
    ...{ db, clock, log, procedures, peers, owner: options.owner },
    ended: recordEnd,
    onEnd: telemetry?.operation,
    takeTurn: (accountId) => turns.take(accountId),
    observe: options.observe,
    saveEveryMs: options.saveEveryMs,
  })
  const leading = { changed, sshPorts, sshHost, hostOf: (zone: string) => hostOf(catalog, zone, sshHost) }
  const orders = new Orders({ db, clock, catalog, capacity, secrets, engine, ...leading })
  const servers = new Servers({ db, clock, catalog, capacity, engine, changed, graceMs })
  const watching = { db, clock, drivers, log, peers }
  const reconciler = new Reconciler({ ...watching, engine, connectivity })
  const measured = { powered: poweredServers, present: presentServers }
  const sampler = new Sampler({ ...watching, servers: measured, everySeconds: sampleSeconds })
  const parts = {
    ...leading,
    ...{ engine, orders, servers, operationSchemas: schemas, sampleSeconds, protectedServers },
    ...{ serverRows, requireCover },
    serverNotFound: serverProblems.server_not_found,
  }
  return { engine, servers, connectivity, reconciler, sampler, parts }
}

/** Wires the parts that charge accounts and book payments. */
function charging(options: Wired, engine: Engine) {
  const { db, clock, log, catalog, peers, graceMs = DAY_MS, keepSuspendedMs = null } = options
  const billing = new BillingWorker({
    db,
    clock,
    log,
    peers,
    items: billedItems,
    reprice: (now) => reprice(db, catalog, now),
    suspendAndResume: () => suspendAndResume({ db, clock, engine, graceMs, keepSuspendedMs }),
  })
  const missing = (accountId: string) => missingToResume(db, accountId)
  return { billing, parts: { billedItems, allServers, missingToResume: missing } }
}

/** Wires the HTTP server. */
function answering(
  options: Wired,
  routes: readonly Route[],
  { sockets, security, turns }: { sockets: readonly SocketRoute[]; security: SecurityLog; turns: Turns },
): FastifyInstance {
  const { db, clock, drivers, secrets, log, telemetry, rateLimits, trustProxy = [], publicUrl } = options
  const authenticate = callerFinder(db, clock)
  const pages = options.isWorker ? null : (options.pages ?? null)
  const http = buildHttp({
    routes: options.isWorker ? [] : routes,
    sockets: options.isWorker ? [] : sockets,
    hasPages: pages !== null,
    publicUrl,
    authenticate: isSqlite(db)
      ? authenticate
      : (credentials) => asCaller(networkOf(credentials.address), () => authenticate(credentials)),
    ...(isSqlite(db) ? {} : { asCaller }),
    requireOperator: (signedIn) => requireOperator(db, signedIn),
    rateLimiter: new RateLimiter(rateLimits, clock, () => options.peers.answering),
    turns,
    idempotency: new Idempotency(db, clock, secrets),
    log,
    clock,
    security,
    trustProxy,
    validateReplies: options.validateReplies ?? false,
    observe: telemetry?.request,
  })
  if (!options.isWorker) {
    mountDocs(http, openApi(routes, tags, publicUrl))
    mountPages(http, pages)
  }
  const compute = drivers.pools.map((pool, at) => {
    return [at === 0 ? 'compute' : `compute_${pool}`, () => drivers.at(pool).host()] as const
  })
  mountHealth(http, [{ database: () => ping(db) }, Object.fromEntries(compute)])
  return http
}

/** Where the operator sees who tries what. */
function watching({ log, securityLog = log, clock, telemetry }: AppOptions): SecurityLog {
  return new SecurityLog({ log: securityLog, clock, count: telemetry?.security })
}

/** Wires sign-in and its mails. */
function signingIn(options: Wired) {
  const {
    db,
    clock,
    log,
    secrets,
    signUp = 'open',
    mailer = NO_MAILER,
    passwords = new Passwords(),
    peers,
  } = options
  const { siteUrl = () => 'http://127.0.0.1:8080', oidc = null, hasConsole = true } = options
  const mails = new MailQueue({ db, clock, log, secrets, mailer })
  peers.on('mailed', () => mails.wake())
  const parts = {
    ...{ passwords, signUp, siteUrl, oidc, hasConsole, countAddresses: addressQuota.count },
    mailed: () => peers.ring('mailed'),
  }
  return { mails, parts }
}

const NO_MAILER: Mailer = {
  place: 'nowhere',
  send: () => Promise.reject(new Error('there is nothing that takes mails')),
  close: () => {},
}

/** Wires the parts that deliver events to customers: the relay, streams, webhooks. */
function pushing(options: Wired, access: Access) {
  const { db, clock, log, secrets, webhookAllow = [], lookup = (name) => lookupName(name) } = options
  const { peers, owner } = options
  const addresses = new Addresses(webhookAllow)
  const webhooks = new WebhookWorker({ db, clock, log, secrets, addresses, lookup, peers, owner })
  const streams = new Streams({ db, clock, log, access, eventScopes })
  const events = new EventWorker({
    db,
    clock,
    log,
    streams,
    publish: (tx, events) => enqueue(tx, events, clock.now()),
    peers,
    forget: (before, limit) => forgetDeliveries(db, before, limit),
  })
  return { events, webhooks, parts: { eventWorker: events, streams, addresses, relay: () => events.relay() } }
}
