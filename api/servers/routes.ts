import Type from 'typebox'
import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Database } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import type { OperationTable, ServerTable } from '../database/schema.ts'
import type { Actor } from '../http/auth.ts'
import { requireMatch } from '../http/etag.ts'
import { listOf, paged, pagingQuery } from '../http/paging.ts'
import { found, httpProblems, notFound, type ProblemType } from '../http/problem.ts'
import { type Route, route } from '../http/route.ts'
import { type MetricsOptions, serverMetrics } from '../monitoring/metrics.ts'
import { MetricsQuery, ServerMetrics } from '../monitoring/schema.ts'
import { serverFigures } from '../monitoring/stats.ts'
import type { Engine } from '../operations/engine.ts'
import { findActive, findActiveOf, findOperation, listOperations } from '../operations/operations.ts'
import {
  type Operation,
  type OperationSchemas,
  OperationWait,
  operationProblems,
} from '../operations/schema.ts'
import { operationView } from '../operations/view.ts'
import { type DetailsOptions, serverDetails } from './details.ts'
import { SUBJECT_TYPE, subjectOf } from './lifecycle/operations.ts'
import {
  Quote,
  QuoteRequest,
  Server,
  ServerCreate,
  ServerDetails,
  ServerQuery,
  ServerStats,
  ServerUpdate,
  StartRequest,
  StopRequest,
  serverProblems,
} from './schema.ts'
import type { Servers } from './servers.ts'
import { isTransient } from './states.ts'
import { findListed, findServer, listServers } from './store.ts'
import { quoteView, serverView, statsView } from './view.ts'

const tag = 'Servers'
const params = { server_id: serverProblems.server_not_found }
const STATE_ERRORS: readonly ProblemType[] = [
  serverProblems.server_state_conflict,
  serverProblems.operation_in_progress,
]
const UPDATE_ERRORS: readonly ProblemType[] = [
  ...STATE_ERRORS,
  billingProblems.insufficient_balance,
  httpProblems.precondition_failed,
  accountProblems.quota_exceeded,
  catalogProblems.capacity_unavailable,
]

export interface ServerRoutesOptions extends DetailsOptions, MetricsOptions {
  servers: Servers
  engine: Engine
  operationSchemas: OperationSchemas
}

export function serverRoutes(options: ServerRoutesOptions): Route[] {
  const load = loader(options.db)
  return [
    quoteRoute(options),
    ...collectionRoutes(options),
    ...objectRoutes(options, load),
    ...monitoringRoutes(options, load),
    deleteRoute(options, load),
    ...powerRoutes(options, load),
    operationsRoute(options),
    operationRoute(options),
  ]
}

function loader(db: Database) {
  return async ({ actor, params }: { actor: Actor; params: { server_id: string } }) => {
    const server = found(
      await findServer(db, actor.accountId, params.server_id),
      serverProblems.server_not_found,
    )
    return server
  }
}

async function activeOn(
  db: Database,
  { server_id, status }: Pick<ServerTable, 'server_id' | 'status'>,
): Promise<OperationTable | undefined> {
  return isTransient(status) ? findActive(db, subjectOf(server_id)) : undefined
}

