import { pricedFor } from '../accounts/prices.ts'
import { refuseHeld } from '../accounts/status.ts'
import { requireGrace } from '../billing/ledger.ts'
import type { Capacity } from '../catalog/capacity.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Actor } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import type { Engine } from '../operations/engine.ts'
import { cancelActive, findActive } from '../operations/operations.ts'
import { dataOf } from '../operations/procedure.ts'
import type { OperationTable } from '../operations/tables.ts'
import { billServer } from './backup-pricing.ts'
import { yieldTurns } from './backup-turns.ts'
import { begin, endCopy, type Started } from './begin.ts'
import { bootTime } from './billing-start.ts'
import { addedCost, difference, growsDiskOnly, requireTurnOn, resizePlan, updateMetadata } from './changes.ts'
import { requireCover } from './cover.ts'
import { beginDelete } from './deletion.ts'
import { changeDrive } from './drive.ts'
import { guard, requireUnprotected } from './guard.ts'
import { type BootData, dataIf, serverSubject } from './operations.ts'
import type { ServerUpdate } from './order-schema.ts'
import { release, reserveGrowth } from './room.ts'
import { type StopRequest, serverProblems } from './schema.ts'
import { turnsOn } from './states.ts'
import { countByStatus, lockServer } from './store.ts'
import type { ServerTable } from './tables.ts'
export interface ServersOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  engine: Engine
  /** Called when the connectivity of servers has changed. */
  changed: (serverIds: readonly string[]) => void
  /** Time that servers keep running after the balance is used up. */
  graceMs: number
}

/**
 * Changes of servers by customers. Each method is one transaction; the engine carries out the operations that it wrote.
 */
export class Servers {
  readonly #options: ServersOptions

  constructor(options: ServersOptions) {
    this.#options = options
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
      if (type !== 'stop') refuseHeld(actor)
      await guard(tx, server, type, force)
      if (turnsOn(type, server.status)) {
        await requireTurnOn(this.#options, tx, server, server.price_hour)
      }
      // Otherwise repeated reboots would keep a server from being suspended.
      if (type === 'reboot')
        await requireGrace(tx, actor.accountId, server.price_hour, clock.now() - this.#options.graceMs)
      const now = clock.now()
      canceled = await cancelActive(tx, serverSubject(serverId), now)
      await yieldTurns(tx, server, canceled, now)
      const change = await endCopy(tx, server, now)
      const begun = await begin(tx, server, type, { force, timeout_seconds }, { now, change })
      await remember(tx, begun.operation.operation_id)
      return begun
    })
    if (canceled) engine.canceled(canceled)
    engine.wake()
    return started
  }

