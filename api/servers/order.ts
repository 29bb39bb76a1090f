import { createHash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { findAccount } from '../accounts/accounts.ts'
import { findProject } from '../accounts/projects.ts'
import { findSshKeys } from '../accounts/ssh-keys.ts'
import type { SshKeyTable } from '../accounts/tables.ts'
import { addressPrice, type Family } from '../addresses/taking.ts'
import type { Price } from '../billing/rates.ts'
import type { Capacity } from '../catalog/capacity.ts'
import {
  type Catalog,
  findTemplate,
  findZone,
  isFor,
  onSale,
  type Template,
  type Zone,
} from '../catalog/file.ts'
import { addressItem, notOffered, type Plan, resolvePlan } from '../catalog/plans.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { CpuType, Feature } from '../drivers/driver.ts'
import { unknownFirewalls } from '../firewalls/protection.ts'
import type { Actor } from '../http/contract/auth.ts'
import { bodyIssue, type Issue, invalid } from '../http/contract/problem.ts'
import { networkIssues } from '../networks/attachments.ts'
import { findNetworks } from '../networks/networks.ts'
import type { NetworkTable } from '../networks/tables.ts'
import { generatePassword, type Secrets } from '../secrets.ts'
import { generateName } from './host-name.ts'
import { planColumns } from './plan-columns.ts'
import type { QuoteRequest, ServerCreate } from './schema.ts'
import type { ServerTable } from './tables.ts'

const USER_DATA_BYTES = 65_536
const NOTHING = { cpuTypes: [], features: [] } satisfies { cpuTypes: CpuType[]; features: Feature[] }

export interface OrderOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  secrets: Secrets
}

/** A request whose every name was found. */
export interface Order {
  plan: Plan
  /** The moment whose prices the plan has. */
  pricedAt: number
  projectId: string
  keys: SshKeyTable[]
  zone: Zone
  /** The public addresses that it gets, and what they cost. */
  families: Family[]
  addressPrice: Price
  networks: NetworkTable[]
}

/**
 * Looks at everything about a create or quote request that a schema can't know.
 * @throws ApiError validation_failed, with all that is wrong
 */
export async function validateOrder(
  options: OrderOptions,
  actor: Actor,
  request: QuoteRequest,
): Promise<Order> {
  const { db, capacity, clock } = options
  const catalog = onSale(options.catalog)
  const issues: Issue[] = []
  const zone = findZone(catalog, request.zone_slug)
  if (!zone) issues.push(bodyIssue('zone_slug', 'not_found', 'No such zone.'))
  const { cpuTypes, features } = zone ? await capacity.abilities(zone) : NOTHING
  const isOffered = zone ? cpuTypes.includes(request.cpu_type) : true
  if (!isOffered)
    issues.push(bodyIssue('cpu_type', 'not_in_enum', notOffered(request.zone_slug, request.cpu_type)))
  const template = findTemplate(catalog, request.template_id)
  if (!template && request.template_id !== undefined)
    issues.push(bodyIssue('template_id', 'not_found', 'No such template.'))
  if (template && zone && !isFor(zone, template))
    issues.push(bodyIssue('template_id', 'not_in_enum', `No image for ${zone.zone_slug}: choose another.`))
  const pricedAt = clock.now()
  const place = { zoneSlug: request.zone_slug, cpuType: request.cpu_type, at: pricedAt }
  const plan = zone && isOffered ? resolvePlan(catalog, request, place) : []
  if (Array.isArray(plan)) issues.push(...plan)
  else if (template && plan.size.disk_gb < template.minDiskGb) issues.push(diskIssue(plan, template))
  const { project_id } = request
  const projectId = project_id ?? (await findAccount(db, actor.accountId)).default_project_id
  if (project_id !== undefined && !(await findProject(db, actor.accountId, project_id)))
    issues.push(projectIssue())
  const ids = request.ssh_key_ids ?? []
  const keys = await findSshKeys(db, actor.accountId, ids)
  ids.forEach((id, at) => {
    if (!keys.some((key) => key.ssh_key_id === id))
      issues.push(bodyIssue(`ssh_key_ids.${at}`, 'not_found', `No such SSH key: ${id}.`))
  })
  const { firewall_ids = [] } = request
  const unknown = await unknownFirewalls(db, actor.accountId, firewall_ids)
  firewall_ids.forEach((id, at) => {
    if (unknown.has(id)) issues.push(bodyIssue(`firewall_ids.${at}`, 'not_found', `No such firewall: ${id}.`))
  })
  if (Buffer.byteLength(request.user_data ?? '') > USER_DATA_BYTES)
    issues.push(bodyIssue('user_data', 'too_long', 'user_data must have at most 64 KiB.'))
  const { network_ids = [], zone_slug } = request
  const networks = await findNetworks(db, actor.accountId, network_ids)
  issues.push(...networkIssues(network_ids, networks, zone_slug))
  if (issues.length > 0 || Array.isArray(plan) || !zone) throw invalid(issues)
  const addresses = addressesOf(catalog, zone, features, request, pricedAt)
  return { plan, pricedAt, projectId, keys, networks, zone, ...addresses }
}

