import Type from 'typebox'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { found, notFound } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import type { Engine } from '../operations/engine.ts'
import { findOperation, listOperations } from '../operations/operations.ts'
import { type OperationSchemas, OperationWait, operationProblems } from '../operations/schema.ts'
import { operationView } from '../operations/view.ts'
import { serverSubject } from './operations.ts'
import { serverProblems } from './schema.ts'
import { findServer } from './store.ts'

const tag = 'Servers'
const params = { server_id: serverProblems.server_not_found }

interface OperationRoutesOptions {
  db: Database
  clock: Clock
  engine: Engine
  operationSchemas: OperationSchemas
}

/** The operations of one server, including a deleted one. */
export function operationRoutes(options: OperationRoutesOptions): Route[] {
  return [listRoute(options), objectRoute(options)]
}

const operationsPath = '/servers/:server_id/operations'

function listRoute({ db, clock, operationSchemas }: OperationRoutesOptions): Route {
  const list = (accountId: string, serverId: string, page: Page) =>
    listOperations(db, accountId, serverSubject(serverId), page, clock.now())
  return route({
    id: 'listOperations',
    method: 'GET',
    path: operationsPath,
    scope: 'servers:read',
    tag,
    summary: 'List the operations of a server, even a deleted one',
    description:
      'All operations of this server, newest first. Those of a deleted server can be read for seven more days.',
    params,
    query: Type.Object(pagingQuery),
    load: async ({ actor, params }) => {
      const { total } = await list(actor.accountId, params.server_id, { limit: 1, offset: 0 })
      // A server that came from another account has no operations in this one yet.
      if (total === 0 && !(await findServer(db, actor.accountId, params.server_id)))
        throw notFound(serverProblems.server_not_found)
    },
    reply: { 200: listOf(operationSchemas.Operation) },
    run: (call) =>
      paged(call, (page) => list(call.actor.accountId, call.params.server_id, page), operationView),
  })
}

function objectRoute({ db, engine, clock, operationSchemas }: OperationRoutesOptions): Route {
  return route({
    id: 'getOperation',
    method: 'GET',
    path: `${operationsPath}/:operation_id`,
    scope: 'servers:read',
    tag,
    summary: 'Get an operation, or wait until it has finished',
    description:
      'With `wait` the reply comes when the operation has finished, or after that many seconds in its state by then: repeat until `finished_at` is set. An account can wait for up to 50 operations at once; more is a 429.',
    params: { ...params, operation_id: operationProblems.operation_not_found },
    query: OperationWait,
    load: async ({ actor, params }) => {
      const subject = serverSubject(params.server_id)
      return found(
        await findOperation(db, actor.accountId, params.operation_id, clock.now(), subject),
        operationProblems.operation_not_found,
      )
    },
    reply: { 200: operationSchemas.Operation },
    run: async ({ loaded, query, signal }) =>
      operationView(await engine.waits.waitFor(loaded, (query.wait ?? 0) * 1000, signal)),
  })
}
