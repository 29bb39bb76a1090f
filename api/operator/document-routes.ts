import Type from 'typebox'
import { documentView, listDocuments } from '../billing/documents/documents.ts'
import { Document } from '../billing/documents/schema.ts'
import type { Database } from '../database/database.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { operatorProblems } from './schema.ts'
import { requireAccount } from './servers.ts'

/** The invoices and statements of an account. */
export function operatorDocumentsRoute({ db }: { db: Database }): Route {
  return route({
    id: 'listOperatedDocuments',
    method: 'GET',
    path: '/operator/accounts/:account_id/documents',
    scope: 'operator:read',
    tag: 'Operator',
    params: { account_id: operatorProblems.account_not_found },
    load: ({ params }) => requireAccount(db, params.account_id),
    summary: 'List the invoices and statements of an account',
    description:
      'The documents of the account, newest first. They are issued after each month if `seller` is set in the catalogue, and numbered for each tax id.',
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(Document) },
    run: (call) => paged(call, (page) => listDocuments(db, call.params.account_id, page), documentView),
  })
}
