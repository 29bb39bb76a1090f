import Type from 'typebox'
import type { Database } from '../../database/database.ts'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { type Route, route, type SetHeader } from '../../http/contract/route.ts'
import { documentCsv } from './csv.ts'
import { documentFile, documentView, findDocument, listDocuments } from './documents.ts'
import { documentPdf } from './pdf.ts'
import {
  Document,
  DocumentCsv,
  DocumentDetails,
  type DocumentFile,
  DocumentPdf,
  documentProblems,
} from './schema.ts'

const tag = 'Account'
const path = '/account/documents'

interface Named {
  actor: { accountId: string }
  params: { document_id: string }
}

const onDocument = <Found>(
  db: Database,
  find: (db: Database, accountId: string, id: string) => Promise<Found>,
) =>
  ({
    method: 'GET',
    scope: 'account:read',
    tag,
    params: { document_id: documentProblems.document_not_found },
    load: ({ actor, params }: Named) => find(db, actor.accountId, params.document_id),
  }) as const

export function documentRoutes({ db }: { db: Database }): Route[] {
  return [
    route({
      id: 'listDocuments',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'List invoices and statements',
      description:
        'The documents of the account, newest first: one for each calendar month (UTC) in which its balance changed, issued when the month is charged completely, and corrections of invoices. The list is empty if the operator issues none.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Document) },
      run: (call) => paged(call, (page) => listDocuments(db, call.actor.accountId, page), documentView),
    }),
    route({
      id: 'getDocument',
      path: `${path}/:document_id`,
      ...onDocument(db, findDocument),
      summary: 'Get an invoice or statement',
      description:
        'The document with its lines, as it was issued: it never changes. What was wrong is corrected by a document of its own, which `corrections` names. Charges and payments that were booked after their month had its document are in the next one.',
      reply: { 200: DocumentDetails },
      run: async ({ loaded }) => loaded,
    }),
    ...fileRoutes(db),
  ]
}

function fileRoutes(db: Database): Route[] {
  return [
    route({
      id: 'getDocumentPdf',
      path: `${path}/:document_id/content.pdf`,
      ...onDocument(db, documentFile),
      summary: 'Get an invoice or statement as PDF',
      description:
        "The document in the language of the account's owner at the time of issue. It is rendered from the stored content, so its bytes stay the same for a version of Berth.",
      reply: { 200: DocumentPdf },
      contentType: 'application/pdf',
      run: async ({ loaded, setHeader }) => {
        nameFile(setHeader, loaded, 'pdf')
        return documentPdf(loaded)
      },
    }),
    route({
      id: 'getDocumentCsv',
      path: `${path}/:document_id/content.csv`,
      ...onDocument(db, documentFile),
      summary: 'Get an invoice or statement as CSV',
      description:
        'The document as CSV (RFC 4180) with a header line, for spreadsheets and accounting: a row for each line, sum and balance. A text that begins like a formula has an apostrophe before it.',
      reply: { 200: DocumentCsv },
      contentType: 'text/csv',
      run: async ({ loaded, setHeader }) => {
        nameFile(setHeader, loaded, 'csv')
        return documentCsv(loaded)
      },
    }),
  ]
}

function nameFile(
  setHeader: SetHeader,
  { type, period, corrects, number }: DocumentFile,
  ending: string,
): void {
  // A month may have several corrections; a number has letters, digits, dashes and slashes.
  const which = corrects ? `-${number.replaceAll('/', '-')}` : ''
  setHeader('content-disposition', `attachment; filename="${type}-${period}${which}.${ending}"`)
}
