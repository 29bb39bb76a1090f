import Type from 'typebox'
import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import { operationProblems } from '../operations/schema.ts'
import {
  findPort,
  listPorts,
  type PortsOptions,
  type PublishedServer,
  portQuota,
  publishPort,
  unpublishPort,
} from './ports.ts'
import { PortPublish, PublishedPort, portProblems } from './schema.ts'
import type { PortTable } from './tables.ts'
import { portView } from './view.ts'

const tag = 'Servers'
const path = '/servers/:server_id/ports'

export function portRoutes(options: PortsOptions): Route[] {
  return [listRoute(options), publishRoute(options), unpublishRoute(options)]
}

/** Finds the server that the path names. */
function loader({ db, serverRows, serverNotFound }: PortsOptions) {
  return async ({ actor, params }: { actor: Actor; params: { server_id: string } }) =>
    found(await serverRows.find(db, actor.accountId, params.server_id), serverNotFound)
}

function listRoute(options: PortsOptions): Route {
  const { db, hostOf, serverNotFound } = options
  return route({
    id: 'listPorts',
    method: 'GET',
    path,
    scope: 'servers:read',
    tag,
    summary: 'List the published ports of a server',
    description:
      'Each forwards a port of `host` to a port of the server. The newest is first; the one for SSH, which every server has, is last.',
    params: { server_id: serverNotFound },
    load: loader(options),
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(PublishedPort) },
    run: (call) =>
      paged(
        call,
        (page) => listPorts(db, call.loaded.server_id, page),
        (row) => portView(row, hostOf(call.loaded.zone_slug)),
      ),
  })
}

function publishRoute(options: PortsOptions): Route {
  const shown = ({ zone_slug }: PublishedServer, row: PortTable, setHeader: SetHeader) => {
    setHeader('location', `/v1/servers/${row.server_id}/ports`)
    return portView(row, options.hostOf(zone_slug))
  }
  return route({
    id: 'publishPort',
    method: 'POST',
    path,
    scope: 'servers:write',
    tag,
    summary: 'Publish a port of a server',
    description:
      'Within a second, and without a restart, connections to `host` and `host_port` reach that port of the server, as long as it is on. If the zone cannot change the ports of a running server, `status` is `pending` until the server is stopped and started again. A host port leads to one server for each protocol; without `host_port`, a free port from the range of the installation is chosen.',
    params: { server_id: options.serverNotFound },
    load: loader(options),
    body: PortPublish,
    reply: { 201: PublishedPort },
    problems: { quota_exceeded: atLimit(portQuota) },
    errors: [
      catalogProblems.not_supported,
      operationProblems.operation_in_progress,
      accountProblems.quota_exceeded,
      portProblems.port_taken,
      portProblems.port_not_found,
    ],
    run: async ({ loaded, body, remember, setHeader }) =>
      shown(loaded, await publishPort(options, loaded, body, remember), setHeader),
    recover: async ({ loaded, setHeader }, portId) =>
      shown(
        loaded,
        found(
          await findPort(options.db, loaded.account_id, loaded.server_id, portId),
          portProblems.port_not_found,
        ),
        setHeader,
      ),
  })
}

function unpublishRoute(options: PortsOptions): Route {
  return route({
    id: 'unpublishPort',
    method: 'DELETE',
    path: `${path}/:port_id`,
    scope: 'servers:write',
    tag,
    summary: 'Stop publishing a port of a server',
    description:
      'New connections to its host port fail, and the host port is free for others at once. If the zone cannot change the ports of a running server, the port is listed as `closing`, and still leads to the server, until the server is stopped and started again. The port for SSH cannot be deleted.',
    params: { server_id: options.serverNotFound, port_id: portProblems.port_not_found },
    load: async ({ actor, params }) =>
      found(
        await findPort(options.db, actor.accountId, params.server_id, params.port_id),
        portProblems.port_not_found,
      ),
    reply: { 204: null },
    errors: [portProblems.port_is_system],
    run: ({ loaded }) => unpublishPort(options, loaded),
  })
}
