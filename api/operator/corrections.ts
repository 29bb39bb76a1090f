import { isClosed } from '../accounts/status.ts'
import { issueCorrection, ReferenceUsed } from '../billing/documents/corrections.ts'
import { findDocument } from '../billing/documents/documents.ts'
import type { DocumentDetails } from '../billing/documents/schema.ts'
import { ReferenceTaken } from '../billing/ledger.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { ApiError } from '../http/contract/problem.ts'
import { asOperator } from './accounts.ts'
import { operatorProblems } from './schema.ts'

/**
 * Issues a correction of an invoice and books it, once for each reference. A closed account receives no money.
 * @returns the correction, and whether it is new
 * @throws ApiError document_not_found, document_not_correctable, correction_too_large, too_many_corrections,
 * account_status_conflict, reference_taken, validation_failed
 */
export async function correct(
  { db, clock }: { db: Database; clock: Clock },
  order: Parameters<typeof issueCorrection>[2],
): Promise<{ document: DocumentDetails; isNew: boolean }> {
  const issue = () =>
    db.transaction().execute(async (tx) => {
      const issued = await issueCorrection(tx, clock, order)
      const isPaidOut = issued.isNew && order.type === 'credit_note'
      if (isPaidOut && (await isClosed(tx, order.accountId)))
        throw new ApiError(
          operatorProblems.account_status_conflict,
          'Nothing was issued: the account is closed.',
        )
      return issued
    })
  const { documentId, isNew } = await asOperator(issue).catch((error: unknown) => {
    if (!(error instanceof ReferenceTaken || error instanceof ReferenceUsed)) throw error
    throw new ApiError(
      operatorProblems.reference_taken,
      `Nothing was issued: ${error.message}. Use another reference for this correction.`,
    )
  })
  return { document: await findDocument(db, order.accountId, documentId), isNew }
}