/** What a plan costs with the addresses of the order. */
export function withAddresses({ plan, families, addressPrice }: Order): Plan {
  if (!families.includes('ipv4')) return plan
  return {
    ...plan,
    items: [...plan.items, addressItem(addressPrice.price_month)],
    priceMonth: plan.priceMonth + addressPrice.price_month,
    priceHour: plan.priceHour + addressPrice.price_hour,
  }
}

/** All that the zone has, unless told. */
function addressesOf(
  catalog: Catalog,
  zone: Zone,
  features: readonly Feature[],
  request: QuoteRequest,
  at: number,
): Pick<Order, 'families' | 'addressPrice'> {
  const families = (['ipv4', 'ipv6'] as const).filter(
    (family) => request[`enable_${family}`] ?? features.includes(`public_${family}`),
  )
  const hasIpv4 = families.includes('ipv4')
  const none = { price_hour: 0, price_month: 0 }
  return { families, addressPrice: hasIpv4 ? addressPrice(catalog, zone, 'ipv4', at) : none }
}

/** The row of a new server, before it has a port, and the status that its create brings. */
export function newServer(
  options: OrderOptions,
  actor: Actor,
  request: ServerCreate,
  order: Order,
): Omit<ServerTable, 'status'> {
  const { clock, secrets, capacity } = options
  const { plan, keys } = order
  const now = clock.now()
  const serverId = uuid()
  return {
    server_id: serverId,
    account_id: actor.accountId,
    project_id: order.projectId,
    name: request.name ?? generateName(),
    description: request.description ?? null,
    zone_slug: request.zone_slug,
    pool: capacity.poolOf(request.zone_slug),
    status_reason: null,
    cpu_type: request.cpu_type,
    ...planColumns(plan),
    template_id: request.template_id,
    ssh_keys: JSON.stringify(
      keys.map(({ ssh_key_id, name, fingerprint, public_key }) => ({
        ssh_key_id,
        name,
        fingerprint,
        public_key,
      })),
    ),
    user_data: request.user_data ? secrets.seal(request.user_data) : null,
    password: keys.length === 0 ? secrets.seal(generatePassword()) : null,
    labels: JSON.stringify(request.labels ?? {}),
    delete_protection: request.delete_protection ? 1 : 0,
    priced_at: order.pricedAt,
    suspended_from: null,
    delete_at: null,
    mac: macOf(serverId),
    ssh_port: null,
    ipv4: null,
    ipv6: null,
    number: null,
    networks: '[]',
    host_keys: '[]',
    has_disk: 0,
    crash_count: 0,
    crashed_at: null,
    billed_since: null,
    started_at: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
  }
}

export function projectIssue(): Issue {
  return bodyIssue('project_id', 'not_found', 'No such project.')
}

function diskIssue(plan: Plan, template: Template): Issue {
  const field = plan.planType === 'preset' ? 'preset_id' : 'disk_gb'
  return bodyIssue(
    field,
    'disk_too_small',
    `${template.title} requires a disk of at least ${template.minDiskGb} GB; this plan has ${plan.size.disk_gb} GB.`,
  )
}

/** A locally administered address (QEMU's prefix) that follows from the id, so that it never changes. */
function macOf(serverId: string): string {
  const digest = createHash('sha256').update(serverId).digest()
  return ['52', '54', '00', ...[0, 1, 2].map((at) => digest.toString('hex', at, at + 1))].join(':')
}
