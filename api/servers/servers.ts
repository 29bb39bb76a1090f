import { randomInt } from 'node:crypto'
import { lockAccount } from '../accounts/accounts.ts'
import { countInProject } from '../accounts/projects.ts'
import { refuseHeld } from '../accounts/status.ts'
import { requireGrace } from '../billing/ledger.ts'
import { changeRate } from '../billing/rates.ts'
import type { Capacity, Size } from '../catalog/capacity.ts'
import { type Catalog, onSale } from '../catalog/file.ts'
import { type Plan, resolvePlan } from '../catalog/plans.ts'
import type { Clock } from '../clock.ts'
import { type Database, isSqlite, type Queries } from '../database/database.ts'
import { MOST_NUMBERS } from '../drivers/addresses.ts'
import type { PortRange } from '../drivers/driver.ts'
import { requireProtectable } from '../firewalls/protection.ts'
import type { Actor } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import type { Engine } from '../operations/engine.ts'
import { cancelActive, findActive } from '../operations/operations.ts'
import { dataOf } from '../operations/procedure.ts'
import type { OperationTable } from '../operations/tables.ts'
import type { Secrets } from '../secrets.ts'
import { requireCover } from './commitment.ts'
import { beginDelete } from './deletion.ts'
import { guard } from './guard.ts'
import { InOrder } from './in-order.ts'
import { begin, beginCreate, type Started } from './lifecycle/begin.ts'
import { bootTime } from './lifecycle/billing-start.ts'
import { type BootData, dataIf, subjectOf } from './lifecycle/operations.ts'
import { projectIssue } from './order/account.ts'
import { readOrder, totalOf } from './order/order.ts'
import type { OrderPart } from './order/part.ts'
import { newRow, orderedServer } from './order/row.ts'
import { findBlockers, takeAll } from './order/taking.ts'
import { release, reserveQuota } from './reservation.ts'
import {
  type QuoteRequest,
  type ServerCreate,
  type ServerUpdate,
  type StopRequest,
  serverProblems,
} from './schema.ts'
import { turnsOn } from './states.ts'
import { countByStatus, lockServer, updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'

export interface ServersOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  secrets: Secrets
  engine: Engine
  /** Called when what leads to servers has changed. */
  changed: (serverIds: readonly string[]) => void
  sshPorts: PortRange
  /** What customers are told to connect to. */
  sshHost: string
  /** The same for the servers of a zone. */
  hostOf: (zoneSlug: string) => string
  /** How long servers keep running after the balance is used up. */
  graceMs: number
}

/** What customers do with servers. Each method is one transaction; the engine carries out what it wrote. */
export class Servers {
  readonly #options: ServersOptions
  readonly #orders: InOrder

  constructor(options: ServersOptions) {
    this.#options = options
    this.#orders = new InOrder(options.clock)
  }

  /** @throws ApiError validation_failed, not_supported, account_suspended, quota_exceeded, insufficient_balance, capacity_unavailable, port_taken, network_address_unavailable, firewall_limit_reached */
  async create({ accountId }: Actor, request: ServerCreate, remember: Remember): Promise<Started> {
    const { engine } = this.#options
    const order = await readOrder(this.#options, accountId, request)
    const ordered = orderedServer(this.#options, accountId, request, order)
    for (const part of order.parts) await part.check?.(ordered)
    const started = await this.#ordering(accountId, async (tx, reserve) => {
      const taken = await takeAll(tx, order.parts, ordered, reserve)
      const row = newRow(this.#options, ordered, request, order, taken)
      const data = { start_on_create: request.start_on_create ?? true }
      let begun: Started | null = null
      while (!begun) begun = await beginCreate(tx, { ...row, number: randomInt(1, MOST_NUMBERS + 1) }, data)
      for (const part of order.parts) await part.add?.(tx, ordered)
      await remember(tx, ordered.server_id)
      return begun
    })
    engine.wake()
    return started
  }

  /**
   * The orders of one account would wait for its row, each holding a connection, and wake each other up with every
   * commit. On SQLite they share commits.
   */
  #ordering<Result>(
    accountId: string,
    run: Parameters<typeof Capacity.prototype.reserving<Result>>[1],
  ): Promise<Result> {
    const { db, capacity } = this.#options
    const order = () => capacity.reserving(db, run)
    return isSqlite(db) ? order() : this.#orders.run(accountId, order)
  }