function collectionRoutes(options: ServerRoutesOptions): Route[] {
  const { db, servers } = options
  return [
    route({
      id: 'listServers',
      method: 'GET',
      path: '/servers',
      scope: 'servers:read',
      tag,
      summary: 'List servers',
      query: ServerQuery,
      reply: { 200: listOf(Server) },
      run: async (call) => {
        const find = async (page: Page) => {
          const { items, total } = await listServers(db, call.actor.accountId, call.query, page)
          const busy = items.filter((row) => isTransient(row.status)).map((row) => row.server_id)
          const active = await findActiveOf(db, SUBJECT_TYPE, busy)
          return { items: items.map((row) => ({ row, active: active.get(row.server_id) })), total }
        }
        return paged(call, find, ({ row, active }) => serverView(options, row, active))
      },
    }),
    route({
      id: 'createServer',
      method: 'POST',
      path: '/servers',
      scope: 'servers:write',
      tag,
      summary: 'Create a server',
      body: ServerCreate,
      reply: { 202: Server },
      examples: { 202: { status: 'creating', started_at: null, current_operation: beginning('create') } },
      errors: [
        accountProblems.quota_exceeded,
        billingProblems.insufficient_balance,
        catalogProblems.capacity_unavailable,
        serverProblems.server_not_found,
      ],
      run: async ({ actor, body, setHeader, remember }) => {
        const { server, operation } = await servers.create(actor, body, remember)
        setHeader('location', `/v1/servers/${server.server_id}`)
        return serverView(options, server, operation)
      },
      recover: async ({ actor, setHeader }, serverId) => {
        const server = found(await findServer(db, actor.accountId, serverId), serverProblems.server_not_found)
        setHeader('location', `/v1/servers/${serverId}`)
        return serverView(options, server, await activeOn(db, server))
      },
    }),
  ]
}

/** What the example of a server says of the operation that a request has just begun. */
function beginning(type: 'create' | 'resize') {
  return { operation_id: '01a1fb45-1ac4-7139-823a-0f4159fa3bf6', type, status: 'pending', progress: 0 }
}

function quoteRoute({ servers, clock }: ServerRoutesOptions): Route {
  return route({
    id: 'quoteServer',
    method: 'POST',
    deed: 'read',
    path: '/pricing/quote',
    scope: 'servers:read',
    tag: 'Catalogue',
    summary: 'Quote the price of a server and check whether it can be created',
    body: QuoteRequest,
    reply: { 200: Quote },
    makesNothing: true,
    run: async ({ actor, body }) => quoteView(body, await servers.quote(actor, body), clock.now()),
  })
}

