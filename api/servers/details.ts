import { hash } from 'node:crypto'
import { findProject } from '../accounts/projects.ts'
import { projectView } from '../accounts/view.ts'
import { monthCost, monthStart, wholeSecond } from '../billing/accrual.ts'
import { ratesSince } from '../billing/rates.ts'
import { type Capacity, fits, roomIn } from '../catalog/capacity.ts'
import { findTemplate, findZone } from '../catalog/file.ts'
import { presetPrice, sizeOf } from '../catalog/plans.ts'
import { pricesAt } from '../catalog/prices.ts'
import { presetView, templateView, zoneView } from '../catalog/view.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { ServerTable } from '../database/schema.ts'
import type { HostKey } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { type Actor, holds } from '../http/auth.ts'
import { isoTimeOrNull } from '../http/fields.ts'
import { notFound } from '../http/problem.ts'
import { formatMoney } from '../money.ts'
import { findActive } from '../operations/operations.ts'
import type { Secrets } from '../secrets.ts'
import { BOOT_TIMEOUT } from './lifecycle/boot.ts'
import { subjectOf } from './lifecycle/operations.ts'
import { type ServerDetails, serverProblems } from './schema.ts'
import { allowedActions } from './states.ts'
import { type SshPlace, serverView, sshView, storedKeys } from './view.ts'

export interface DetailsOptions extends SshPlace {
  db: Database
  clock: Clock
  capacity: Capacity
  drivers: Drivers
  secrets: Secrets
}

/** The details of a server: names, SSH access, costs, allowed actions. */
export async function serverDetails(
  options: DetailsOptions,
  actor: Actor,
  server: ServerTable,
): Promise<ServerDetails> {
  const { db, drivers } = options
  const [active, project] = await Promise.all([
    findActive(db, subjectOf(server.server_id)),
    findProject(db, server.account_id, server.project_id),
  ])
  if (!project) throw notFound(serverProblems.server_not_found)
  return {
    ...serverView(options, server, active),
    project: projectView(project),
    ...(await offers(options, server)),
    network: {
      hostname: server.name,
      mac: server.mac,
      ipv4: guestAddress(drivers, server),
      ipv6: null,
    },
    user_data_sha256: userDataHash(options, server),
    ssh: sshCard(options, actor, server),
    billing: {
      price_hour_rub: formatMoney(server.price_hour, 4),
      price_month_rub: formatMoney(server.price_month),
      billed_since: isoTimeOrNull(server.billed_since),
      month_to_date_rub: formatMoney(await monthToDate(options, server)),
      is_billed_when_stopped: true,
    },
    allowed_actions: allowedActions(server),
  }
}

/** Lets a client see whether its user data is what the server was created with, which is kept sealed. */
function userDataHash({ secrets }: DetailsOptions, { user_data }: ServerTable): string | null {
  return user_data === null ? null : hash('sha256', secrets.open(user_data))
}

function guestAddress(drivers: Drivers, { server_id, pool }: ServerTable): ServerDetails['network']['ipv4'] {
  const { ipv4 } = drivers.at(pool).network(server_id)
  return ipv4 && { address: ipv4.address, prefix_length: ipv4.prefixLength, gateway: ipv4.gateway }
}

/** What the server has cost in this calendar month, to the second. @returns units */
async function monthToDate({ db, clock }: DetailsOptions, { server_id }: ServerTable): Promise<number> {
  const now = wholeSecond(clock.now())
  const rates = await ratesSince(db, [server_id], monthStart(now))
  return monthCost(rates.get(server_id) ?? [], now)
}

/** Zone, template and preset as the catalogue has them now; null where the operator took one off. */
async function offers({ db, clock, catalog, capacity }: DetailsOptions, server: ServerTable) {
  const zone = findZone(catalog, server.zone_slug)
  const template = findTemplate(catalog, server.template_id)
  const preset = catalog.presets.find((candidate) => candidate.presetId === server.preset_id)
  const prices = pricesAt(catalog.prices, server.zone_slug, server.cpu_type, clock.now())
  const rows = await capacity.list(db)
  const isZoneAvailable = rows.some((row) => row.zone_slug === server.zone_slug && row.is_available)
  const room = roomIn(rows, server.zone_slug, server.cpu_type)
  return {
    zone: zone ? zoneView(zone, await capacity.cpuTypes(zone), isZoneAvailable) : null,
    template: template ? templateView(template) : null,
    preset:
      preset && prices ? presetView(preset, presetPrice(preset, prices), fits(room, sizeOf(preset))) : null,
  }
}

function sshCard(options: DetailsOptions, actor: Actor, server: ServerTable): ServerDetails['ssh'] {
  const { host, port, username } = sshView(options, server)
  const keys = storedKeys(server)
  const hostKeys: HostKey[] = JSON.parse(server.host_keys)
  // A password opens the server: only a token that may change the server gets to see it.
  const password =
    server.password !== null && holds(actor, 'servers:write') ? options.secrets.open(server.password) : null
  return {
    host,
    port,
    username,
    command: port === null ? null : `ssh -p ${port} ${username}@${host}`,
    auth_methods: [server.password === null ? 'public_key' : 'password'],
    keys: keys.map(({ ssh_key_id, name, fingerprint }) => ({ ssh_key_id, name, fingerprint })),
    host_key_fingerprints: hostKeys.map(({ type, fingerprint, publicKey }) => ({
      type,
      fingerprint,
      public_key: publicKey,
    })),
    is_ready: server.status === 'running' && server.status_reason !== BOOT_TIMEOUT,
    password,
  }
}
