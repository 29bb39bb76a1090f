import { hash } from 'node:crypto'
import { pricedFor } from '../accounts/prices.ts'
import { findProject } from '../accounts/projects.ts'
import { projectView } from '../accounts/view.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { findTemplate, findZone } from '../catalog/file.ts'
import { sizeOf } from '../catalog/plans.ts'
import { pricesAt, zonePricesAt } from '../catalog/prices.ts'
import { fits, roomIn } from '../catalog/room.ts'
import { presetView, templateView, zoneView } from '../catalog/view.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type HostKey, SSH_PORT } from '../drivers/driver.ts'
import { type Actor, holds } from '../http/contract/auth.ts'
import { isoTimeOrNull } from '../http/contract/fields.ts'
import { notFound } from '../http/contract/problem.ts'
import { formatMoney } from '../money.ts'
import { findActive } from '../operations/operations.ts'
import type { Secrets } from '../secrets.ts'
import type { ServerDetails } from './details-schema.ts'
import { monthDetails } from './month-details.ts'
import { networkDetails } from './network-details.ts'
import { serverSubject } from './operations.ts'
import { openPassword, presentLogin } from './rescue-login.ts'
import { serverProblems } from './schema.ts'
import { allowedActions, BOOT_TIMEOUT } from './states.ts'
import type { ServerTable } from './tables.ts'
import { type SshPlace, serverView, sshView, storedKeys } from './view.ts'
export interface DetailsOptions extends SshPlace {
  db: Database
  clock: Clock
  capacity: Capacity
  secrets: Secrets
}

/** The details of a server: names, SSH access, costs, allowed actions. */
export async function serverDetails(
  options: DetailsOptions,
  actor: Actor,
  server: ServerTable,
): Promise<ServerDetails> {
  const { db } = options
  const [active, project] = await Promise.all([
    findActive(db, serverSubject(server.server_id)),
    findProject(db, server.account_id, server.project_id),
  ])
  if (!project) throw notFound(serverProblems.server_not_found)
  const traffic = await monthDetails(options, server)
  return {
    ...serverView(options, server, active),
    project: projectView(project),
    ...(await offers(options, server)),
    network: await networkDetails(options, server),
    user_data_sha256: userDataHash(options, server),
    ssh: sshCard(options, actor, server),
    billing: {
      price_hour_rub: formatMoney(server.price_hour, 4),
      price_month_rub: formatMoney(server.price_month),
      billed_since: isoTimeOrNull(server.billed_since),
      month_to_date_rub: formatMoney(traffic.monthToDate),
      is_billed_when_stopped: true,
    },
    traffic: traffic.view,
    allowed_actions: allowedActions(server),
  }
}

/** A hash by which clients compare their user data with the server's, which is stored sealed. */
function userDataHash({ secrets }: DetailsOptions, { user_data }: ServerTable): string | null {
  return user_data === null ? null : hash('sha256', secrets.open(user_data))
}

/** Zone, template and preset as the catalogue has them now; null if the operator has removed one. */
async function offers({ db, clock, catalog: list, capacity }: DetailsOptions, server: ServerTable) {
  const catalog = await pricedFor(db, list, server.account_id)
  const zone = findZone(catalog, server.zone_slug)
  const template = findTemplate(catalog, server.template_id)
  const preset = catalog.presets.find((candidate) => candidate.presetId === server.preset_id)
  const prices = pricesAt(catalog.prices, server.zone_slug, server.cpu_type, clock.now())
  const rows = await capacity.list(db)
  const isZoneAvailable = rows.some((row) => row.zone_slug === server.zone_slug && row.is_available)
  const room = roomIn(rows, server.zone_slug, server.cpu_type)
  return {
    zone: zone
      ? zoneView(
          zone,
          await capacity.abilities(zone),
          isZoneAvailable,
          zonePricesAt(catalog.prices, zone, clock.now()),
        )
      : null,
    template: template ? templateView(template) : null,
    preset: preset && prices ? presetView(preset, prices, fits(room, sizeOf(preset))) : null,
  }
}

function sshCard(options: DetailsOptions, actor: Actor, server: ServerTable): ServerDetails['ssh'] {
  const { host, port, username } = sshView(options, server)
  const login = presentLogin(server)
  const keys = storedKeys(login)
  const hostKeys: HostKey[] = JSON.parse(server.host_keys)
  // A password gives access to the server, so only a token that may change the server gets it.
  const password = holds(actor, 'servers:write') ? openPassword(options.secrets, login) : null
  return {
    host,
    port,
    username,
    command: port === null ? null : `ssh ${port === SSH_PORT ? '' : `-p ${port} `}${username}@${host}`,
    auth_methods: [keys.length > 0 ? 'public_key' : 'password'],
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
