import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { TransactionTable } from '../database/schema.ts'
import type { Page } from '../http/paging.ts'
import { ApiError } from '../http/problem.ts'
import { formatMoney } from '../money.ts'

export interface Entry {
  accountId: string
  type: TransactionTable['type']
  /** Units; charges are negative. */
  amount: number
  serverId: string | null
  description: string
  /** The same reference a second time changes nothing. */
  reference: string | null
}

/**
 * Adds an entry to an account's ledger and moves its balance, both or neither.
 * @returns the entry, also where the reference was written before
 */
export function post(
  db: Database,
  clock: Clock,
  entry: Entry,
): Promise<{ entry: TransactionTable; isNew: boolean }> {
  return db.transaction().execute(async (tx) => {
    // This update locks the account: entries of one account follow each other, each with its balance_after.
    const { balance } = await tx
      .updateTable('accounts')
      .set((eb) => ({ balance: eb('balance', '+', entry.amount) }))
      .where('account_id', '=', entry.accountId)
      .returning('balance')
      .executeTakeFirstOrThrow()
    const row: TransactionTable = {
      transaction_id: uuid(),
      account_id: entry.accountId,
      type: entry.type,
      amount: entry.amount,
      balance_after: balance,
      server_id: entry.serverId,
      description: entry.description,
      reference: entry.reference,
      created_at: clock.now(),
    }
    const earlier =
      entry.reference === null ? undefined : await findByReference(tx, entry.accountId, entry.reference)
    if (earlier) {
      await tx
        .updateTable('accounts')
        .set((eb) => ({ balance: eb('balance', '-', entry.amount) }))
        .where('account_id', '=', entry.accountId)
        .execute()
      return { entry: earlier, isNew: false }
    }
    await tx.insertInto('transactions').values(row).execute()
    return { entry: row, isNew: true }
  })
}

function findByReference(db: Pick<Database, 'selectFrom'>, accountId: string, reference: string) {
  return db
    .selectFrom('transactions')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('reference', '=', reference)
    .executeTakeFirst()
}

/** Newest first. */
export async function listTransactions(db: Queries, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('transactions').where('account_id', '=', accountId)
  const [items, { total }] = await Promise.all([
    ofAccount.selectAll().orderBy('transaction_id', 'desc').limit(page.limit).offset(page.offset).execute(),
    ofAccount.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { items, total }
}

/** What all servers that are billed now cost together, in units; one that is being deleted is no longer billed. */
export async function costNow(db: Queries, accountId: string): Promise<{ hour: number; month: number }> {
  const { hour, month } = await db
    .selectFrom('servers')
    .select((eb) => [
      eb.fn.sum<string | number | null>('price_hour').as('hour'),
      eb.fn.sum<string | number | null>('price_month').as('month'),
    ])
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('billed_since', 'is not', null)
    .where('status', '<>', 'deleting')
    .executeTakeFirstOrThrow()
  // PostgreSQL sums bigints to numeric, which its driver hands over as text.
  return { hour: Number(hour ?? 0), month: Number(month ?? 0) }
}

const HOURS_TO_COVER = 24

/**
 * Starting something new needs a balance for a day of it.
 * @param balance units
 * @param priceHour units
 * @throws ApiError insufficient_balance
 */
export function requireBalance(balance: number, priceHour: number): void {
  const required = priceHour * HOURS_TO_COVER
  if (balance >= required) return
  const [needed, available] = [formatMoney(required), formatMoney(balance)]
  throw new ApiError(
    'insufficient_balance',
    `This needs ${needed} rubles for the first ${HOURS_TO_COVER} hours; the balance is ${available}. Top it up first.`,
    {
      required: needed,
      available,
    },
  )
}
