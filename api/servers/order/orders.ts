import { randomInt } from 'node:crypto'
import { refuseHeld } from '../../accounts/status.ts'
import type { Capacity } from '../../catalog/capacity.ts'
import type { Plan } from '../../catalog/plans.ts'
import { isSqlite, type Queries } from '../../database/database.ts'
import { MOST_NUMBERS } from '../../drivers/addresses.ts'
import { recordTogether } from '../../events/outbox.ts'
import type { Actor } from '../../http/contract/auth.ts'
import type { ApiError } from '../../http/contract/problem.ts'
import type { Remember } from '../../http/contract/route.ts'
import type { Engine } from '../../operations/engine.ts'
import { beginCreate, type Started } from '../begin.ts'
import type { QuoteRequest, ServerCreate } from '../order-schema.ts'
import { InOrder } from './in-order.ts'
import { readOrder, totalOf } from './order.ts'
import type { OrderOptions, OrderPart, Reserve } from './part.ts'
import { newRow, orderedServer } from './row.ts'
import { findBlockers, takeAll } from './taking.ts'

interface OrdersOptions extends OrderOptions {
  engine: Engine
}

/** Orders of servers, and quotes, which are their dry runs. */
export class Orders {
  readonly #options: OrdersOptions
  readonly #inOrder: InOrder

  constructor(options: OrdersOptions) {
    this.#options = options
    this.#inOrder = new InOrder(options.clock)
  }

  /** @throws ApiError validation_failed, not_supported, account_suspended, quota_exceeded, insufficient_balance, capacity_unavailable, port_taken, network_address_unavailable, firewall_limit_reached */
  async create({ accountId }: Actor, request: ServerCreate, remember: Remember): Promise<Started> {
    const { engine } = this.#options
    const order = await readOrder(this.#options, accountId, request)
    const ordered = orderedServer(this.#options, accountId, request, order)
    for (const part of order.parts) await part.check?.(ordered)
    const write = async (tx: Queries, reserve: Reserve) => {
      const taken = await takeAll(tx, order.parts, ordered, reserve)
      const row = newRow(this.#options, ordered, request, order, taken)
      const data = { start_on_create: request.start_on_create ?? true }
      let begun: Started | null = null
      while (!begun) begun = await beginCreate(tx, { ...row, number: randomInt(1, MOST_NUMBERS + 1) }, data)
      for (const part of order.parts) await part.add?.(tx, ordered)
      await remember(tx, ordered.server_id)
      return begun
    }
    const started = await this.#reserving(accountId, (tx, reserve) =>
      recordTogether(tx, () => write(tx, reserve)),
    )
    engine.wake()
    return started
  }

  /**
   * The orders of one account would wait for its row, each holding a connection, and wake each other up with every
   * commit. On SQLite they share commits.
   */
  #reserving<Result>(
    accountId: string,
    run: Parameters<typeof Capacity.prototype.reserving<Result>>[1],
  ): Promise<Result> {
    const { db, capacity } = this.#options
    const order = () => capacity.reserving(db, run)
    return isSqlite(db) ? order() : this.#inOrder.run(accountId, order)
  }

  /**
   * A dry run of create: the same validation, the same reservations, all undone.
   * @throws ApiError validation_failed
   */
  async quote(actor: Actor, request: QuoteRequest): Promise<{ plan: Plan; blockers: ApiError[] }> {
    const order = await readOrder(this.#options, actor.accountId, request)
    const ordered = orderedServer(this.#options, actor.accountId, request, order)
    const held: OrderPart = { check: async () => refuseHeld(actor) }
    const blockers = await findBlockers(this.#options.db, [held, ...order.parts], ordered)
    return { plan: totalOf(order), blockers }
  }
}
