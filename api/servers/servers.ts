import { createHash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { findAccount } from '../accounts/accounts.ts'
import { countInProject, findProject } from '../accounts/projects.ts'
import { findSshKeys } from '../accounts/ssh-keys.ts'
import { requireBalance } from '../billing/ledger.ts'
import type { Capacity, Size } from '../catalog/capacity.ts'
import type { Catalog, Template } from '../catalog/file.ts'
import { type Plan, resolvePlan } from '../catalog/plans.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { OperationTable, ServerTable, SshKeyTable } from '../database/schema.ts'
import type { Actor } from '../http/auth.ts'
import { ApiError, bodyIssue, type Issue, invalid } from '../http/problem.ts'
import type { Engine, OperationType } from '../operations/engine.ts'
import { cancelActive, findActive, insertOperation } from '../operations/store.ts'
import { generatePassword, type Secrets } from '../secrets.ts'
import { generateName } from './names.ts'
import { type PortRange, pickPort } from './ports.ts'
import { firstStep, operationDeadlineMs } from './procedures.ts'
import { release, reserve } from './reservation.ts'
import type { ServerCreate, ServerUpdate, StopRequest } from './schema.ts'
import { type Action, allowedIn, judge, statusDuring } from './states.ts'
import { insertServer, lockServer, updateServer } from './store.ts'

const USER_DATA_BYTES = 65_536
/** How long a client may wait before it looks again whether another operation has ended. */
const RETRY_AFTER_SECONDS = '2'

export interface ServersOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  secrets: Secrets
  engine: Engine
  sshPorts: PortRange
}

export interface Started {
  server: ServerTable
  operation: OperationTable
}

/** What customers do with servers. Each method is one transaction; the engine carries out what it wrote. */
export class Servers {
  readonly #options: ServersOptions

  constructor(options: ServersOptions) {
    this.#options = options
  }

