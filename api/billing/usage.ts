import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import { monthStart } from './accrual.ts'
import type { NamedItems } from './ledger.ts'
import type { ItemType, LedgerTable } from './tables.ts'

/** The charges for an item in a month, while it was in one project. */
export interface UsageRow {
  item_type: ItemType
  item_id: string
  item_name: string
  project_id: string
  seconds: number
  /** Units, above zero; the amount includes that of traffic. */
  amount: number
  traffic_amount: number
}

/**
 * The charges of an account for the hours of a calendar month, by item and project: sums of the ledger's own
 * entries, so that the two can't differ.
 * @param month any moment of it
 */
export async function usageOf(
  db: Queries,
  items: NamedItems,
  accountId: string,
  month: number,
): Promise<UsageRow[]> {
  const rows = await db
    .selectFrom('transactions')
    .innerJoin(items(db).as('items'), 'items.item_id', 'transactions.item_id')
    .select(({ fn }) => [
      'items.item_id',
      // The name of an item that moved to another account belongs to its new owner, and is not shown.
      sql<string>`CASE WHEN items.account_id = transactions.account_id THEN items.name ELSE items.item_id END`.as(
        'item_name',
      ),
      // A charge has an item and its project: only other entries have null there.
      sql<ItemType>`transactions.item_type`.as('item_type'),
      sql<string>`transactions.project_id`.as('project_id'),
      // Charges for traffic have no time of their own: the charge for the hour counts it.
      sql<string | number>`sum(CASE WHEN bytes IS NULL THEN seconds ELSE 0 END)`.as('seconds'),
      sql<string | number>`sum(CASE WHEN bytes IS NULL THEN 0 ELSE amount END)`.as('traffic_amount'),
      fn.sum<string | number>('transactions.amount').as('amount'),
    ])
    .where('transactions.account_id', '=', accountId)
    .where('transactions.hour', '>=', monthStart(month))
    .where('transactions.hour', '<', monthStart(month, 1))
    .groupBy(['items.item_id', 'items.name', 'items.account_id', 'transactions.account_id'])
    .groupBy(['transactions.item_type', 'transactions.project_id'])
    .orderBy('items.item_id')
    .orderBy('transactions.project_id')
    .execute()
  // PostgreSQL sums bigints to numeric, which its driver hands over as text.
  return rows.map(({ seconds, amount, traffic_amount, ...row }) => ({
    ...row,
    seconds: Number(seconds),
    amount: 0 - Number(amount),
    traffic_amount: 0 - Number(traffic_amount),
  }))
}

/**
 * Returns the sum of the charges after an entry, computed from the balances and the few entries that are not charges.
 * `left` is the most that can remain of the balance at that entry; debits have taken the rest.
 * @returns units
 */
export async function chargedAfter(
  db: Queries,
  { account_id, sequence, balance }: LedgerTable,
  after: number,
): Promise<{ charged: number; left: number }> {
  const own = db.selectFrom('transactions').where('account_id', '=', account_id)
  const first = await own.select('balance_after').where('sequence', '=', after).executeTakeFirst()
  const others = await own
    .select('amount')
    .where('hour', 'is', null)
    // The `+ 0` rules out the index of the sequence, with which the database would read all charges.
    .where(sql<boolean>`sequence + 0 > ${after} AND sequence + 0 <= ${sequence ?? 0}`)
    .orderBy(sql`sequence + 0`, 'desc')
    .execute()
  let [left, later] = [Number.POSITIVE_INFINITY, 0]
  for (const { amount } of others) {
    if (amount < 0) left = Math.min(left, balance - later)
    later += amount
  }
  return { charged: (first?.balance_after ?? 0) + later - balance, left: Math.max(0, left) }
}
