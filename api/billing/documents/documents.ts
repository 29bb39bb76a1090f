import { sql } from 'kysely'
import type { Queries } from '../../database/database.ts'
import { type Page, pageOf } from '../../database/page.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { found } from '../../http/contract/problem.ts'
import { formatMoney } from '../../money.ts'
import { monthName } from '../view.ts'
import { sha256Of } from './issuing.ts'
import {
  type Corrected,
  type CorrectionContent,
  type Document,
  type DocumentContent,
  type DocumentDetails,
  type DocumentFile,
  documentProblems,
} from './schema.ts'
import type { DocumentTable } from './tables.ts'

type Listed = Omit<DocumentTable, 'content' | 'mail_at'>

/** A document with its content, which was compared with its hash. */
export interface Issued extends Listed {
  content: DocumentContent | CorrectionContent
}

/** The documents of an account, newest first. */
export function listDocuments(
  db: Queries,
  accountId: string,
  page: Page,
): Promise<{ items: Listed[]; total: number }> {
  const listed = ofAccount(db, accountId)
    .select(['corrects', 'corrected', 'reference'])
    .select([
      'document_id',
      'account_id',
      'seller',
      'sequence',
      'number',
      'type',
      'month',
      'last_transaction',
    ])
    .select(['vat', 'total', 'opening_balance', 'closing_balance', 'sha256', 'issued_at'])
  const newest = listed.orderBy('issued_at', 'desc').orderBy('sequence', 'desc')
  return pageOf(newest.orderBy('document_id', 'desc'), page)
}

/**
 * A document as it was issued, with its corrections.
 * @throws ApiError document_not_found; Error if the content is not the one that was issued
 */
export async function findDocument(
  db: Queries,
  accountId: string,
  documentId: string,
): Promise<DocumentDetails> {
  const own = ofAccount(db, accountId).where((eb) =>
    eb.or([eb('document_id', '=', documentId), eb('corrects', '=', documentId)]),
  )
  const rows = await own
    .select(['document_id', 'type', 'number', 'total', 'issued_at', 'sha256'])
    // The contents of corrections are not read.
    .select(sql<string>`CASE WHEN document_id = ${documentId} THEN content ELSE '' END`.as('content'))
    .orderBy('issued_at')
    .orderBy('sequence')
    .execute()
  const issued = found(
    rows.find(({ document_id }) => document_id === documentId),
    documentProblems.document_not_found,
  )
  const corrections = rows.filter((row) => row !== issued)
  return {
    ...detailsOf(read(issued)),
    corrections: corrections.map(({ document_id, type, number, total, issued_at }) => ({
      ...{ document_id, type, number, total_rub: formatMoney(total), issued_at: isoTime(issued_at) },
    })),
  }
}

/** A document as its files show it. @throws as findDocument */
export async function documentFile(
  db: Queries,
  accountId: string,
  documentId: string,
): Promise<DocumentFile> {
  return detailsOf(await issuedDocument(db, accountId, documentId))
}

function detailsOf({ content, sha256 }: Pick<Issued, 'content' | 'sha256'>): DocumentFile {
  return { corrects: null, correction: null, ...content, sha256 }
}

/** @throws ApiError document_not_found; Error if the content is not the one that was issued */
export async function issuedDocument(db: Queries, accountId: string, documentId: string): Promise<Issued> {
  const own = ofAccount(db, accountId).selectAll().where('document_id', '=', documentId)
  return read(found(await own.executeTakeFirst(), documentProblems.document_not_found))
}

/** The correction of any account that an operator issued with a reference. */
export async function findCorrection(db: Queries, reference: string): Promise<Issued | undefined> {
  const issued = db.selectFrom('documents').selectAll().where('reference', '=', reference)
  const row = await issued.executeTakeFirst()
  return row && read(row)
}

function read<Row extends Pick<DocumentTable, 'document_id' | 'content' | 'sha256'>>({
  content,
  ...row
}: Row) {
  if (sha256Of(content) !== row.sha256)
    throw new Error(`the content of the document ${row.document_id} was changed in the database`)
  const stored: Issued['content'] = JSON.parse(content)
  return { ...row, content: stored }
}

function ofAccount(db: Queries, accountId: string) {
  return db.selectFrom('documents').where('account_id', '=', accountId)
}

/** The document that a correction corrects; null if it corrects none. */
export function correctedBy({ corrected }: Pick<DocumentTable, 'corrected'>): Corrected | null {
  if (corrected === null) return null
  const stored: Corrected = JSON.parse(corrected)
  return stored
}

export function documentView(row: Listed): Document {
  const corrects = correctedBy(row)
  return {
    document_id: row.document_id,
    type: row.type,
    number: row.number,
    period: corrects?.period ?? monthName(row.month),
    corrects,
    currency: 'RUB',
    vat_rub: formatMoney(row.vat),
    total_rub: formatMoney(row.total),
    opening_balance_rub: formatMoney(row.opening_balance),
    closing_balance_rub: formatMoney(row.closing_balance),
    issued_at: isoTime(row.issued_at),
    sha256: row.sha256,
  }
}

/** The ids of the documents of an account with a number or an id; legal entities may have used the same number. */
export async function namedDocuments(db: Queries, accountId: string, named: string): Promise<string[]> {
  const rows = await ofAccount(db, accountId)
    .select('document_id')
    .where((eb) => eb.or([eb('number', '=', named), eb('document_id', '=', named)]))
    .execute()
  return rows.map(({ document_id }) => document_id)
}
