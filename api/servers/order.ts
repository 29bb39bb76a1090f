import { createHash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { findAccount } from '../accounts/accounts.ts'
import { findProject } from '../accounts/projects.ts'
import { findSshKeys } from '../accounts/ssh-keys.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { type Catalog, findTemplate, findZone, type Template } from '../catalog/file.ts'
import { notOffered, type Plan, resolvePlan } from '../catalog/plans.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { ServerTable, SshKeyTable } from '../database/schema.ts'
import type { Actor } from '../http/auth.ts'
import { bodyIssue, type Issue, invalid } from '../http/problem.ts'
import { generatePassword, type Secrets } from '../secrets.ts'
import { generateName } from './host-name.ts'
import type { QuoteRequest, ServerCreate } from './schema.ts'

const USER_DATA_BYTES = 65_536

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
  projectId: string
  keys: SshKeyTable[]
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
  const { db, catalog, capacity, clock } = options
  const issues: Issue[] = []
  const zone = findZone(catalog, request.zone_slug)
  if (!zone) issues.push(bodyIssue('zone_slug', 'not_found', 'No such zone.'))
  const isOffered = zone ? (await capacity.cpuTypes(zone)).includes(request.cpu_type) : true
  if (!isOffered)
    issues.push(bodyIssue('cpu_type', 'not_in_enum', notOffered(request.zone_slug, request.cpu_type)))
  const template = findTemplate(catalog, request.template_id)
  if (!template && request.template_id !== undefined)
    issues.push(bodyIssue('template_id', 'not_found', 'No such template.'))
  const place = { zoneSlug: request.zone_slug, cpuType: request.cpu_type, at: clock.now() }
  const plan = zone && isOffered ? resolvePlan(catalog, request, place) : []
  if (Array.isArray(plan)) issues.push(...plan)
  else if (template && plan.size.disk_gb < template.minDiskGb) issues.push(diskIssue(plan, template))
  const projectId = request.project_id ?? (await findAccount(db, actor.accountId)).default_project_id
  if (!(await findProject(db, actor.accountId, projectId))) issues.push(projectIssue())
  const ids = request.ssh_key_ids ?? []
  const keys = await findSshKeys(db, actor.accountId, ids)
  ids.forEach((id, at) => {
    if (!keys.some((key) => key.ssh_key_id === id))
      issues.push(bodyIssue(`ssh_key_ids.${at}`, 'not_found', `No such SSH key: ${id}.`))
  })
  if (Buffer.byteLength(request.user_data ?? '') > USER_DATA_BYTES)
    issues.push(bodyIssue('user_data', 'too_long', 'user_data must have at most 64 KiB.'))
  if (issues.length > 0 || Array.isArray(plan)) throw invalid(issues)
  return { plan, projectId, keys }
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
    plan_type: plan.planType,
    cpu_type: request.cpu_type,
    preset_id: plan.presetId,
    ...plan.size,
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
    price_month: plan.priceMonth,
    price_hour: plan.priceHour,
    priced_at: now,
    suspended_from: null,
    mac: macOf(serverId),
    ssh_port: null,
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
