import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Database } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { firewallProblems } from '../firewalls/schema.ts'
import type { Actor } from '../http/contract/auth.ts'
import { requireMatch } from '../http/contract/etag.ts'
import { MOMENT } from '../http/contract/fields.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found, httpProblems, type ProblemType } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { type MetricsOptions, serverMetrics } from '../monitoring/metrics.ts'
import { MetricsQuery, ServerMetrics } from '../monitoring/schema.ts'
import { serverFigures } from '../monitoring/stats.ts'
import { networkProblems } from '../networks/schema.ts'
import type { Engine } from '../operations/engine.ts'
import { findActive, findActiveOf, findOperation } from '../operations/operations.ts'
import { OPERATION, type Operation, type OperationSchemas, operationProblems } from '../operations/schema.ts'
import type { OperationTable } from '../operations/tables.ts'
import { operationView } from '../operations/view.ts'
import { portProblems } from '../ports/schema.ts'
import { type DetailsOptions, serverDetails } from './details.ts'
import { ServerDetails, ServerStats } from './details-schema.ts'
import { plans, type ServerOperation, SUBJECT_TYPE, subjectOf } from './lifecycle/operations.ts'
import { operationRoutes } from './operation-routes.ts'
import { Quote } from './quote-schema.ts'
import {
  QuoteRequest,
  Server,
  ServerCreate,
  ServerQuery,
  ServerUpdate,
  StartRequest,
  StopRequest,
  serverProblems,
} from './schema.ts'
import type { Servers } from './servers.ts'
import { allowedIn, isTransient, type ServerStatus, statusDuring } from './states.ts'
import { findListed, findServer, listServers } from './store.ts'
import type { ServerTable } from './tables.ts'
import { quoteView, serverView, statsView } from './view.ts'

const tag = 'Servers'
const params = { server_id: serverProblems.server_not_found }
const STATE_ERRORS: readonly ProblemType[] = [
  serverProblems.server_state_conflict,
  operationProblems.operation_in_progress,
]
const UPDATE_ERRORS: readonly ProblemType[] = [
  ...STATE_ERRORS,
  billingProblems.insufficient_balance,
  httpProblems.precondition_failed,
  accountProblems.quota_exceeded,
  catalogProblems.capacity_unavailable,
]

export interface ServerRoutesOptions extends DetailsOptions, MetricsOptions {
  drivers: Drivers
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
    ...operationRoutes(options),
  ]
}