function objectRoutes(options: ServerRoutesOptions, load: ReturnType<typeof loader>): Route[] {
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
      params,
      load: async ({ actor, params }) => {
        const server = await findListed(db, actor.accountId, params.server_id)
        if (!server) throw notFound(serverProblems.server_not_found)
        return server
      },
      reply: { 200: Server },
      run: async ({ loaded }) => serverView(options, loaded, await activeOn(db, loaded)),
    }),
    route({
      id: 'getServerDetails',
      method: 'GET',
      path: `${path}/details`,
      scope: 'servers:read',
      tag,
      summary: 'Get the details of a server, including SSH access',
      params,
      load,
      reply: { 200: ServerDetails },
      run: ({ actor, loaded }) => serverDetails(options, actor, loaded),
    }),
    route({
      id: 'updateServer',
      method: 'PATCH',
      path,
      scope: 'servers:write',
      tag,
      summary: 'Update a server, or resize it while it is stopped',
      params,
      load,
      body: ServerUpdate,
      reply: { 200: Server, 202: Server },
      examples: { 202: { status: 'resizing', started_at: null, current_operation: beginning('resize') } },
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

function monitoringRoutes(options: ServerRoutesOptions, load: ReturnType<typeof loader>): Route[] {
  const path = '/servers/:server_id'
  return [
    route({
      id: 'getServerStats',
      method: 'GET',
      path: `${path}/stats`,
      scope: 'servers:read',
      tag,
      summary: 'Get the current resource usage of a server',
      description:
        'Measured on request. Values that cannot be measured are null, which most are while the server is off.',
      params,
      load,
      reply: { 200: ServerStats },
      run: async ({ loaded }) => statsView(loaded, await serverFigures(options, loaded)),
    }),
    route({
      id: 'getServerMetrics',
      method: 'GET',
      path: `${path}/metrics`,
      scope: 'servers:read',
      tag,
      summary: 'Get the resource usage of a server over time',
      description:
        'Up to 30 days per request. If samples that old are not kept at the resolution of `step`, or there would be more than 2,000 points, a longer step is used and returned in the reply.',
      params,
      load,
      query: MetricsQuery,
      reply: { 200: ServerMetrics },
      run: ({ loaded, query }) => serverMetrics(options, loaded.server_id, query),
    }),
  ]
}

function deleteRoute(
  { servers, operationSchemas }: ServerRoutesOptions,
  load: ReturnType<typeof loader>,
): Route {
  return route({
    id: 'deleteServer',
    method: 'DELETE',
    path: '/servers/:server_id',
    scope: 'servers:write',
    tag,
    summary: 'Delete a server and its disk',
    params,
    load,
    reply: { 202: operationSchemas.Operation },
    errors: [serverProblems.delete_protected],
    run: async ({ loaded, setHeader }) =>
      accepted((await servers.remove(loaded.server_id)).operation, setHeader),
  })
}

function powerRoutes(options: ServerRoutesOptions, load: ReturnType<typeof loader>): Route[] {
  const { db, clock, servers, operationSchemas } = options
  const summaries = { start: 'Start a server', stop: 'Stop a server', reboot: 'Reboot a server' }
  return (['start', 'stop', 'reboot'] as const).map((type) =>
    route({
      id: `${type}Server`,
      method: 'POST',
      deed: type === 'stop' ? 'stop' : 'change',
      path: `/servers/:server_id/${type}`,
      scope: 'servers:write',
      tag,
      summary: summaries[type],
      params,
      load,
      body: type === 'start' ? StartRequest : StopRequest,
      reply: { 202: operationSchemas.Operation },
      errors: [...STATE_ERRORS, ...(type === 'stop' ? [] : [billingProblems.insufficient_balance])],
      run: async ({ actor, loaded, body, remember, setHeader }) => {
        const { operation } = await servers.power(actor, loaded.server_id, { ...body, type }, remember)
        return accepted(operation, setHeader)
      },
      recover: async ({ actor, loaded, setHeader }, operationId) => {
        const subject = subjectOf(loaded.server_id)
        const operation = found(
          await findOperation(db, actor.accountId, operationId, clock.now(), subject),
          serverProblems.server_not_found,
        )
        return accepted(operation, setHeader)
      },
    }),
  )
}

function operationPath({ server_id, operation_id }: OperationTable): string {
  return `/v1/servers/${server_id}/operations/${operation_id}`
}

function accepted(operation: OperationTable, setHeader: (name: string, value: string) => void): Operation {
  setHeader('location', operationPath(operation))
  return operationView(operation)
}

const operationsPath = '/servers/:server_id/operations'

function operationsRoute({ db, clock, operationSchemas }: ServerRoutesOptions): Route {
  const list = (accountId: string, serverId: string, page: Page) =>
    listOperations(db, accountId, subjectOf(serverId), page, clock.now())
  return route({
    id: 'listOperations',
    method: 'GET',
    path: operationsPath,
    scope: 'servers:read',
    tag,
    summary: 'List the operations of a server, even a deleted one',
    params,
    query: Type.Object(pagingQuery),
    load: async ({ actor, params }) => {
      const { total } = await list(actor.accountId, params.server_id, { limit: 1, offset: 0 })
      if (total === 0) throw notFound(serverProblems.server_not_found)
    },
    reply: { 200: listOf(operationSchemas.Operation) },
    run: (call) =>
      paged(call, (page) => list(call.actor.accountId, call.params.server_id, page), operationView),
  })
}

function operationRoute({ db, engine, clock, operationSchemas }: ServerRoutesOptions): Route {
  return route({
    id: 'getOperation',
    method: 'GET',
    path: `${operationsPath}/:operation_id`,
    scope: 'servers:read',
    tag,
    summary: 'Get an operation, or wait until it has finished',
    params: { ...params, operation_id: operationProblems.operation_not_found },
    query: OperationWait,
    load: async ({ actor, params }) => {
      const subject = subjectOf(params.server_id)
      return found(
        await findOperation(db, actor.accountId, params.operation_id, clock.now(), subject),
        operationProblems.operation_not_found,
      )
    },
    reply: { 200: operationSchemas.Operation },
    run: async ({ loaded, query, signal }) =>
      operationView(await engine.waitFor(loaded, (query.wait ?? 0) * 1000, signal)),
  })
}
