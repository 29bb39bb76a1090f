import { catalogProblems } from '../catalog/schema.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import { findOperation } from '../operations/operations.ts'
import { type OperationSchemas, operationProblems } from '../operations/schema.ts'
import type { OperationTable } from '../operations/tables.ts'
import { operationView } from '../operations/view.ts'
import { type AttachmentsOptions, attach, detach, type NetworkOperation, STEP } from './attachments.ts'
import { findNetwork, NETWORK_SUBJECT, networkLoader, networkSubject } from './networks.ts'
import { NetworkAttach, networkProblems } from './schema.ts'

const tag = 'Networks'
const path = '/networks/:network_id/servers'

export interface AttachmentRoutesOptions extends AttachmentsOptions {
  operationSchemas: OperationSchemas
}

export function attachmentRoutes(options: AttachmentRoutesOptions): Route[] {
  return [attachRoute(options), detachRoute(options)]
}

function attachRoute(options: AttachmentRoutesOptions): Route {
  const { db, clock, operationSchemas } = options
  return route({
    id: 'attachNetwork',
    method: 'POST',
    path,
    scope: 'servers:write',
    tag,
    summary: 'Attach a server to a private network',
    description:
      'A running server gets a network card at once, and cloud-init configures its address at the next boot; until then, run the `command` of `network.private` in its details. The address is reserved when the request is accepted; a server can be in 8 networks whose ranges do not overlap.',
    params: { network_id: networkProblems.network_not_found },
    load: networkLoader(options),
    body: NetworkAttach,
    reply: { 202: operationSchemas.Operation },
    examples: { 202: accepting('attach_network') },
    errors: [
      catalogProblems.not_supported,
      operationProblems.operation_in_progress,
      networkProblems.network_attached,
      networkProblems.network_address_unavailable,
    ],
    run: async ({ loaded, body, remember, setHeader }) =>
      accepted(await attach(options, loaded, body, remember), setHeader),
    recover: async ({ actor, loaded, setHeader }, operationId) => {
      const subject = networkSubject(loaded.network_id)
      const operation = await findOperation(db, actor.accountId, operationId, clock.now(), subject)
      return accepted(found(operation, networkProblems.network_not_found), setHeader)
    },
  })
}

function detachRoute(options: AttachmentRoutesOptions): Route {
  return route({
    id: 'detachNetwork',
    method: 'DELETE',
    path: `${path}/:server_id`,
    scope: 'servers:write',
    tag,
    summary: 'Detach a server from a private network',
    description:
      'Once the operation has succeeded, the server can neither send nor receive in the network; its card disappears when the guest releases it. A server that is not in the network returns 404.',
    params: {
      network_id: networkProblems.network_not_found,
      server_id: options.serverNotFound,
    },
    load: async ({ actor, params: { network_id, server_id } }) => {
      const network = await findNetwork(options.db, actor.accountId, network_id)
      return { network: found(network, options.serverNotFound), serverId: server_id }
    },
    reply: { 202: options.operationSchemas.Operation },
    examples: { 202: accepting('detach_network') },
    errors: [operationProblems.operation_in_progress],
    run: async ({ loaded: { network, serverId }, setHeader }) =>
      accepted(await detach(options, network, serverId), setHeader),
  })
}

/** The example of an operation that has just been accepted. */
function accepting(type: NetworkOperation) {
  const waiting = { status: 'pending', progress: 0, started_at: null, finished_at: null }
  return { type, step: STEP, subject_type: NETWORK_SUBJECT, ...waiting }
}

function accepted(operation: OperationTable, setHeader: SetHeader) {
  setHeader('location', `/v1/operations/${operation.operation_id}`)
  return operationView(operation)
}
