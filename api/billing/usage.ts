import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import { monthStart } from './accrual.ts'
import type { NamedItems } from './ledger.ts'
import { MOST_ITEMS } from './schema.ts'
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

/** The usage of a month: the items that cost the most, and the sums of all. */
export interface MonthUsage {
  rows: UsageRow[]
  /** Units. */
  amount: number
  /** The items that are not among the rows, and their cost in units. */
  more: { items: number; amount: number }
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
): Promise<MonthUsage> {
  const charged = await db
    .selectFrom(costliest(db, accountId, month).as('charged'))
    .leftJoin(items(db).as('items'), 'items.item_id', 'charged.item_id')
    .selectAll('charged')
    // The name of an item that moved to another account belongs to its new owner, and is not shown.
    .select(
      sql<string>`CASE WHEN items.account_id = ${accountId} THEN items.name ELSE charged.item_id END`.as(
        'item_name',
      ),
    )
    .orderBy('charged.item_id')
    .orderBy('charged.project_id')
    .execute()
  const [first] = charged
  const [entries, amount] = [Number(first?.entries ?? 0), 0 - Number(first?.total ?? 0)]
  // PostgreSQL sums bigints to numeric, which its driver hands over as text.
  const rows = charged.map(({ seconds, amount, traffic_amount, entries, total, ...row }) => ({
    ...row,
    seconds: Number(seconds),
    amount: 0 - Number(amount),
    traffic_amount: 0 - Number(traffic_amount),
  }))
  const shown = rows.reduce((sum, row) => sum + row.amount, 0)
  return { rows, amount, more: { items: entries - rows.length, amount: amount - shown } }
}

type Sum = string | number

/** The items that cost the most in a month, each with the number and the sum of all. */
function costliest(db: Queries, accountId: string, month: number) {
  return (
    db
      .selectFrom('transactions')
      .select([
        // A charge has an item and its project: only other entries have null there.
        sql<ItemType>`item_type`.as('item_type'),
        sql<string>`item_id`.as('item_id'),
        sql<string>`project_id`.as('project_id'),
        // Charges for traffic have no time of their own: the charge for the hour counts it.
        sql<Sum>`sum(CASE WHEN bytes IS NULL THEN seconds ELSE 0 END)`.as('seconds'),
        sql<Sum>`sum(CASE WHEN bytes IS NULL THEN 0 ELSE amount END)`.as('traffic_amount'),
        sql<Sum>`sum(amount)`.as('amount'),
        sql<Sum>`count(*) OVER ()`.as('entries'),
        sql<Sum>`sum(sum(amount)) OVER ()`.as('total'),
      ])
      .where('account_id', '=', accountId)
      .where('hour', '>=', monthStart(month))
      .where('hour', '<', monthStart(month, 1))
      .groupBy(['item_type', 'item_id', 'project_id'])
      // Amounts of charges are negative.
      .orderBy(sql`sum(amount)`)
      .orderBy('item_id')
      .orderBy('project_id')
      .limit(MOST_ITEMS)
  )
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