  /**
   * Changes metadata at once. A change of the configuration begins a resize; a change of the ISO begins an
   * operation of the drive.
   * @param check is called with the current server, while it is locked
   * @throws ApiError validation_failed, server_not_found, server_state_conflict, operation_in_progress,
   * quota_exceeded, capacity_unavailable
   */
  async update(
    actor: Actor,
    before: ServerTable,
    request: ServerUpdate,
    check: (current: ServerTable, active: OperationTable | undefined) => void = () => {},
  ): Promise<{ server: ServerTable; operation: OperationTable | null }> {
    const { db, clock, capacity, engine } = this.#options
    const { plan_type, preset_id, preset, cpu, ram_mb, disk_gb, iso_id, ...metadata } = request
    const isResize = [plan_type, preset_id, preset, cpu, ram_mb, disk_gb].some((value) => value !== undefined)
    if (isResize && iso_id !== undefined)
      throw invalid([bodyIssue('iso_id', 'mutually_exclusive', 'iso_id cannot be combined with a plan.')])
    if (isResize) await capacity.refresh()
    const canGrow = isResize && capacity.supports(before, 'live_resize')
    if (metadata.backups_enabled) await capacity.require(before, 'backups')
    if (iso_id) await capacity.require(before, 'isos')
    const result = await capacity.reserving(db, async (tx, reserve) => {
      const server = await this.#lock(tx, before.server_id)
      check(server, await findActive(tx, serverSubject(before.server_id)))
      // This uses the locked row, because a resize may have grown the disk since the server was found.
      const now = clock.now()
      const plan = isResize ? resizePlan(await this.#catalogOf(tx, server), server, request, now) : null
      await guard(tx, server, 'update')
      const isLive = plan !== null && canGrow && growsDiskOnly(plan.size, server)
      if (plan) await guard(tx, server, isLive ? 'grow_disk' : 'resize')
      const changed = await updateMetadata(this.#options, tx, server, metadata)
      if (iso_id !== undefined) return changeDrive(this.#options, tx, changed, iso_id)
      if (!plan) return { server: changed, operation: null }
      const growth = difference(plan.size, server)
      await reserveGrowth(tx, server, growth)
      const added = addedCost(server, plan.priceHour)
      if (added > 0) await requireCover(tx, actor.accountId, added)
      reserve(server, growth)
      // The reason stays, because a larger disk changes nothing about how a running guest boots.
      const change = isLive ? { status_reason: changed.status_reason } : {}
      return begin(tx, changed, 'resize', { plan, growth, isLive }, { now, change })
    })
    if (result.operation) engine.wake()
    if (request.labels !== undefined) this.#options.changed([before.server_id])
    return result
  }

  /** The catalogue at the prices of the account. */
  #catalogOf(tx: Queries, { account_id }: ServerTable): Promise<Catalog> {
    return pricedFor(tx, this.#options.catalog, account_id)
  }

  /**
   * Deletes a server in any status, and cancels its operation in progress. A second call returns the same operation.
   * @param options.isForced true to delete it even if it is protected: for operators
   * @param options.remember notes the operation
   * @throws ApiError server_not_found, delete_protected
   */
  async remove(
    serverId: string,
    {
      isForced = false,
      remember = async () => {},
    }: { isForced?: boolean | undefined; remember?: Remember } = {},
  ): Promise<Started> {
    const { db, clock, engine } = this.#options
    let canceled: Awaited<ReturnType<typeof cancelActive>>
    const started = await db.transaction().execute(async (tx) => {
      const server = await this.#lock(tx, serverId)
      const active = await findActive(tx, serverSubject(serverId))
      if (active?.type === 'delete') return { server, operation: active }
      if (!isForced) requireUnprotected(server)
      const now = clock.now()
      canceled = await cancelActive(tx, serverSubject(serverId), now)
      const resize = dataIf('resize', active)
      if (resize) await release(tx, server, resize.growth, 0)
      await this.#endBilling(tx, server, active)
      await yieldTurns(tx, server, canceled, now)
      await endCopy(tx, server, now)
      const begun = await beginDelete(tx, server, now)
      await remember(tx, begun.operation.operation_id)
      return begun
    })
    if (canceled) engine.canceled(canceled)
    engine.wake()
    return started
  }

  /** A server that is deleted during its first boot counts as having run. */
  async #endBilling(tx: Queries, server: ServerTable, active: OperationTable | undefined): Promise<void> {
    // Operations that turn a machine on keep a BootData; the data of others has none of its fields.
    const bootedAt = active ? bootTime(dataOf<BootData>(active)) : null
    if (server.billed_since === null && bootedAt === null) return
    if (server.billed_since === null) await billServer(tx, server, true, bootedAt ?? 0)
    await billServer(tx, server, false, this.#options.clock.now())
  }

  /** Counts servers by status and zone, for the operator. */
  count() {
    return countByStatus(this.#options.db)
  }

  async #lock(tx: Queries, serverId: string): Promise<ServerTable> {
    const server = await lockServer(tx, serverId)
    if (!server) throw new ApiError(serverProblems.server_not_found, 'The server was deleted.')
    return server
  }
}
