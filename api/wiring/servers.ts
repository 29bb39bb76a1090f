import { ReverseDns } from '../addresses/reverse-dns.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { hostOf } from '../catalog/file.ts'
import { recordEnd } from '../events/operations.ts'
import { recordTogether } from '../events/outbox.ts'
import type { Turns } from '../http/limits/turns.ts'
import { Sampler } from '../monitoring/sampler.ts'
import { NETWORK_SUBJECT } from '../networks/networks.ts'
import { Engine } from '../operations/engine.ts'
import { operationSchemas } from '../operations/schema.ts'
import { BackupSchedule } from '../servers/backups/schedule.ts'
import { requireCover } from '../servers/cover.ts'
import { networkProcedures } from '../servers/lifecycle/attach.ts'
import { Connectivity } from '../servers/lifecycle/connectivity.ts'
import { driveProcedures } from '../servers/lifecycle/drive.ts'
import { serverProcedures } from '../servers/lifecycle/procedures.ts'
import { Reconciler } from '../servers/lifecycle/reconcile.ts'
import { DRIVE_SUBJECT, SERVER_SUBJECT } from '../servers/operations.ts'
import { Orders } from '../servers/order/orders.ts'
import { pooledServers, poweredServers, protectedServers } from '../servers/queries.ts'
import { serverRows } from '../servers/rows.ts'
import { serverProblems } from '../servers/schema.ts'
import { Servers } from '../servers/servers.ts'
import { imageProcedures } from '../snapshots/image-import.ts'
import { IMAGE_SUBJECT, ISO_SUBJECT } from '../snapshots/images.ts'
import { VOLUME_SUBJECT } from '../volumes/operations.ts'
import { volumeProcedures } from '../volumes/procedures.ts'
import { Addresses } from '../webhooks/addresses.ts'
import { lookupName } from '../webhooks/resolve.ts'
import type { Wired } from './options.ts'

const DAY_MS = 24 * 3600_000

/** Wires the parts that carry out orders of servers and watch machines. */
export function renting(options: Wired, capacity: Capacity, turns: Turns) {
  const { db, clock, drivers, catalog, secrets, log, telemetry, sshPorts, sshHost, peers, offsite } = options
  const { graceMs = DAY_MS, sampleSeconds = 10 } = options
  const connectivity = new Connectivity({ db, drivers, log })
  const { downloadAllow = [], lookup = (name) => lookupName(name) } = options
  const downloads = { clock, lookup, addresses: new Addresses(downloadAllow) }
  const steps = { db, clock, drivers, downloads, connectivity, offsite, catalog, secrets, sshPorts, log }
  const changed = (serverIds: readonly string[]) => connectivity.changed(serverIds)
  const procedures = {
    [SERVER_SUBJECT]: serverProcedures(steps),
    [NETWORK_SUBJECT]: networkProcedures(steps),
    [IMAGE_SUBJECT]: imageProcedures({ ...steps, requireCover }),
    [ISO_SUBJECT]: imageProcedures({ ...steps, requireCover }),
    [DRIVE_SUBJECT]: driveProcedures(steps),
    [VOLUME_SUBJECT]: volumeProcedures(steps),
  }
  const schemas = operationSchemas(procedures)
  const engine = new Engine({
    ...{ db, clock, log, procedures, peers, owner: options.owner },
    ended: recordEnd,
    together: recordTogether,
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
  const backups = new BackupSchedule({ ...watching, engine, offsite })
  const measured = { powered: poweredServers, present: pooledServers }
  const sampler = new Sampler({ ...watching, servers: measured, everySeconds: sampleSeconds })
  const reverseDns = new ReverseDns({ db, clock, log, peers, settings: options.rdns ?? null })
  const parts = {
    downloads,
    ...leading,
    ...{ engine, orders, servers, operationSchemas: schemas, sampleSeconds, graceMs, protectedServers },
    ...{ serverRows, requireCover },
    serverNotFound: serverProblems.server_not_found,
  }
  return { engine, servers, connectivity, reconciler, backups, sampler, reverseDns, parts }
}
