import type { Queries } from '../../database/database.ts'
import { type Page, pageOf } from '../../database/page.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { found } from '../../http/contract/problem.ts'
import { formatMoney } from '../../money.ts'
import { monthName } from '../view.ts'
import { sha256Of } from './issuing.ts'
import { type Document, type DocumentContent, type DocumentDetails, documentProblems } from './schema.ts'
import type { DocumentTable } from './tables.ts'

type Listed = Omit<DocumentTable, 'content'>

/** The documents of an account, newest first. */
export function listDocuments(
  db: Queries,
  accountId: string,
  page: Page,
): Promise<{ items: Listed[]; total: number }> {
  const listed = ofAccount(db, accountId)
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
  return pageOf(listed.orderBy('month', 'desc'), page)
}

/** @throws ApiError document_not_found; Error if the content is not the one that was issued */
export async function findDocument(
  db: Queries,
  accountId: string,
  documentId: string,
): Promise<DocumentDetails> {
  const own = ofAccount(db, accountId).select(['content', 'sha256']).where('document_id', '=', documentId)
  const { content, sha256 } = found(await own.executeTakeFirst(), documentProblems.document_not_found)
  if (sha256Of(content) !== sha256)
    throw new Error(`the content of the document ${documentId} was changed in the database`)
  const stored: DocumentContent = JSON.parse(content)
  return { ...stored, sha256 }
}

function ofAccount(db: Queries, accountId: string) {
  return db.selectFrom('documents').where('account_id', '=', accountId)
}

export function documentView(row: Listed): Document {
  return {
    document_id: row.document_id,
    type: row.type,
    number: row.number,
    period: monthName(row.month),
    currency: 'RUB',
    vat_rub: formatMoney(row.vat),
    total_rub: formatMoney(row.total),
    opening_balance_rub: formatMoney(row.opening_balance),
    closing_balance_rub: formatMoney(row.closing_balance),
    issued_at: isoTime(row.issued_at),
    sha256: row.sha256,
  }
}
