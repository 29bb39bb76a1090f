import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import type { Engine } from './engine.ts'
import { findOperation, listOperations, type ServersWithProjects } from './operations.ts'
import { type OperationSchemas, OperationWait, operationProblems } from './schema.ts'
import { operationView } from './view.ts'

const tag = 'Operations'

export interface OperationRoutesOptions {
  db: Database
  clock: Clock
  engine: Engine
  operationSchemas: OperationSchemas
  allServers: ServersWithProjects
}

/** The operations of an account, on all kinds of subjects. */
export function operationRoutes(options: OperationRoutesOptions): Route[] {
  const { db, clock, engine, operationSchemas, allServers } = options
  const { Operation, OperationQuery } = operationSchemas
  return [
    route({
      id: 'listAccountOperations',
      method: 'GET',
      path: '/operations',
      scope: 'servers:read',
      tag,
      summary: 'List the operations of the account',
      description:
        'Operations on all resources, newest first; filters are combined with and. Operations on deleted resources are listed for seven more days.',
      query: OperationQuery,
      reply: { 200: listOf(Operation) },
      run: (call) => {
        const { project_id, ...given } = call.query
        const within = project_id === undefined ? undefined : { project_id, servers: allServers }
        const filter = { ...given, within }
        return paged(
          call,
          (page) => listOperations(db, call.actor.accountId, filter, page, clock.now()),
          operationView,
        )
      },
    }),
    route({
      id: 'getAccountOperation',
      method: 'GET',
      path: '/operations/:operation_id',
      scope: 'servers:read',
      tag,
      summary: 'Get an operation of the account, or wait until it has finished',
      description:
        'With `wait` the reply comes when the operation has finished, or after that many seconds in its state by then: repeat until `finished_at` is set. An account can wait for up to 50 operations at once; more is a 429.',
      params: { operation_id: operationProblems.operation_not_found },
      query: OperationWait,
      load: async ({ actor, params }) =>
        found(
          await findOperation(db, actor.accountId, params.operation_id, clock.now()),
          operationProblems.operation_not_found,
        ),
      reply: { 200: Operation },
      run: async ({ loaded, query, signal }) =>
        operationView(await engine.waits.waitFor(loaded, (query.wait ?? 0) * 1000, signal)),
    }),
  ]
}