  /** @throws ApiError validation_failed, account_suspended, quota_exceeded, insufficient_balance, capacity_unavailable */
  async create(actor: Actor, request: ServerCreate): Promise<Started> {
    const { db, capacity, engine } = this.#options
    const wanted = await this.#examine(actor, request)
    refuseSuspended(actor)
    const row = this.#newRow(actor, request, wanted)
    const started = await db.transaction().execute(async (tx) => {
      if (!(await countInProject(tx, actor.accountId, row.project_id, 1))) throw invalid([projectIssue()])
      await reserve(tx, capacity, row, row, 1, async () =>
        requireBalance((await findAccount(tx, actor.accountId)).balance, row.price_hour),
      )
      // The pool's row is locked from here on, so that two servers never pick one port.
      row.ssh_port = await pickPort(tx, this.#options.sshPorts)
      await insertServer(tx, row)
      const operation = await this.#insert(tx, row, 'create', {
        start_on_create: request.start_on_create ?? true,
      })
      return { server: row, operation }
    })
    engine.wake()
    return started
  }

  /**
   * Starts, stops or reboots.
   * @throws ApiError server_not_found, server_state_conflict, operation_in_progress, insufficient_balance, account_suspended
   */
  async power(
    actor: Actor,
    serverId: string,
    type: 'start' | 'stop' | 'reboot',
    request: StopRequest = {},
  ): Promise<Started> {
    const { db, clock, engine } = this.#options
    const { force = false, timeout_seconds = 60 } = request
    let canceled: string | undefined
    const started = await db.transaction().execute(async (tx) => {
      const server = await this.#lock(tx, serverId)
      await guard(tx, server, type, force)
      if (type === 'start') {
        refuseSuspended(actor)
        requireBalance((await findAccount(tx, actor.accountId)).balance, server.price_hour)
      }
      canceled = (await cancelActive(tx, serverId, clock.now()))?.operation_id
      return this.#begin(tx, server, type, { force, timeout_seconds })
    })
    if (canceled) engine.canceled(canceled)
    engine.wake()
    return started
  }

  /**
   * Changes metadata at once; a change of the configuration becomes a resize operation.
   * @throws ApiError validation_failed, server_not_found, server_state_conflict, operation_in_progress, quota_exceeded, capacity_unavailable
   */
  async update(
    actor: Actor,
    before: ServerTable,
    request: ServerUpdate,
  ): Promise<{ server: ServerTable; operation: OperationTable | null }> {
    const { db, capacity, engine } = this.#options
    const { plan_type, preset_id, cpu, ram_mb, disk_gb, ...metadata } = request
    const isResize = [plan_type, preset_id, cpu, ram_mb, disk_gb].some((value) => value !== undefined)
    const plan = isResize ? this.#resizePlan(before, request) : null
    const result = await db.transaction().execute(async (tx) => {
      const server = await this.#lock(tx, before.server_id)
      await guard(tx, server, 'update')
      if (plan) await guard(tx, server, 'resize')
      const changed = await this.#updateMetadata(tx, actor, server, metadata)
      if (!plan) return { server: changed, operation: null }
      const growth = difference(plan.size, server)
      await reserve(tx, capacity, server, growth, 0)
      return this.#begin(tx, changed, 'resize', { plan, growth })
    })
    if (result.operation) engine.wake()
    return result
  }

  /**
   * Deletes in every status; what was running on the server is canceled. A second call finds the same operation.
   * @throws ApiError server_not_found, delete_protected
   */
  async remove(serverId: string): Promise<Started> {
    const { db, clock, engine } = this.#options
    let canceled: string | undefined
    const started = await db.transaction().execute(async (tx) => {
      const server = await this.#lock(tx, serverId)
      const active = await findActive(tx, serverId)
      if (active?.type === 'delete') return { server, operation: active }
      if (server.delete_protection)
        throw new ApiError(
          'delete_protected',
          'The server is protected. Set delete_protection to false first.',
        )
      canceled = (await cancelActive(tx, serverId, clock.now()))?.operation_id
      if (active?.type === 'resize') await release(tx, server.account_id, JSON.parse(active.data).growth, 0)
      return this.#begin(tx, server, 'delete', {})
    })
    if (canceled) engine.canceled(canceled)
    engine.wake()
    return started
  }

  async #lock(tx: Queries, serverId: string): Promise<ServerTable> {
    const server = await lockServer(tx, serverId)
    if (!server) throw new ApiError('server_not_found', 'The server is gone.')
    return server
  }

  /** Writes the operation and the status that goes with it. */
  async #begin(
    tx: Queries,
    server: ServerTable,
    type: OperationType,
    data: Record<string, unknown>,
  ): Promise<Started> {
    const change = { status: statusDuring[type], status_reason: null, updated_at: this.#options.clock.now() }
    await updateServer(tx, server.server_id, change)
    return { server: { ...server, ...change }, operation: await this.#insert(tx, server, type, data) }
  }

  #insert(
    tx: Queries,
    server: ServerTable,
    type: OperationType,
    data: Record<string, unknown>,
  ): Promise<OperationTable> {
    const now = this.#options.clock.now()
    return insertOperation(tx, {
      accountId: server.account_id,
      serverId: server.server_id,
      type,
      step: firstStep(type, data),
      data,
      now,
      deadlineAt: now + operationDeadlineMs(type),
    })
  }

  /** Everything about a create request that a schema can't know. */
  async #examine(actor: Actor, request: ServerCreate) {
    const { db, catalog, capacity, clock } = this.#options
    const issues: Issue[] = []
    const zone = catalog.zones.find((candidate) => candidate.zone_slug === request.zone_slug)
    if (!zone)
      issues.push(bodyIssue('zone_slug', 'not_found', 'There is no such zone: GET /v1/zones lists them.'))
    const isOffered = zone ? (await capacity.cpuTypes(zone)).includes(request.cpu_type) : true
    if (!isOffered)
      issues.push(
        bodyIssue('cpu_type', 'not_in_enum', `Zone ${request.zone_slug} does not offer ${request.cpu_type}.`),
      )
    const template = catalog.templates.find((candidate) => candidate.templateId === request.template_id)
    if (!template)
      issues.push(
        bodyIssue('template_id', 'not_found', 'There is no such template: GET /v1/templates lists them.'),
      )
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
        issues.push(bodyIssue(`ssh_key_ids.${at}`, 'not_found', `There is no SSH key ${id} in your account.`))
    })
    if (Buffer.byteLength(request.user_data ?? '') > USER_DATA_BYTES)
      issues.push(bodyIssue('user_data', 'too_long', 'user_data must have at most 64 KiB.'))
    if (issues.length > 0 || Array.isArray(plan) || !template) throw invalid(issues)
    return { plan, template, projectId, keys }
  }

  #newRow(
    actor: Actor,
    request: ServerCreate,
    wanted: { plan: Plan; template: Template; projectId: string; keys: SshKeyTable[] },
  ): ServerTable {
    const { clock, secrets } = this.#options
    const { plan, keys } = wanted
    const now = clock.now()
    const serverId = uuid()
    return {
      server_id: serverId,
      account_id: actor.accountId,
      project_id: wanted.projectId,
      name: request.name ?? generateName(),
      description: request.description ?? null,
      zone_slug: request.zone_slug,
      status: 'creating',
      status_reason: null,
      plan_type: plan.planType,
      cpu_type: request.cpu_type,
      preset_id: plan.presetId,
      ...plan.size,
      template_id: wanted.template.templateId,
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

  /** @throws ApiError validation_failed */
  #resizePlan(server: ServerTable, request: ServerUpdate): Plan {
    const { catalog, clock } = this.#options
    const plan_type = request.plan_type ?? (request.preset_id === undefined ? 'custom' : 'preset')
    const size =
      plan_type === 'custom' ? { cpu: server.cpu, ram_mb: server.ram_mb, disk_gb: server.disk_gb } : {}
    const place = { zoneSlug: server.zone_slug, cpuType: server.cpu_type, at: clock.now() }
    const plan = resolvePlan(catalog, { ...size, ...request, plan_type }, place)
    if (Array.isArray(plan)) throw invalid(plan)
    if (plan.size.disk_gb >= server.disk_gb) return plan
    const field = plan_type === 'preset' ? 'preset_id' : 'disk_gb'
    const message = `The disk has ${server.disk_gb} GB and can only grow; this plan has ${plan.size.disk_gb} GB.`
    throw invalid([bodyIssue(field, 'below_minimum', message)])
  }

  async #updateMetadata(
    tx: Queries,
    actor: Actor,
    server: ServerTable,
    { labels, delete_protection, project_id, name, description }: ServerUpdate,
  ): Promise<ServerTable> {
    if (project_id !== undefined && project_id !== server.project_id) {
      if (!(await countInProject(tx, actor.accountId, project_id, 1))) throw invalid([projectIssue()])
      await countInProject(tx, actor.accountId, server.project_id, -1)
    }
    const change: Partial<ServerTable> = {
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
      ...(project_id === undefined ? {} : { project_id }),
      ...(labels === undefined ? {} : { labels: JSON.stringify(labels) }),
      ...(delete_protection === undefined ? {} : { delete_protection: delete_protection ? 1 : 0 }),
      updated_at: this.#options.clock.now(),
    }
    await updateServer(tx, server.server_id, change)
    return { ...server, ...change }
  }
}

