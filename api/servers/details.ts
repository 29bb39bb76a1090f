import { hash } from 'node:crypto'
import { findProject } from '../accounts/projects.ts'
import { projectView } from '../accounts/view.ts'
import { monthCost, monthStart, wholeSecond } from '../billing/accrual.ts'
import { ratesSince } from '../billing/rates.ts'
import { includedBytes, trafficCharge } from '../billing/traffic.ts'
import { type Capacity, fits, roomIn } from '../catalog/capacity.ts'
import { findTemplate, findZone, hostOf } from '../catalog/file.ts'
import { sizeOf } from '../catalog/plans.ts'
import { pricesAt } from '../catalog/prices.ts'
import { presetView, templateView, trafficView, zoneView } from '../catalog/view.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type GuestAddress, type HostKey, SSH_PORT } from '../drivers/driver.ts'
import { moduleOf } from '../drivers/modules/modules.ts'
import { type Actor, holds } from '../http/contract/auth.ts'
import { isoTimeOrNull } from '../http/contract/fields.ts'
import { notFound } from '../http/contract/problem.ts'
import { formatMoney } from '../money.ts'
import { serverTraffic } from '../monitoring/traffic.ts'
import { macOf, membershipsOf } from '../networks/memberships.ts'
import { findNetworks } from '../networks/networks.ts'
import { prefixLengthOf } from '../networks/ranges.ts'
import { findActive } from '../operations/operations.ts'
import { allPorts } from '../ports/ports.ts'
import { portView } from '../ports/view.ts'
import type { Secrets } from '../secrets.ts'
import type { ServerDetails } from './details-schema.ts'
import { BOOT_TIMEOUT } from './lifecycle/boot.ts'
import { subjectOf } from './lifecycle/operations.ts'
import { serverProblems } from './schema.ts'
import { allowedActions } from './states.ts'
import type { ServerTable } from './tables.ts'
import { type SshPlace, serverView, sshView, storedKeys } from './view.ts'

export interface DetailsOptions extends SshPlace {
  db: Database
  clock: Clock
  capacity: Capacity
  secrets: Secrets
}

type Addresses = Pick<ServerDetails['network'], 'ipv4' | 'ipv6' | 'resolvers'>

/** The addresses that the guest is configured with. */
function ownAddresses({ catalog }: DetailsOptions, { number, zone_slug }: ServerTable): Addresses {
  if (number === null) return { ipv4: null, ipv6: null, resolvers: [] }
  const zone = findZone(catalog, zone_slug) ?? { zone_slug }
  const { ipv4, ipv6, resolvers } = moduleOf(zone).addresses(zone, number)
  return { ipv4: addressView(ipv4), ipv6: ipv6 && addressView(ipv6), resolvers: [...resolvers] }
}

/** The details of a server: names, SSH access, costs, allowed actions. */
export async function serverDetails(
  options: DetailsOptions,
  actor: Actor,
  server: ServerTable,
): Promise<ServerDetails> {
  const { db } = options
  const [active, project] = await Promise.all([
    findActive(db, subjectOf(server.server_id)),
    findProject(db, server.account_id, server.project_id),
  ])
  if (!project) throw notFound(serverProblems.server_not_found)
  const traffic = await thisMonth(options, server)
  return {
    ...serverView(options, server, active),
    project: projectView(project),
    ...(await offers(options, server)),
    network: {
      hostname: server.name,
      mac: server.mac,
      ...ownAddresses(options, server),
      private: await privateCards(db, server),
      published_ports: (await allPorts(db, server.server_id)).map((row) =>
        portView(row, hostOf(options.catalog, server.zone_slug, options.sshHost)),
      ),
    },
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

/** Its cards in private networks, and what gives one its address in a guest that does not look for it before it boots. */
async function privateCards(db: Database, server: ServerTable): Promise<ServerDetails['network']['private']> {
  const memberships = membershipsOf(server)
  const ids = memberships.map(({ network_id }) => network_id)
  const names = new Map(
    (await findNetworks(db, server.account_id, ids)).map(({ network_id, name }) => [network_id, name]),
  )
  return memberships.map(({ network_id, ip_range, ipv4 }) => {
    const [mac, prefix_length] = [macOf(server.server_id, network_id), prefixLengthOf(ip_range)]
    const command = `for n in /sys/class/net/*; do grep -q ${mac} $n/address && ip addr add ${ipv4}/${prefix_length} dev \${n##*/} && ip link set \${n##*/} up; done`
    const card = { network_id, name: names.get(network_id) ?? '', ip_range, mac, ipv4, prefix_length }
    return { ...card, command: `sudo sh -c '${command}'` }
  })
}

/** Lets a client see whether its user data is what the server was created with, which is kept sealed. */
function userDataHash({ secrets }: DetailsOptions, { user_data }: ServerTable): string | null {
  return user_data === null ? null : hash('sha256', secrets.open(user_data))
}

function addressView({ address, prefixLength, gateway }: GuestAddress) {
  return { address, prefix_length: prefixLength, gateway }
}

/** What the server has sent in this calendar month, and what that and its time have cost, in units. */
async function thisMonth({ db, clock }: DetailsOptions, server: ServerTable) {
  const { server_id, traffic_gb, traffic_price, bandwidth_mbit } = server
  const now = wholeSecond(clock.now())
  const rates = (await ratesSince(db, [server_id], monthStart(now))).get(server_id) ?? []
  const { in_bytes, out_bytes } = await serverTraffic(db, server_id, now)
  const included_bytes = includedBytes(rates, {
    month: monthStart(now),
    until: now,
    isGone: server.status === 'deleting',
  })
  const used = { sent: out_bytes, included: included_bytes, charged: 0 }
  const excess = trafficCharge(used, traffic_price)?.amount ?? 0
  const terms = trafficView({ includedGb: traffic_gb, priceTb: traffic_price, bandwidthMbit: bandwidth_mbit })
  return {
    monthToDate: monthCost(rates, now) + excess,
    view: { ...terms, in_bytes, out_bytes, included_bytes, excess_rub: formatMoney(excess) },
  }
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
    zone: zone ? zoneView(zone, await capacity.abilities(zone), isZoneAvailable) : null,
    template: template ? templateView(template) : null,
    preset: preset && prices ? presetView(preset, prices, fits(room, sizeOf(preset))) : null,
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
    command: port === null ? null : `ssh ${port === SSH_PORT ? '' : `-p ${port} `}${username}@${host}`,
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
