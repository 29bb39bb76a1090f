import { sql } from 'kysely'
import type { Queries } from '../../database/database.ts'
import type { ItemType, TransactionTable } from '../tables.ts'

/** The most lines of a document for items, and for other entries; all further ones are summed up. */
export const MOST_LINES = 1_000

/** The entries of a month that no document has yet, and those of earlier months that were booked after their documents. */
export interface Stretch {
  accountId: string
  from: number
  until: number
  /** The last entry of the ledger when the previous document was issued. */
  after: number
}

/** The charges for an item while it was in one project. Amounts are above zero. */
export interface ItemSum {
  project_id: string | null
  item_type: ItemType
  item_id: string
  seconds: number
  amount: number
  traffic_amount: number
}

/** The charges for all items of one type in one project. */
export type TypeSum = Omit<ItemSum, 'item_id' | 'traffic_amount'> & { items: number }

export type Booked = Pick<TransactionTable, 'description' | 'amount' | 'created_at'> & {
  type: 'payment' | 'refund' | 'correction'
}

/** The other entries of one type. */
export interface BookedSum {
  type: Booked['type']
  entries: number
  amount: number
}

export interface Movement {
  /** The items that cost the most. */
  items: ItemSum[]
  types: TypeSum[]
  /** The first entries that are not charges. */
  booked: Booked[]
  sums: BookedSum[]
}

/** Reads the movement of an account, at most MOST_LINES of each kind, with the sums of all. */
export async function movementOf(db: Queries, stretch: Stretch): Promise<Movement> {
  const [items, types] = [await itemsOf(db, stretch), await typesOf(db, stretch)]
  const [booked, sums] = [await bookedIn(db, stretch), await sumsOf(db, stretch)]
  return { items, types, booked, sums }
}

function charges(db: Queries, { accountId, from, until, after }: Stretch) {
  const own = db.selectFrom('transactions').selectAll().where('account_id', '=', accountId)
  const inMonth = own.where('hour', '>=', from).where('hour', '<', until)
  return inMonth.unionAll(own.where('sequence', '>', after).where('hour', '<', from)).as('charges')
}

function others(db: Queries, { accountId, from, until, after }: Stretch) {
  const all = db.selectFrom('transactions').selectAll().where('account_id', '=', accountId)
  const own = all.where('hour', 'is', null)
  const inMonth = own.where('created_at', '>=', from).where('created_at', '<', until)
  return inMonth.unionAll(own.where('sequence', '>', after).where('created_at', '<', from)).as('others')
}

// PostgreSQL sums bigints to numeric, which its driver hands over as text.
type Sum = string | number
const charged = {
  // Charges for traffic have no time of their own: the charge for the hour counts it.
  seconds: sql<Sum>`sum(CASE WHEN bytes IS NULL THEN seconds ELSE 0 END)`,
  traffic: sql<Sum>`sum(CASE WHEN bytes IS NULL THEN 0 ELSE amount END)`,
  amount: sql<Sum>`sum(amount)`,
  // A charge has an item.
  type: sql<ItemType>`item_type`,
  id: sql<string>`item_id`,
}

async function itemsOf(db: Queries, stretch: Stretch): Promise<ItemSum[]> {
  const rows = await db
    .selectFrom(charges(db, stretch))
    .select(['project_id', charged.type.as('item_type'), charged.id.as('item_id')])
    .select([charged.seconds.as('sum_seconds'), charged.traffic.as('sum_traffic')])
    .select(charged.amount.as('sum_amount'))
    .groupBy(['project_id', 'item_type', 'item_id'])
    .orderBy('sum_amount')
    .orderBy('item_id')
    .orderBy('project_id')
    .limit(MOST_LINES)
    .execute()
  return rows.map(({ sum_seconds, sum_traffic, sum_amount, ...row }) => ({
    ...row,
    seconds: Number(sum_seconds),
    amount: 0 - Number(sum_amount),
    traffic_amount: 0 - Number(sum_traffic),
  }))
}

async function typesOf(db: Queries, stretch: Stretch): Promise<TypeSum[]> {
  const rows = await db
    .selectFrom(charges(db, stretch))
    .select(['project_id', charged.type.as('item_type')])
    .select([charged.seconds.as('sum_seconds'), charged.amount.as('sum_amount')])
    .select(sql<Sum>`count(DISTINCT item_id)`.as('items'))
    .groupBy(['project_id', 'item_type'])
    .orderBy('project_id')
    .orderBy('item_type')
    .execute()
  return rows.map(({ sum_seconds, sum_amount, items, ...row }) => ({
    ...row,
    items: Number(items),
    seconds: Number(sum_seconds),
    amount: 0 - Number(sum_amount),
  }))
}

function bookedIn(db: Queries, stretch: Stretch): Promise<Booked[]> {
  return (
    db
      .selectFrom(others(db, stretch))
      // Only charges have an hour.
      .select([sql<Booked['type']>`type`.as('type'), 'description', 'amount', 'created_at'])
      .orderBy('sequence')
      .limit(MOST_LINES)
      .execute()
  )
}

async function sumsOf(db: Queries, stretch: Stretch): Promise<BookedSum[]> {
  const rows = await db
    .selectFrom(others(db, stretch))
    .select(sql<Booked['type']>`type`.as('type'))
    .select([sql<Sum>`count(*)`.as('entries'), sql<Sum>`sum(amount)`.as('sum_amount')])
    .groupBy('type')
    .orderBy('type')
    .execute()
  return rows.map(({ type, entries, sum_amount }) => ({
    type,
    entries: Number(entries),
    amount: Number(sum_amount),
  }))
}

/** The sum of the entries that belong to months from a moment on, in units. */
export async function bookedSince(db: Queries, accountId: string, from: number): Promise<number> {
  const own = db
    .selectFrom('transactions')
    .select(charged.amount.as('sum'))
    .where('account_id', '=', accountId)
  const used = await own.where('hour', '>=', from).executeTakeFirst()
  const rest = await own.where('hour', 'is', null).where('created_at', '>=', from).executeTakeFirst()
  return Number(used?.sum ?? 0) + Number(rest?.sum ?? 0)
}
