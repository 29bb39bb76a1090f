import Type from 'typebox'
import type { Database } from '../../database/database.ts'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { type Route, route, type SetHeader } from '../../http/contract/route.ts'
import { documentCsv } from './csv.ts'
import { documentFile, documentView, findDocument, listDocuments } from './documents.ts'
import { documentPdf } from './pdf.ts'
import {
  Document,
  DocumentContentFile,
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
    contentRoute(db),
    ...fileRoutes(db),
  ]
}

function contentRoute(db: Database): Route {
  return route({
    id: 'getDocumentContent',
    path: `${path}/:document_id/content`,
    ...onDocument(db, documentFile),
    summary: 'Get an invoice or statement as PDF or CSV',
    description:
      'The file of the type that `Accept` prefers, `application/pdf` or `text/csv`; PDF if it prefers neither. The same as `content.pdf` and `content.csv`, which links and browsers can name.',
    reply: { 200: DocumentContentFile },
    contentTypes: ['application/pdf', 'text/csv'],
    run: async ({ loaded, accept, setHeader }) => {
      const isCsv = prefersCsv(accept)
      nameFile(setHeader, loaded, isCsv ? 'csv' : 'pdf')
      setHeader('vary', 'accept')
      setHeader('content-type', isCsv ? 'text/csv; charset=utf-8' : 'application/pdf')
      return isCsv ? documentCsv(loaded) : documentPdf(loaded)
    },
  })
}

/** True if a client prefers CSV to PDF (RFC 9110, 12.5.1). @param accept the header, which a client may have sent none of */
function prefersCsv(accept = ''): boolean {
  const weights = new Map(accept.toLowerCase().split(',').map(weighed))
  const weight = (names: readonly string[]) =>
    names.map((name) => weights.get(name)).find((known) => known !== undefined) ?? 0
  return weight(['text/csv', 'text/*', '*/*']) > weight(['application/pdf', 'application/*', '*/*'])
}

function weighed(range: string): [type: string, weight: number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
  const given = parameters.find((parameter) => parameter.startsWith('q='))
  return [type, given === undefined ? 1 : Number(given.slice(2))]
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
        'The document as CSV (RFC 4180) with a header line, for spreadsheets and accounting: a row for each line, sum and balance. A text, or a part of it after a semicolon, that begins like a formula has an apostrophe before it.',
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
