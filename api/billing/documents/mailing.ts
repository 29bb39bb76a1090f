import type { Queries } from '../../database/database.ts'
import { monthName } from '../view.ts'
import { correctedBy } from './documents.ts'
import type { DocumentTable } from './tables.ts'

/** A document whose people are to be mailed about it. */
export interface MailedDocument {
  accountId: string
  type: Exclude<DocumentTable['type'], 'statement'>
  number: string
  /** The month, such as 2026-11. */
  period: string
  /** The number of the invoice that it corrects; null if it corrects none. */
  corrects: string | null
  /** Total with VAT in units; below zero for credit notes. */
  total: number
}

/** The ids of documents about which a mail is due, oldest first, at most so many. */
export async function documentsToMail(db: Queries, now: number, atMost: number): Promise<string[]> {
  const rows = await db
    .selectFrom('documents')
    .select('document_id')
    .where('mail_at', '<=', now)
    .orderBy('mail_at')
    .limit(atMost)
    .execute()
  return rows.map(({ document_id }) => document_id)
}

/**
 * Notes that a document was mailed. Call it in the transaction that queues the mails.
 * @returns the document, or null if another process was first
 */
export async function takeToMail(tx: Queries, documentId: string): Promise<MailedDocument | null> {
  const row = await tx
    .updateTable('documents')
    .set({ mail_at: null })
    .where('document_id', '=', documentId)
    .where('mail_at', 'is not', null)
    .returning(['account_id', 'type', 'number', 'month', 'corrected', 'total'])
    .executeTakeFirst()
  if (!row || row.type === 'statement') return null
  const corrects = correctedBy(row)
  return {
    ...{ accountId: row.account_id, type: row.type, number: row.number, total: row.total },
    ...{ period: corrects?.period ?? monthName(row.month), corrects: corrects?.number ?? null },
  }
}
