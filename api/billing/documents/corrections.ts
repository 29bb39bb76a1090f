import { v7 as uuid } from 'uuid'
import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { record } from '../../events/outbox.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { ApiError } from '../../http/contract/problem.ts'
import { formatMoney, parseMoney } from '../../money.ts'
import { lockLedgers, post } from '../ledger.ts'
import { monthName } from '../view.ts'
import { type Adjustment, adjust } from './adjusting.ts'
import { documentView, findCorrection, type Issued, issuedDocument } from './documents.ts'
import { nextNumber, sha256Of } from './issuing.ts'
import {
  type Corrected,
  type CorrectionContent,
  type CorrectionOrder,
  documentProblems,
  MOST_CORRECTIONS,
  MOST_OF_ACCOUNT,
} from './schema.ts'
import type { DocumentTable } from './tables.ts'
import type { Sums } from './vat.ts'

const NOTES = { credit_note: 'Credit note', debit_note: 'Debit note' }

/** The reference belongs to another correction. */
export class ReferenceUsed extends Error {}

interface Order extends CorrectionOrder {
  accountId: string
  documentId: string
}

/**
 * Issues a correction of an invoice and books it, once for each reference, in the transaction of the caller. The
 * account's ledger is locked first, so that corrections of an invoice see each other.
 * @returns the id of the correction, and whether it is new
 * @throws ApiError document_not_found, document_not_correctable, correction_too_large, too_many_corrections
 * @throws ReferenceUsed, ReferenceTaken
 */
export async function issueCorrection(
  tx: Queries,
  clock: Clock,
  order: Order,
): Promise<{ documentId: string; isNew: boolean }> {
  await lockLedgers(tx, [order.accountId])
  const known = await findCorrection(tx, order.reference)
  if (known) return { documentId: repeated(known, order), isNew: false }
  const original = await issuedDocument(tx, order.accountId, order.documentId)
  if (original.type !== 'invoice')
    throw new ApiError(
      documentProblems.document_not_correctable,
      `Nothing was issued: ${original.number} is not an invoice. Correct the invoice, in the other direction if needed.`,
    )
  const { earlier, ofAccount } = await correctionsOf(tx, original)
  const adjustment = adjust(original.content, earlier, order)
  const sequence = await nextNumber(tx, original.seller)
  const row = await booked(tx, clock, { order, original, adjustment, sequence, ofAccount })
  await tx.insertInto('documents').values(row).execute()
  const event = { accountId: order.accountId, type: 'invoice.corrected', at: row.issued_at } as const
  await record(tx, [{ ...event, data: documentView(row) }])
  return { documentId: row.document_id, isNew: true }
}

/** @throws ReferenceUsed if the earlier correction is not the same */
function repeated(known: Issued, order: Order): string {
  const { content, document_id, corrects, account_id, number } = known
  const isSame =
    account_id === order.accountId &&
    corrects === order.documentId &&
    known.type === order.type &&
    'correction' in content &&
    content.correction.reason === order.reason &&
    JSON.stringify(content.correction.lines.map(linePair)) === JSON.stringify(order.lines.map(linePair))
  if (!isSame) throw new ReferenceUsed(`the reference ${order.reference} was used for the document ${number}`)
  return document_id
}

/** The item and the amount of a line, whatever its sign and its decimals. */
function linePair({
  item_id = null,
  amount_rub,
}: {
  item_id?: string | null | undefined
  amount_rub: string
}) {
  return [item_id, Math.abs(parseMoney(amount_rub))]
}

/** @throws ApiError too_many_corrections */
async function correctionsOf(tx: Queries, { account_id, document_id }: Issued) {
  const own = tx
    .selectFrom('documents')
    .where('account_id', '=', account_id)
    .where('corrects', 'is not', null)
  const { total } = await own.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await own
    .select('content')
    .where('corrects', '=', document_id)
    .orderBy('issued_at')
    .orderBy('sequence')
    .execute()
  if (rows.length >= MOST_CORRECTIONS || Number(total) >= MOST_OF_ACCOUNT)
    throw new ApiError(
      documentProblems.too_many_corrections,
      `Nothing was issued: a document has at most ${MOST_CORRECTIONS} corrections, and an account ${MOST_OF_ACCOUNT}. Credit or debit the account instead.`,
    )
  const earlier = rows.map(({ content }) => {
    const stored: CorrectionContent = JSON.parse(content)
    return stored
  })
  return { earlier, ofAccount: Number(total) }
}

interface Booking {
  order: Order
  original: Issued
  adjustment: Adjustment
  sequence: number
  /** The number of earlier corrections of the account. */
  ofAccount: number
}

/** Books the change of the total, and writes the document of it. @returns its row */
async function booked(tx: Queries, clock: Clock, booking: Booking): Promise<DocumentTable> {
  const { order, original, adjustment, sequence, ofAccount } = booking
  const { accountId, reference, reason, type } = order
  const { vat, total } = adjustment.change
  // The number has the prefix of its invoice, because both belong to one series.
  const number = `${original.number.slice(0, -String(original.sequence).length)}${sequence}`
  const { entry, isNew } = await post(tx, clock, {
    ...{ accountId, type: 'correction', amount: 0 - total, reference },
    description: `${NOTES[type]} ${number} to invoice ${original.number}: ${reason}`,
  })
  if (!isNew) throw new ReferenceUsed(`the reference ${reference} was used for an entry without a document`)
  const key = { document_id: uuid(), number, issued_at: entry.created_at }
  const content = contentOf(booking, key, entry)
  const text = JSON.stringify(content)
  return {
    ...key,
    ...{ account_id: accountId, seller: original.seller, sequence, type, month: -1 - ofAccount },
    ...{ corrects: original.document_id, corrected: JSON.stringify(content.corrects), reference },
    ...{ last_transaction: entry.sequence, vat, total },
    ...{ opening_balance: entry.balance_before, closing_balance: entry.balance_after },
    ...{ content: text, sha256: sha256Of(text), mail_at: key.issued_at },
  }
}

function contentOf(
  { order, original, adjustment }: Booking,
  { document_id, number, issued_at }: Pick<DocumentTable, 'document_id' | 'number' | 'issued_at'>,
  entry: { transaction_id: string; balance_before: number; balance_after: number },
): CorrectionContent {
  const { lines, charges, change, before, after } = adjustment
  const { seller, customer, language, vat, period } = original.content
  const corrects: Corrected = {
    ...{ document_id: original.document_id, number: original.number, period: monthName(original.month) },
    issued_at: isoTime(original.issued_at),
  }
  return {
    ...{ document_id, type: order.type, number, period, corrects, currency: 'RUB', language },
    ...{ issued_at: isoTime(issued_at), seller, customer, vat },
    ...{ projects: [], entries: [], more_entries: [] },
    ...{ charges_rub: formatMoney(charges), ...shown(change) },
    opening_balance_rub: formatMoney(entry.balance_before),
    closing_balance_rub: formatMoney(entry.balance_after),
    correction: {
      ...{ reason: order.reason, lines, before: shown(before), after: shown(after) },
      transaction_id: entry.transaction_id,
    },
  }
}

function shown({ net, vat, total }: Sums) {
  return { net_rub: formatMoney(net), vat_rub: formatMoney(vat), total_rub: formatMoney(total) }
}
