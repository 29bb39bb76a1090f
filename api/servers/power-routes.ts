import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { firewallProblems } from '../firewalls/schema.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { listOperations } from '../operations/operations.ts'
import type { OperationSchemas } from '../operations/schema.ts'
import { accepted, acceptedBefore, accepting, conflict, STATE_ERRORS } from './operation-replies.ts'
import { serverSubject } from './operations.ts'
import type { ServerLoader } from './rows.ts'
import { StartRequest, StopRequest, serverProblems } from './schema.ts'
import type { Servers } from './servers.ts'

const tag = 'Servers'
const params = { server_id: serverProblems.server_not_found }

export interface PowerRoutesOptions {
  db: Database
  clock: Clock
  servers: Servers
  operationSchemas: OperationSchemas
}

/** Routes that turn a server on and off, and delete it. */
export function powerRoutes(options: PowerRoutesOptions, load: ServerLoader): Route[] {
  return [deleteRoute(options, load), ...turnRoutes(options, load)]
}

function deleteRoute(options: PowerRoutesOptions, load: ServerLoader): Route {
  const { db, clock, servers, operationSchemas } = options
  return route({
    id: 'deleteServer',
    method: 'DELETE',
    path: '/servers/:server_id',
    scope: 'servers:write',
    tag,
    summary: 'Delete a server and its disk',
    description:
      'The server and all data on its disk are lost for good, in whatever status it is; an operation in progress ends as `canceled`. Its backups stay for a week. Billing ends with this request. The deletion does not fail: while the host does not answer, the server stays `deleting`, and it is tried again. A repeated one returns the same operation, and afterwards it is a 404, except with the same `Idempotency-Key`.',
    params,
    load,
    reply: { 202: operationSchemas.Operation },
    examples: { 202: accepting('delete') },
    errors: [serverProblems.delete_protected],
    run: async ({ loaded, setHeader }) =>
      accepted((await servers.remove(loaded.server_id)).operation, setHeader),
    recover: async ({ actor, setHeader }, serverId) => {
      const newest = { limit: 1, offset: 0 }
      const { items } = await listOperations(
        db,
        actor.accountId,
        serverSubject(serverId),
        newest,
        clock.now(),
      )
      return accepted(found(items[0], serverProblems.server_not_found), setHeader)
    },
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

/** Errors of a start that the server's host has no room for, or the balance does not cover. */
const TURN_ON_ERRORS = [
  billingProblems.insufficient_balance,
  firewallProblems.firewall_limit_reached,
  catalogProblems.not_supported,
]

function turnRoutes(options: PowerRoutesOptions, load: ServerLoader): Route[] {
  const { servers, operationSchemas } = options
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
      recover: acceptedBefore(options),
    }),
  )
}
