import { v7 as uuid } from 'uuid'
import { refuseClosed } from '../accounts/status.ts'
import { lockLedgers, post, ReferenceTaken } from '../billing/ledger.ts'
import type { Seller } from '../catalog/operator.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { type Page, pageOf } from '../database/page.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { ApiError, found } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { newReference } from './reference.ts'
import { type Arrival, MOST_OPEN, type Payee, type Transfer, transferProblems } from './schema.ts'
import type { TransferTable } from './tables.ts'

const VALID_MS = 30 * 24 * 3600_000

export interface Arriving {
  db: Database
  clock: Clock
}

/**
 * Issues an invoice for a sum, with a reference of its own.
 * @throws ApiError transfers_not_offered, too_many_transfers, account_suspended
 */
export async function issueTransfer(
  { db, clock, seller }: Arriving & { seller: Seller | null },
  accountId: string,
  amountRub: string,
  remember: Remember,
): Promise<TransferTable> {
  const now = clock.now()
  const row: TransferTable = {
    ...{
      transfer_id: uuid(),
      account_id: accountId,
      reference: newReference(),
      amount: parseMoney(amountRub),
    },
    ...{ seller: JSON.stringify(payeeOf(seller)), arrived: 0, arrived_at: null },
    ...{ expires_at: now + VALID_MS, created_at: now },
  }
  await db.transaction().execute(async (tx) => {
    // The lock makes requests that run at once count each other's invoices.
    await lockLedgers(tx, [accountId])
    await refuseClosed(tx, accountId)
    if ((await countOpen(tx, accountId, now)) >= MOST_OPEN)
      throw new ApiError(
        transferProblems.too_many_transfers,
        `Nothing changed: an account has at most ${MOST_OPEN} open invoices. Pay one of them.`,
      )
    await tx.insertInto('transfers').values(row).execute()
    await remember(tx, row.transfer_id)
  })
  return row
}

function payeeOf(seller: Seller | null): Payee {
  if (!seller?.bank)
    throw new ApiError(transferProblems.transfers_not_offered, 'The operator takes no bank transfers.')
  const { name, address, taxId, bank } = seller
  return {
    ...{ name, address, tax_id: taxId, bank_name: bank.name, bank_account: bank.account, bank_bic: bank.bic },
    correspondent_account: bank.correspondentAccount,
  }
}

async function countOpen(db: Queries, accountId: string, now: number): Promise<number> {
  const open = db.selectFrom('transfers').select((eb) => eb.fn.countAll<number>().as('open'))
  const own = open.where('account_id', '=', accountId).where('arrived_at', 'is', null)
  return Number((await own.where('expires_at', '>', now).executeTakeFirstOrThrow()).open)
}

/**
 * Books the amount that arrived, once for each transaction of the bank. Money with another amount or for an expired
 * invoice is booked, too: it is the customer's.
 * @throws ApiError transfer_not_found, bank_transaction_taken, account_suspended
 */
export async function bookArrival(
  { db, clock, isTrial = false }: Arriving & { isTrial?: boolean },
  arrival: Arrival,
): Promise<Booked> {
  try {
    return await db.transaction().execute(async (tx) => {
      const booked = await bookIn(tx, clock, arrival)
      if (isTrial) throw new Tried(booked)
      return booked
    })
  } catch (error) {
    if (error instanceof Tried) return error.booked
    throw error
  }
}

interface Booked {
  row: TransferTable
  isNew: boolean
}

/** Rolls back a dry run, and carries its result. */
class Tried extends Error {
  readonly booked: Booked

  constructor(booked: Booked) {
    super('this was a trial')
    this.booked = booked
  }
}

async function bookIn(tx: Queries, clock: Clock, arrival: Arrival): Promise<Booked> {
  const { reference, amount_rub, bank_transaction_id } = arrival
  const known = tx.selectFrom('transfers').selectAll().where('reference', '=', reference)
  const row = await known.executeTakeFirst()
  if (!row)
    throw new ApiError(
      transferProblems.transfer_not_found,
      `No invoice has the reference ${reference}. Ask the payer for theirs.`,
    )
  const amount = parseMoney(amount_rub)
  // Two banks may give two transactions one id.
  const { bank_account }: Payee = JSON.parse(row.seller)
  const { isNew } = await post(tx, clock, {
    ...{ accountId: row.account_id, type: 'payment', amount },
    reference: `bank:${bank_account}:${bank_transaction_id}`,
    description: `Bank transfer ${reference}`,
  }).catch((error: unknown) => {
    if (!(error instanceof ReferenceTaken)) throw error
    throw new ApiError(transferProblems.bank_transaction_taken, `Nothing changed: ${error.message}.`)
  })
  if (!isNew) return { row, isNew }
  await refuseClosed(tx, row.account_id)
  const booked = await tx
    .updateTable('transfers')
    .set((eb) => ({ arrived: eb('arrived', '+', amount), arrived_at: clock.now() }))
    .where('transfer_id', '=', row.transfer_id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return { row: booked, isNew }
}

/** Deletes invoices that were issued before a moment. Money received for them stays in the ledger. */
export function forgetTransfers(db: Database, before: number, limit: number): Promise<number> {
  const old = db.selectFrom('transfers').select('transfer_id').where('created_at', '<', before)
  return deleteFound(db, 'transfers', 'transfer_id', old.limit(limit))
}

/** An account's invoices, newest first. */
export function listTransfers(db: Queries, accountId: string, page: Page) {
  const own = db.selectFrom('transfers').selectAll().where('account_id', '=', accountId)
  return pageOf(own.orderBy('transfer_id', 'desc'), page)
}

/** @throws ApiError transfer_not_found */
export async function findTransfer(db: Queries, accountId: string, id: string): Promise<TransferTable> {
  const own = db.selectFrom('transfers').selectAll().where('account_id', '=', accountId)
  return found(
    await own.where('transfer_id', '=', id).executeTakeFirst(),
    transferProblems.transfer_not_found,
  )
}

/** Shows an invoice as customers see it. */
export function transferView(row: TransferTable, now: number): Transfer {
  const payee: Payee = JSON.parse(row.seller)
  return {
    ...{ transfer_id: row.transfer_id, reference: row.reference, payee },
    status: row.arrived_at !== null ? 'paid' : row.expires_at <= now ? 'expired' : 'open',
    amount_rub: formatMoney(row.amount),
    arrived_rub: formatMoney(row.arrived),
    arrived_at: isoTimeOrNull(row.arrived_at),
    expires_at: isoTime(row.expires_at),
    created_at: isoTime(row.created_at),
  }
}
