import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Page } from '../database/page.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { requireMatch } from '../http/contract/etag.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found, httpProblems, type ProblemType } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import type { MetricsOptions } from '../monitoring/metrics.ts'
import type { Engine } from '../operations/engine.ts'
import { findActiveOf } from '../operations/operations.ts'
import type { OperationSchemas } from '../operations/schema.ts'
import type { OperationTable } from '../operations/tables.ts'
import { detailRoutes } from './detail-routes.ts'
import type { DetailsOptions } from './details.ts'
import { activeOn, busy, conflict, operationPath, STATE_ERRORS } from './operation-replies.ts'
import { operationRoutes } from './operation-routes.ts'
import { SERVER_SUBJECT } from './operations.ts'
import { ServerUpdate } from './order-schema.ts'
import { powerRoutes } from './power-routes.ts'
import { type ServerLoader, serverLoader } from './rows.ts'
import { Server, ServerQuery, serverProblems } from './schema.ts'
import type { Servers } from './servers.ts'
import { isBusy } from './states.ts'
import { findListed, listServers } from './store.ts'
import type { ServerTable } from './tables.ts'
import { serverView } from './view.ts'

const tag = 'Servers'
const params = { server_id: serverProblems.server_not_found }
const UPDATE_ERRORS: readonly ProblemType[] = [
  ...STATE_ERRORS,
  billingProblems.insufficient_balance,
  httpProblems.precondition_failed,
  accountProblems.quota_exceeded,
  catalogProblems.capacity_unavailable,
  catalogProblems.not_supported,
]

export interface ServerRoutesOptions extends DetailsOptions, MetricsOptions {
  drivers: Drivers
  servers: Servers
  engine: Engine
  operationSchemas: OperationSchemas
}

export function serverRoutes(options: ServerRoutesOptions): Route[] {
  const load = serverLoader(options.db)
  return [
    listRoute(options),
    ...objectRoutes(options, load),
    ...detailRoutes(options, load),
    ...powerRoutes(options, load),
    ...operationRoutes(options),
  ]
}

function listRoute(options: ServerRoutesOptions): Route {
  const { db } = options
  return route({
    id: 'listServers',
    method: 'GET',
    path: '/servers',
    scope: 'servers:read',
    tag,
    summary: 'List servers',
    description:
      'The servers of all projects, newest first unless `sort` is given; filters are combined with and. Deleted servers are not listed, those being deleted are.',
    query: ServerQuery,
    reply: { 200: listOf(Server) },
    run: async (call) => {
      const find = async (page: Page) => {
        const { items, total } = await listServers(db, call.actor.accountId, call.query, page)
        const busy = items.filter(isBusy).map((row) => row.server_id)
        const active = await findActiveOf(db, SERVER_SUBJECT, busy)
        return { items: items.map((row) => ({ row, active: active.get(row.server_id) })), total }
      }
      return paged(call, find, ({ row, active }) => serverView(options, row, active))
    },
  })
}

function objectRoutes(options: ServerRoutesOptions, load: ServerLoader): Route[] {
  const { db, servers } = options
  const path = '/servers/:server_id'
  return [
    route({
      id: 'getServer',
      method: 'GET',
      hasEtag: true,
      path,
      scope: 'servers:read',
      tag,
      summary: 'Get a server',
      description:
        'The reply has an `ETag`, for `If-None-Match` when polling, and for `If-Match` with a change. A deleted server is a 404.',
      params,
      load: async ({ actor, params }) =>
        found(await findListed(db, actor.accountId, params.server_id), serverProblems.server_not_found),
      reply: { 200: Server },
      run: async ({ loaded }) => serverView(options, loaded, await activeOn(db, loaded)),
    }),
    route({
      id: 'updateServer',
      method: 'PATCH',
      path,
      scope: 'servers:write',
      tag,
      summary: 'Update a server, resize it, or change the ISO in its drive',
      description:
        'Name, description, labels, project and delete protection change at once: 200. A change of plan is an operation to wait for: 202. It needs a stopped server, or a running one if only the disk grows and its zone has `live_resize`. The agent in the guest then grows partition and file system of `/` (ext4, XFS, Btrfs); without an agent the next boot does. A disk never shrinks, and the new price applies from then on. A change of `iso_id` is an operation too, also while the server runs and whatever its guest does with the drive; the next start boots from the ISO, and does not wait for SSH.',
      params,
      load,
      body: ServerUpdate,
      reply: { 200: Server, 202: Server },
      examples: { 202: busy('resize') },
      problems: {
        server_state_conflict: conflict('resize', 'running'),
        not_supported: { feature: 'isos' },
      },
      errors: UPDATE_ERRORS,
      run: async ({ actor, loaded, body, ifMatch, setHeader, setStatus }) => {
        const check = (current: ServerTable, active: OperationTable | undefined) =>
          requireMatch(ifMatch, serverView(options, current, active))
        const { server, operation } = await servers.update(actor, loaded, body, check)
        if (operation) {
          setStatus(202)
          setHeader('location', operationPath(operation))
        }
        return serverView(options, server, operation ?? (await activeOn(db, server)))
      },
    }),
  ]
}