  /**
   * A dry run of create: the same validation, the same reservations, all undone.
   * @throws ApiError validation_failed
   */
  async quote(actor: Actor, request: QuoteRequest): Promise<{ plan: Plan; blockers: ApiError[] }> {
    const order = await readOrder(this.#options, actor.accountId, request)
    const ordered = orderedServer(this.#options, actor.accountId, request, order)
    const held: OrderPart = { check: async () => refuseHeld(actor.accountStatus) }
    const blockers = await findBlockers(this.#options.db, [held, ...order.parts], ordered)
    return { plan: totalOf(order), blockers }
  }

  /**
   * Starts, stops or reboots.
   * @throws ApiError server_not_found, server_state_conflict, operation_in_progress, insufficient_balance, account_suspended, not_supported
   */
  async power(
    actor: Actor,
    serverId: string,
    request: StopRequest & { type: 'start' | 'stop' | 'reboot' },
    remember: Remember,
  ): Promise<Started> {
    const { db, clock, engine } = this.#options
    const { type, force = false, timeout_seconds = 60 } = request
    let canceled: Awaited<ReturnType<typeof cancelActive>>
    const started = await db.transaction().execute(async (tx) => {
      const server = await this.#lock(tx, serverId)
      if (type !== 'stop') refuseHeld(actor.accountStatus)
      await guard(tx, server, type, force)
      if (turnsOn(type, server.status)) {
        await lockAccount(tx, actor.accountId)
        await requireCover(tx, actor.accountId, addedCost(server, server.price_hour))
        await requireProtectable(tx, this.#options.capacity, [server])
      }
      // Else one reboot after the other would keep a server from being suspended.
      if (type === 'reboot')
        await requireGrace(tx, actor.accountId, server.price_hour, clock.now() - this.#options.graceMs)
      const now = clock.now()
      canceled = await cancelActive(tx, subjectOf(serverId), now)
      const begun = await begin(tx, server, type, { force, timeout_seconds }, { now })
      await remember(tx, begun.operation.operation_id)
      return begun
    })
    if (canceled) engine.canceled(canceled)
    engine.wake()
    return started
  }

  /**
   * Changes metadata at once; a change of the configuration becomes a resize operation.
   * @param check looks at the server as it is, where nobody else can change it
   * @throws ApiError validation_failed, server_not_found, server_state_conflict, operation_in_progress, quota_exceeded, capacity_unavailable
   */
  async update(
    actor: Actor,
    before: ServerTable,
    request: ServerUpdate,
    check: (current: ServerTable, active: OperationTable | undefined) => void = () => {},
  ): Promise<{ server: ServerTable; operation: OperationTable | null }> {
    const { db, clock, capacity, engine } = this.#options
    const { plan_type, preset_id, cpu, ram_mb, disk_gb, ...metadata } = request
    const isResize = [plan_type, preset_id, cpu, ram_mb, disk_gb].some((value) => value !== undefined)
    if (isResize) await capacity.refresh()
    const result = await capacity.reserving(db, async (tx, reserve) => {
      const server = await this.#lock(tx, before.server_id)
      check(server, await findActive(tx, subjectOf(before.server_id)))
      // By the locked row: a resize that ended since it was found may have grown the disk.
      const now = clock.now()
      const plan = isResize ? this.#resizePlan(server, request, now) : null
      await guard(tx, server, 'update')
      if (plan) await guard(tx, server, 'resize')
      const changed = await this.#updateMetadata(tx, actor, server, metadata)
      if (!plan) return { server: changed, operation: null }
      const growth = difference(plan.size, server)
      await reserveQuota(tx, server, growth, 0)
      const added = addedCost(server, plan.priceHour)
      if (added > 0) await requireCover(tx, actor.accountId, added)
      reserve(server, growth)
      return begin(tx, changed, 'resize', { plan, growth }, { now })
    })
    if (result.operation) engine.wake()
    if (request.labels !== undefined) this.#options.changed([before.server_id])
    return result
  }

  /**
   * Deletes in every status; what was running on the server is canceled. A second call finds the same operation.
   * @param options.isForced also if it is protected: for operators
   * @throws ApiError server_not_found, delete_protected
   */
  async remove(serverId: string, { isForced = false } = {}): Promise<Started> {
    const { db, clock, engine } = this.#options
    let canceled: Awaited<ReturnType<typeof cancelActive>>
    const started = await db.transaction().execute(async (tx) => {
      const server = await this.#lock(tx, serverId)
      const active = await findActive(tx, subjectOf(serverId))
      if (active?.type === 'delete') return { server, operation: active }
      if (server.delete_protection && !isForced)
        throw new ApiError(
          serverProblems.delete_protected,
          'The server is protected from deletion. Set delete_protection to false first.',
        )
      const now = clock.now()
      canceled = await cancelActive(tx, subjectOf(serverId), now)
      const resize = dataIf('resize', active)
      if (resize) await release(tx, server, resize.growth, 0)
      await this.#endBilling(tx, server, active)
      return beginDelete(tx, server, now)
    })
    if (canceled) engine.canceled(canceled)
    engine.wake()
    return started
  }

  /** A server that is deleted while its first guest boots has run. */
  async #endBilling(tx: Queries, server: ServerTable, active: OperationTable | undefined): Promise<void> {
    // Those that turn a machine on keep a BootData, the others nothing that it has.
    const bootedAt = active ? bootTime(dataOf<BootData>(active)) : null
    if (server.billed_since === null && bootedAt === null) return
    if (server.billed_since === null) await changeRate(tx, server, server, bootedAt ?? 0)
    await changeRate(tx, server, null, this.#options.clock.now())
  }

  /** How many servers there are, by status and zone: for the operator. */
  count() {
    return countByStatus(this.#options.db)
  }

  async #lock(tx: Queries, serverId: string): Promise<ServerTable> {
    const server = await lockServer(tx, serverId)
    if (!server) throw new ApiError(serverProblems.server_not_found, 'The server was deleted.')
    return server
  }

  /** @throws ApiError validation_failed */
  #resizePlan(server: ServerTable, request: ServerUpdate, at: number): Plan {
    const { catalog } = this.#options
    const plan_type = request.plan_type ?? (request.preset_id === undefined ? 'custom' : 'preset')
    const size =
      plan_type === 'custom' ? { cpu: server.cpu, ram_mb: server.ram_mb, disk_gb: server.disk_gb } : {}
    const place = { zoneSlug: server.zone_slug, cpuType: server.cpu_type, at }
    const plan = resolvePlan(onSale(catalog), { ...size, ...request, plan_type }, place)
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
      // Two moves in opposite directions would each wait for the other's project: the account comes first.
      await lockAccount(tx, actor.accountId)
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
    const changed = { ...server, ...change }
    if (labels !== undefined) {
      await lockAccount(tx, actor.accountId)
      await requireProtectable(tx, this.#options.capacity, [changed])
    }
    return changed
  }
}

/** What an account pays more an hour once a server of it is billed at a price. */
function addedCost({ billed_since, price_hour }: ServerTable, priceHour: number): number {
  return billed_since === null ? priceHour : priceHour - price_hour
}

function difference(to: Size, from: Size): Size {
  return { cpu: to.cpu - from.cpu, ram_mb: to.ram_mb - from.ram_mb, disk_gb: to.disk_gb - from.disk_gb }
}
