import Type from 'typebox'
import { documentView, findDocument, listDocuments } from '../billing/documents/documents.ts'
import { Document, DocumentDetails, documentProblems } from '../billing/documents/schema.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { correct } from './corrections.ts'
import { CorrectionCreate, operatorProblems } from './schema.ts'
import { requireAccount } from './servers.ts'

const tag = 'Operator'
const path = '/operator/accounts/:account_id/documents'

interface Options {
  db: Database
  clock: Clock
}

/** The invoices and statements of an account, and their corrections. */
export function operatorDocumentRoutes(options: Options): Route[] {
  const { db } = options
  const params = {
    account_id: operatorProblems.account_not_found,
    document_id: documentProblems.document_not_found,
  }
  return [
    route({
      id: 'listOperatedDocuments',
      method: 'GET',
      path,
      scope: 'operator:read',
      tag,
      params: { account_id: operatorProblems.account_not_found },
      load: ({ params }) => requireAccount(db, params.account_id),
      summary: 'List the invoices and statements of an account',
      description:
        'The documents of the account, newest first, with the corrections of invoices. They are issued after each month if `seller` is set in the catalogue, and numbered for each tax id.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Document) },
      run: (call) => paged(call, (page) => listDocuments(db, call.params.account_id, page), documentView),
    }),
    route({
      id: 'getOperatedDocument',
      method: 'GET',
      path: `${path}/:document_id`,
      scope: 'operator:read',
      tag,
      params,
      load: ({ params }) => findDocument(db, params.account_id, params.document_id),
      summary: 'Get an invoice or statement of an account',
      description:
        'The document with its lines as it was issued, and its corrections. A correction can name the items that have a line in it.',
      reply: { 200: DocumentDetails },
      run: async ({ loaded }) => loaded,
    }),
    correctionRoute(options, params),
  ]
}

function correctionRoute(
  options: Options,
  params: Record<'account_id' | 'document_id', typeof documentProblems.document_not_found>,
): Route {
  return route({
    id: 'correctDocument',
    method: 'POST',
    path: `${path}/:document_id/corrections`,
    scope: 'operator:money',
    tag,
    params,
    load: ({ params }) => requireAccount(options.db, params.account_id),
    summary: 'Correct an invoice of an account',
    description:
      "Issues a document of its own, with the next number of the invoice's legal entity and its rate of VAT, and books the change of the total on the balance, both once for each reference of the installation: a repeat returns the same reply with 200. A credit note takes no more than the invoice and its items have left after earlier corrections. The customer sees the reason; the invoice itself never changes.",
    body: CorrectionCreate,
    reply: { 201: DocumentDetails, 200: DocumentDetails },
    errors: [
      documentProblems.document_not_correctable,
      documentProblems.correction_too_large,
      documentProblems.too_many_corrections,
      operatorProblems.account_status_conflict,
      operatorProblems.reference_taken,
    ],
    isRepeatable: true,
    run: async ({ params: { account_id, document_id }, body, report, setStatus }) => {
      const order = { ...body, accountId: account_id, documentId: document_id }
      const { document, isNew } = await correct(options, order)
      report({ event: 'document_corrected', objectId: document.document_id })
      setStatus(isNew ? 201 : 200)
      return document
    },
  })
}