/** @throws ApiError server_state_conflict, operation_in_progress, insufficient_balance */
async function guard(tx: Queries, server: ServerTable, action: Action, force = false): Promise<void> {
  const verdict = judge(action, server.status, { force })
  if (verdict === 'allowed') return
  if (verdict === 'insufficient_balance')
    throw new ApiError(verdict, 'The server is suspended because the balance is used up. Top it up first.')
  if (verdict === 'operation_in_progress') {
    const active = await findActive(tx, server.server_id)
    throw new ApiError(
      verdict,
      `The server is ${server.status}. Wait for the end of that operation.`,
      { operation_id: active?.operation_id ?? null },
      { 'retry-after': RETRY_AFTER_SECONDS },
    )
  }
  const allowed = allowedIn[action]
  throw new ApiError(
    verdict,
    `The server is ${server.status}; ${action} needs it to be ${allowed.join(' or ')}.`,
    {
      current_status: server.status,
      allowed_statuses: allowed,
    },
  )
}

function difference(to: Size, from: Size): Size {
  return { cpu: to.cpu - from.cpu, ram_mb: to.ram_mb - from.ram_mb, disk_gb: to.disk_gb - from.disk_gb }
}

function refuseSuspended(actor: Actor): void {
  if (actor.accountStatus !== 'active')
    throw new ApiError(
      'account_suspended',
      `The account is ${actor.accountStatus}. Ask the operator to open it again.`,
    )
}

function projectIssue(): Issue {
  return bodyIssue('project_id', 'not_found', 'There is no such project in your account.')
}

function diskIssue(plan: Plan, template: Template): Issue {
  const field = plan.planType === 'preset' ? 'preset_id' : 'disk_gb'
  return bodyIssue(
    field,
    'disk_too_small',
    `${template.title} needs ${template.minDiskGb} GB of disk; this plan has ${plan.size.disk_gb}.`,
  )
}

/** A locally administered address (QEMU's prefix) that follows from the id, so that it never changes. */
function macOf(serverId: string): string {
  const digest = createHash('sha256').update(serverId).digest()
  return ['52', '54', '00', ...[0, 1, 2].map((at) => digest.toString('hex', at, at + 1))].join(':')
}
