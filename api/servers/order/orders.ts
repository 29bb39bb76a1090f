import { refuseHeld } from '../../accounts/status.ts'
import type { Capacity } from '../../catalog/capacity.ts'
import type { Plan } from '../../catalog/plans.ts'
import { dryRun, isSqlite, type Queries, untilFree } from '../../database/database.ts'
import { recordTogether } from '../../events/outbox.ts'
import type { Actor } from '../../http/contract/auth.ts'
import type { ApiError } from '../../http/contract/problem.ts'
import type { Remember } from '../../http/contract/route.ts'
import type { Engine } from '../../operations/engine.ts'
import { beginCreate, type Started } from '../begin.ts'
import type { QuoteRequest, ServerCreate } from '../order-schema.ts'
import { readFacts } from './facts.ts'
import { InOrder } from './in-order.ts'
import { type Order, readOrder, totalOf } from './order.ts'
import type { NewServer, OrderOptions, OrderPart, Reserve, Taking } from './part.ts'
import { newRow, newServer } from './row.ts'
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
  async create(actor: Actor, request: ServerCreate, remember: Remember): Promise<Started> {
    const { engine } = this.#options
    const { accountId } = actor
    const order = await readOrder(this.#options, actor, request)
    const server = newServer(this.#options, accountId, request)
    for (const part of order.parts) await part.check?.(server)
    const write = async (tx: Queries, reserve: Reserve) => {
      const taking = await this.#taking(tx, server, order, reserve)
      const taken = await takeAll(tx, order.parts, taking)
      const row = newRow(this.#options, taking.server, request, order, taken)
      const begun = await beginCreate(tx, row, { start_on_create: request.start_on_create ?? true })
      for (const part of order.parts) await part.add?.(tx, taking)
      await remember(tx, server.server_id)
      return begun
    }
    const attempt = () =>
      this.#reserving(accountId, (tx, reserve) => recordTogether(tx, () => write(tx, reserve)))
    const started = await untilFree(attempt)
    engine.wake()
    return started
  }

  /** Locks the account of an order, and reads the facts that decide if the order can be carried out. */
  async #taking(
    tx: Queries,
    server: NewServer,
    { plan, projectId }: Order,
    reserve: Reserve,
  ): Promise<Taking> {
    const facts = await readFacts(tx, server, plan.size, this.#options.sshPorts)
    const project_id = projectId ?? facts.account.default_project_id
    return { server: { ...server, project_id }, facts, reserve }
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
    const order = await readOrder(this.#options, actor, request)
    const server = newServer(this.#options, actor.accountId, request)
    const held: OrderPart = { check: async () => refuseHeld(actor) }
    const blockers = await untilFree(() =>
      findBlockers([held, ...order.parts], server, (run) =>
        dryRun(this.#options.db, async (tx) => run(tx, await this.#taking(tx, server, order, () => {}))),
      ),
    )
    return { plan: totalOf(order), blockers }
  }
}
