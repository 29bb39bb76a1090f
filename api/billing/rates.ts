import { type Database, type Queries, send } from '../database/database.ts'
import { prepared, type RowOf } from '../database/prepared.ts'
import { hourAfter, type Rate, wholeSecond } from './accrual.ts'
import type { BillingMeterTable, RateTable } from './tables.ts'

/** A price in units per hour and per month. */
export interface Price {
  price_hour: number
  price_month: number
  /**
   * Bytes that a server may send in a calendar month for its price, and the price of a TB beyond that (default: none,
   * free).
   */
  traffic_gb?: number
  traffic_price?: number
}

/** Something that an account pays for by the hour. */
export type BilledItem = Pick<RateTable, 'item_type' | 'item_id' | 'account_id'>

/**
 * Changes the price at which an item is billed; null ends its billing.
 * @param moment the time of the change; it is moved forward if it is before the last charge or change, as after a clock
 * was set back
 */
export async function changeRate(
  tx: Queries,
  item: BilledItem,
  price: Price | null,
  moment: number,
): Promise<void> {
  const { item_id } = item
  const now = wholeSecond(moment)
  const meter = await lockMeter(tx, item, now)
  const last = await lastRate(tx, item_id)
  const at = Math.max(now, meter.charged_until, last?.ends_at ?? last?.starts_at ?? 0)
  if (last?.ends_at === null) await endRate(tx, item_id, last.starts_at, at)
  if (price) await insertRate(tx, item, price, at)
  // A running meter is due at the end of its hour anyway.
  if (meter.due_at !== null || !price) return
  await tx
    .updateTable('billing_meters')
    .set({ charged_until: at, due_at: hourAfter(at) })
    .where('item_id', '=', item_id)
    .execute()
}

/**
 * Begins to bill an item that was probably never billed before, with fewer statements than changeRate.
 */
export async function beginRate(tx: Queries, item: BilledItem, price: Price, moment: number): Promise<void> {
  const at = wholeSecond(moment)
  const times = { charged_until: at, due_at: hourAfter(at) }
  const meter = { ...keyOf(item), ...times, traffic_month: 0, traffic_charged: 0 }
  if ((await newMeter.change(tx, meter)) === 0) return changeRate(tx, item, price, moment)
  await insertRate(tx, item, price, at)
}

/** Writes the rate of an item that has no other in force. @param at its begin (milliseconds, at a whole second) */
export async function insertRate(tx: Queries, item: BilledItem, price: Price, at: number): Promise<void> {
  const { price_hour, price_month, traffic_gb = 0, traffic_price = 0 } = price
  const terms = { price_hour, price_month, traffic_gb, traffic_price }
  await send(tx, newRate.with(tx, { ...keyOf(item), starts_at: at, ends_at: null, ...terms }))
}

const newMeter = prepared((db, meter: RowOf<BillingMeterTable>) =>
  db
    .insertInto('billing_meters')
    .values(meter)
    .onConflict((conflict) => conflict.column('server_id').doNothing()),
)
const newRate = prepared((db, rate: RowOf<RateTable>) => db.insertInto('rates').values(rate))

/** An item as rates and meters name it. */
function keyOf({ item_type, item_id, account_id }: BilledItem) {
  return { item_type, item_id, server_id: item_id, account_id }
}

/** Ends a rate, or deletes it if it lasted no time. */
export async function endRate(tx: Queries, itemId: string, startsAt: number, at: number): Promise<void> {
  if (at > startsAt)
    await tx
      .updateTable('rates')
      .set({ ends_at: at })
      .where('item_id', '=', itemId)
      .where('starts_at', '=', startsAt)
      .execute()
  else await tx.deleteFrom('rates').where('item_id', '=', itemId).where('starts_at', '=', startsAt).execute()
}

/** The item's meter, which is created if there is none, and locked until this transaction ends. */
function lockMeter(tx: Queries, item: BilledItem, now: number) {
  return tx
    .insertInto('billing_meters')
    .values({ ...keyOf(item), charged_until: now, due_at: null, traffic_month: 0, traffic_charged: 0 })
    .onConflict((conflict) => conflict.column('server_id').doUpdateSet({ account_id: item.account_id }))
    .returning(['charged_until', 'due_at'])
    .executeTakeFirstOrThrow()
}