function loader(db: Database) {
  return async ({ actor, params }: { actor: Actor; params: { server_id: string } }) =>
    found(await findServer(db, actor.accountId, params.server_id), serverProblems.server_not_found)
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
      description:
        'The servers of all projects, newest first unless `sort` says otherwise; filters are combined with and. Deleted servers are not listed, those being deleted are.',
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
      description:
        'Replies at once with the server in `creating`: wait for its `current_operation`, which succeeds once the guest can be logged in to, or read its status. The balance must cover 24 hours of everything the account has; send an `Idempotency-Key`, so that a repeat after a lost reply does not create a second server.',
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

function quoteRoute({ servers, clock }: ServerRoutesOptions): Route {
  return route({
    id: 'quoteServer',
    method: 'POST',
    deed: 'read',
    path: '/pricing/quote',
    scope: 'servers:read',
    tag: 'Catalogue',
    summary: 'Quote the price of a server and check whether it can be created',
    description:
      'A dry run of `POST /servers` with the same body, of which only the zone, the CPU type and the plan are required: nothing is created or reserved. Invalid values are a 422; whatever else stands in the way, such as the balance or capacity, is listed in `blockers`.',
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
      description:
        'The reply has an `ETag`, for `If-None-Match` when polling, and for `If-Match` with a change. A deleted server is a 404.',
      params,
      load: async ({ actor, params }) =>
        found(await findListed(db, actor.accountId, params.server_id), serverProblems.server_not_found),
      reply: { 200: Server },
      run: async ({ loaded }) => serverView(options, loaded, await activeOn(db, loaded)),
    }),
    detailsRoute(options, load),
    route({
      id: 'updateServer',
      method: 'PATCH',
      path,
      scope: 'servers:write',
      tag,
      summary: 'Update a server, or resize it while it is stopped',
      description:
        'Name, description, labels, project and delete protection change at once: 200. A change of plan needs a stopped server, and is an operation to wait for: 202; a disk can grow, not shrink, and the new price applies from then on.',
      params,
      load,
      body: ServerUpdate,
      reply: { 200: Server, 202: Server },
      examples: { 202: busy('resize') },
      problems: { server_state_conflict: conflict('resize', 'running') },
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

function detailsRoute(options: ServerRoutesOptions, load: ReturnType<typeof loader>): Route {
  return route({
    id: 'getServerDetails',
    method: 'GET',
    path: '/servers/:server_id/details',
    scope: 'servers:read',
    tag,
    summary: 'Get the details of a server, including SSH access',
    description:
      'A server with its project, zone, template and preset, its host keys and how to log in, what it has cost this month, and what can be done with it now. The password, if it has one, is shown only to a token that also holds `servers:write`.',
    params,
    load,
    reply: { 200: ServerDetails },
    run: async ({ actor, loaded, report }) => {
      const details = await serverDetails(options, actor, loaded)
      if (details.ssh.password !== null) report({ event: 'secret_shown', objectId: loaded.server_id })
      return details
    },
  })
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
        'Measured on request; rates are relative to the last sample, a few seconds ago. Values that cannot be measured are null, which most are while the server is off.',
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
        'Up to 30 days per request, by default the last hour. If samples that old are not kept at the resolution of `step`, or there would be more than 2,000 points, a longer step is used and returned in the reply.',
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
    description:
      'The server and all data on its disk are lost for good, in whatever status it is; an operation in progress ends as `canceled`. Billing ends with this request; a repeated one returns the same operation, and afterwards it is a 404.',
    params,
    load,
    reply: { 202: operationSchemas.Operation },
    examples: { 202: accepting('delete') },
    errors: [serverProblems.delete_protected],
    run: async ({ loaded, setHeader }) =>
      accepted((await servers.remove(loaded.server_id)).operation, setHeader),
  })
}

const POWER_TEXTS = {
  start: {
    summary: 'Start a server',
    description:
      'The operation succeeds once the guest can be logged in to. The balance must cover 24 hours of everything that the account has; a server that runs already is a 409.',
  },
  stop: {
    summary: 'Stop a server',
    description:
      'The guest is asked to shut down, and powered off if that takes longer than `timeout_seconds`; with `force` at once, also in place of a stop or reboot in progress. A stopped server keeps its disk and is billed as before: delete it to stop paying.',
  },
  reboot: {
    summary: 'Reboot a server',
    description:
      'The guest is asked to shut down, powered off if that takes longer than `timeout_seconds`, and started again; with `force` it is reset at once. Data that the guest has not written to its disk is lost if it is powered off or reset.',
  },
} as const

/** What the host of a server can't hold any more is refused before it begins. */
const TURN_ON_ERRORS = [
  billingProblems.insufficient_balance,
  firewallProblems.firewall_limit_reached,
  catalogProblems.not_supported,
]

function powerRoutes(options: ServerRoutesOptions, load: ReturnType<typeof loader>): Route[] {
  const { db, clock, servers, operationSchemas } = options
  return (['start', 'stop', 'reboot'] as const).map((type) =>
    route({
      id: `${type}Server`,
      method: 'POST',
      deed: type === 'stop' ? 'stop' : 'change',
      path: `/servers/:server_id/${type}`,
      scope: 'servers:write',
      tag,
      ...POWER_TEXTS[type],
      params,
      load,
      body: type === 'start' ? StartRequest : StopRequest,
      reply: { 202: operationSchemas.Operation },
      examples: { 202: accepting(type) },
      problems: {
        server_state_conflict: conflict(type, type === 'start' ? 'running' : 'stopped'),
        not_supported: { feature: 'firewalls' },
      },
      errors: [...STATE_ERRORS, ...(type === 'stop' ? [] : TURN_ON_ERRORS)],
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

/** What the example of a refusal says on the route of this action. */
function conflict(action: keyof typeof allowedIn, current_status: ServerStatus) {
  return { current_status, allowed_statuses: allowedIn[action] }
}

/** What the example of an operation says when it has just been accepted. */
function accepting(type: ServerOperation) {
  const step = plans[type].first({} as never) // nothing is asked of it but what is usual
  return { type, step, status: 'pending', progress: 0, started_at: null, finished_at: null }
}

/** What the example of a server says when an operation on it has just been accepted: its machine is off. */
function busy(type: ServerOperation) {
  const { status, progress } = accepting(type)
  const current_operation = { operation_id: OPERATION, type, status, progress }
  return { status: statusDuring[type], started_at: null, current_operation }
}

function operationPath({ server_id, operation_id }: OperationTable): string {
  return `/v1/servers/${server_id}/operations/${operation_id}`
}

function accepted(operation: OperationTable, setHeader: (name: string, value: string) => void): Operation {
  setHeader('location', operationPath(operation))
  return operationView(operation)
}
