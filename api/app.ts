import type { FastifyInstance } from 'fastify'
import { heldByStatus } from './accounts/status.ts'
import { Capacity } from './catalog/capacity.ts'
import { openPools } from './catalog/usage.ts'
import { Consoles } from './consoles/consoles.ts'
import { FullDisk } from './database/full-disk.ts'
import type { EventWorker } from './events/worker.ts'
import { cleaning, eventScopes, features, quotas } from './features.ts'
import { Turns } from './http/limits/turns.ts'
import { Departure } from './http/server/departure.ts'
import { SecurityLog } from './http/server/security-log.ts'
import type { MailQueue } from './mail/queue.ts'
import type { Sampler } from './monitoring/sampler.ts'
import type { Engine } from './operations/engine.ts'
import { CredentialAccess } from './people/access.ts'
import { roleNow } from './people/membership/members.ts'
import { personOf } from './people/person/people.ts'
import { noPeers } from './processes/peers.ts'
import { Retention } from './retention.ts'
import type { Connectivity } from './servers/lifecycle/connectivity.ts'
import type { Reconciler } from './servers/lifecycle/reconcile.ts'
import type { Servers } from './servers/servers.ts'
import { Offsite } from './snapshots/offsite.ts'
import type { WebhookWorker } from './webhooks/worker.ts'
import { charging } from './wiring/billing.ts'
import { pushing } from './wiring/events.ts'
import { answering } from './wiring/listener.ts'
import type { AppOptions, Wired } from './wiring/options.ts'
import { signingIn } from './wiring/people.ts'
import { renting } from './wiring/servers.ts'

export interface App
  extends Pick<
    ReturnType<typeof charging>,
    | 'abuse'
    | 'complaintMails'
    | 'documentMails'
    | 'limitMails'
    | 'serviceMails'
    | 'limitKeeper'
    | 'billing'
    | 'payments'
  > {
  http: FastifyInstance
  engine: Engine
  connectivity: Connectivity
  reconciler: Reconciler
  backups: ReturnType<typeof renting>['backups']
  offsite: Offsite
  sampler: Sampler
  reverseDns: ReturnType<typeof renting>['reverseDns']
  events: EventWorker
  webhooks: WebhookWorker
  retention: Retention
  consoles: Consoles
  mails: MailQueue
  security: SecurityLog
  capacity: Capacity
  servers: Servers
  /** Stops listening, waits for running steps, and closes drivers and database. Machines keep running. */
  close(lingerMs?: number): Promise<void>
}

/** The whole program, wired by hand: database, drivers, features, routes, workers. Nothing runs yet. */
export async function buildApp(given: AppOptions): Promise<App> {
  const { peers: others = noPeers(), recent = (read) => read(given.db) } = given
  const { disk = new FullDisk(given.clock) } = given
  const offsite = new Offsite({ ...given, peers: others, vault: given.vault ?? null })
  const options: Wired = { ...given, peers: others, recent, disk, offsite }
  const { db, clock, drivers, catalog, peers } = options
  const turns = new Turns()
  await openPools(db, drivers.pools)
  const capacity = new Capacity(drivers, catalog, clock, options.log)
  const access = new CredentialAccess(db, clock)
  const consoles = new Consoles({ ...options, access })
  const { parts: rentParts, ...rented } = renting(options, capacity, turns)
  const { engine, connectivity, reconciler, backups, sampler, reverseDns } = rented
  const { mails, parts: signInParts } = signingIn(options)
  const { parts: chargeParts, ...charged } = charging(options, engine, signInParts)
  const { abuse, complaintMails, documentMails, limitMails, serviceMails } = charged
  const { limitKeeper, billing, payments } = charged
  const { events, webhooks, parts: pushParts } = pushing(options, access)
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
  const { log, securityLog = log, telemetry } = options
  const security = new SecurityLog({ log: securityLog, clock, count: telemetry?.security })
  const http = answering(options, routes, {
    ...{ sockets: [consoles.socket], security, turns, payments, ...chargeParts },
  })
  const departure = new Departure(http)
  return {
    ...{ http, ...rented, ...charged, offsite },
    ...{ events, webhooks, retention, consoles, mails, security, capacity },
    close: async (lingerMs = 0) => {
      departure.begin()
      // The engine is stopped first. Long polls and consoles end with it, so that the listener need not wait for them.
      const telling = [events, webhooks, consoles, mails]
      const watching = [engine, reconciler, backups, offsite, sampler, abuse]
      const mailing = [complaintMails, documentMails, limitMails, serviceMails]
      const keeping = [limitKeeper, billing, payments, reverseDns, retention]
      const workers = [...watching, ...mailing, ...keeping, ...telling]
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
