import { v7 as uuid } from 'uuid'
import { issueCorrection } from '../../api/billing/documents/corrections.ts'
import { charge } from '../../api/billing/ledger.ts'
import type { Clock } from '../../api/clock.ts'
import type { Database } from '../../api/database/database.ts'
import { parseMoney } from '../../api/money.ts'

interface Place {
  db: Database
  clock: Clock
}

/** Charges an account for an hour of a server that is deleted together with its project. @returns the server's id */
export async function chargeHour({ db, clock }: Place, accountId: string, rubles = '120'): Promise<string> {
  const now = clock.now()
  const hour = now - (now % 3_600_000)
  const item = { item_type: 'server', item_id: uuid(), project_id: uuid(), bytes: null } as const
  const entry = { accountId, type: 'charge', amount: 0 - parseMoney(rubles), description: '' } as const
  await db
    .transaction()
    .execute((tx) => charge(tx, [{ ...entry, charged: { ...item, hour, seconds: 3600 } }], now))
  return item.item_id
}

/** Issues a credit note for 12 rubles for an account's only invoice. @returns the ids of both */
export async function creditInvoice({ db, clock }: Place, accountId: string) {
  const own = db.selectFrom('documents').select('document_id').where('account_id', '=', accountId)
  const { document_id: invoiceId } = await own.where('type', '=', 'invoice').executeTakeFirstOrThrow()
  const order = {
    type: 'credit_note',
    lines: [{ amount_rub: '12' }],
    reason: 'An outage',
    reference: 'c-1',
  } as const
  const { documentId: noteId } = await db
    .transaction()
    .execute((tx) => issueCorrection(tx, clock, { ...order, accountId, documentId: invoiceId }))
  return { invoiceId, noteId }
}
