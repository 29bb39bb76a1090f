import { accountProblems } from '../../accounts/schema.ts'
import { billingProblems } from '../../billing/schema.ts'
import { catalogProblems } from '../../catalog/schema.ts'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { MOMENT } from '../../http/contract/fields.ts'
import { found } from '../../http/contract/problem.ts'
import { type Route, route } from '../../http/contract/route.ts'
import { networkProblems } from '../../networks/schema.ts'
import { portProblems } from '../../ports/schema.ts'
import { imageProblems } from '../../snapshots/image-schema.ts'
import { snapshotProblems } from '../../snapshots/schema.ts'
import { activeOn, busy } from '../operation-replies.ts'
import { QuoteRequest, ServerCreate } from '../order-schema.ts'
import { Quote } from '../quote-schema.ts'
import { Server, serverProblems } from '../schema.ts'
import { findServer } from '../store.ts'
import type { SshPlace } from '../view.ts'
import { quoteView, serverView } from '../view.ts'
import type { Orders } from './orders.ts'

const tag = 'Servers'

export interface OrderRoutesOptions extends SshPlace {
  db: Database
  clock: Clock
  orders: Orders
}

export function orderRoutes(options: OrderRoutesOptions): Route[] {
  return [quoteRoute(options), createRoute(options)]
}

function quoteRoute({ orders, clock }: OrderRoutesOptions): Route {
  return route({
    id: 'quoteServer',
    method: 'POST',
    deed: 'read',
    path: '/pricing/quote',
    scope: 'servers:read',
    tag: 'Catalogue',
    summary: 'Quote the price of a server and check whether it can be created',
    description:
      'A dry run of `POST /servers` with the same body, of which only the zone, the CPU type and the plan are required: nothing is created or reserved. Invalid values are a 422; other obstacles, such as the balance or capacity, are listed in `blockers`.',
    body: QuoteRequest,
    reply: { 200: Quote },
    makesNothing: true,
    run: async ({ actor, body }) => quoteView(body, await orders.quote(actor, body), clock.now()),
  })
}

function createRoute(options: OrderRoutesOptions): Route {
  const { db, orders } = options
  return route({
    id: 'createServer',
    method: 'POST',
    path: '/servers',
    scope: 'servers:write',
    tag,
    summary: 'Create a server',
    description:
      'Requires `template`, `template_id`, `snapshot_id` or `image_id`, and for the plan type `preset` also `preset` or `preset_id`. Replies at once with the server in `creating`: wait for its `current_operation`, which succeeds once the guest can be logged in to, or read its status. The balance must cover 24 hours of everything the account has; send an `Idempotency-Key`, so that a repeat after a lost reply does not create a second server.',
    body: ServerCreate,
    reply: { 202: Server },
    examples: { 202: { ...busy('create'), updated_at: MOMENT } },
    errors: [
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      catalogProblems.capacity_unavailable,
      catalogProblems.not_supported,
      portProblems.port_taken,
      networkProblems.network_address_unavailable,
      serverProblems.server_not_found,
      snapshotProblems.snapshot_not_found,
      imageProblems.image_not_found,
    ],
    run: async ({ actor, body, setHeader, remember }) => {
      const { server, operation } = await orders.create(actor, body, remember)
      setHeader('location', `/v1/servers/${server.server_id}`)
      return serverView(options, server, operation)
    },
    recover: async ({ actor, setHeader }, serverId) => {
      const server = found(await findServer(db, actor.accountId, serverId), serverProblems.server_not_found)
      setHeader('location', `/v1/servers/${serverId}`)
      return serverView(options, server, await activeOn(db, server))
    },
  })
}