/** The times of the rate of an item that began last. */
export function lastRate(tx: Queries, itemId: string) {
  return tx
    .selectFrom('rates')
    .select(['starts_at', 'ends_at'])
    .where('item_id', '=', itemId)
    .orderBy('starts_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** More changes of price than a customer makes in a day. */
const SOME_RATES = 100

/**
 * The time since which an item is billed without a pause, after one.
 * @returns milliseconds; null if its billing never paused
 */
export async function resumedAt(db: Queries, itemId: string): Promise<number | null> {
  const rates = await db
    .selectFrom('rates')
    .select(['starts_at', 'ends_at'])
    .where('item_id', '=', itemId)
    .orderBy('starts_at', 'desc')
    .limit(SOME_RATES)
    .execute()
  const first = rates.findIndex(({ starts_at }, at) => rates[at + 1]?.ends_at !== starts_at)
  const isFirstOfAll = first === rates.length - 1 && rates.length < SOME_RATES
  return isFirstOfAll ? null : (rates[first]?.starts_at ?? null)
}

/** The rates of these items that were in force after a moment, by item, oldest first. */
export async function ratesSince(
  db: Queries,
  itemIds: readonly string[],
  since: number,
): Promise<Map<string, Rate[]>> {
  const rates = new Map<string, Rate[]>(itemIds.map((id) => [id, []]))
  if (itemIds.length === 0) return rates
  const rows = await db
    .selectFrom('rates')
    .select([
      ...(['item_id', 'starts_at', 'ends_at', 'price_hour', 'price_month'] as const),
      ...(['traffic_gb', 'traffic_price'] as const),
    ])
    .where('item_id', 'in', itemIds)
    .where((eb) => eb.or([eb('ends_at', 'is', null), eb('ends_at', '>', since)]))
    .orderBy('item_id')
    .orderBy('starts_at')
    .execute()
  for (const row of rows) rates.get(row.item_id)?.push(row)
  return rates
}

/** A rate is needed this long after its end, since charges look back to the start of their calendar month. */
const MONTH_MS = 31 * 24 * 3600_000

/**
 * Deletes some of the rates that ended before a moment, once they and the month in which they ended are charged.
 * The ledger keeps their charges.
 * @returns the number deleted
 */
export async function forgetRates(db: Database, before: number, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    // Without MATERIALIZED, PostgreSQL may repeat this query for every row of the table.
    .with(
      (cte) => cte('old').materialized(),
      (select) =>
        select
          .selectFrom('rates')
          .innerJoin('billing_meters as meter', 'meter.item_id', 'rates.item_id')
          .select(['rates.item_id', 'rates.starts_at'])
          .where('rates.ends_at', '<', before)
          // A meter without a due time has charged everything.
          .where((eb) =>
            eb.or([
              eb('meter.due_at', 'is', null),
              eb('meter.charged_until', '>=', eb('rates.ends_at', '+', MONTH_MS)),
            ]),
          )
          .limit(limit),
    )
    .deleteFrom('rates')
    .where((eb) =>
      eb(
        eb.refTuple('rates.item_id', 'rates.starts_at'),
        'in',
        eb.selectFrom('old').select(['old.item_id', 'old.starts_at']).$asTuple('item_id', 'starts_at'),
      ),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** A query of the current hourly cost of an account. */
export function hourlyCost(db: Queries, accountId: string) {
  return db
    .selectFrom('rates')
    .select((eb) => eb.fn.sum<string | number | null>('price_hour').as('hour'))
    .where('account_id', '=', accountId)
    .where('ends_at', 'is', null)
}

/** Sums up the hourly and monthly cost, in units, of everything billed now. */
export async function costsNow(
  db: Queries,
  accountIds: readonly string[],
): Promise<Map<string, { hour: number; month: number }>> {
  const rows = await db
    .selectFrom('rates')
    .select((eb) => [
      'account_id',
      eb.fn.sum<string | number>('price_hour').as('hour'),
      eb.fn.sum<string | number>('price_month').as('month'),
    ])
    .where('account_id', 'in', accountIds)
    .where('ends_at', 'is', null)
    .groupBy('account_id')
    .execute()
  // PostgreSQL sums bigints to numeric, which its driver hands over as text.
  const costs = rows.map(
    ({ account_id, hour, month }) => [account_id, { hour: Number(hour), month: Number(month) }] as const,
  )
  return new Map(costs)
}
