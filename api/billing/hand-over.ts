import type { Queries } from '../database/database.ts'
import { sentSince } from '../monitoring/traffic.ts'
import { hourAfter, monthStart, wholeSecond } from './accrual.ts'
import { charge } from './ledger.ts'
import { type BilledItems, findItems, readMeter } from './metering.ts'
import { type BilledItem, beginRate, endRate, insertRate, lastRate, type Price, ratesSince } from './rates.ts'
import type { BillingMeterTable } from './tables.ts'

/** A billed item with its old account, the account that pays from now on, and its price there; null: it costs nothing. */
export interface HandOver {
  item: BilledItem
  to: string
  price: Price | null
}

/**
 * Locks the meters of items until this transaction ends. Call it before the first handOver: charging locks meters
 * before ledgers too, and another order could deadlock.
 */
export async function lockMeters(
  tx: Queries,
  itemIds: readonly string[],
): Promise<Map<string, BillingMeterTable>> {
  const meters = await tx
    .updateTable('billing_meters')
    .set((eb) => ({ due_at: eb.ref('due_at') }))
    .where('item_id', 'in', itemIds)
    .returningAll()
    .execute()
  return new Map(meters.map((meter) => [meter.item_id, meter]))
}

/**
 * Charges an item to its old account up to a moment, in whole seconds, and to the new account from then on. The
 * item's row must still name the old account.
 * @param moment milliseconds; it is moved forward if it is before the last charge or change, as after a clock was set
 * back
 */
export async function handOver(
  tx: Queries,
  { items, meters }: { items: BilledItems; meters: ReadonlyMap<string, BillingMeterTable> },
  { item, to, price }: HandOver,
  moment: number,
): Promise<void> {
  const { item_id } = item
  const meter = meters.get(item_id)
  const taken = { ...item, account_id: to }
  if (!meter) return price ? beginRate(tx, taken, price, moment) : undefined
  const last = await lastRate(tx, item_id)
  const at = Math.max(wholeSecond(moment), meter.charged_until, last?.ends_at ?? last?.starts_at ?? 0)
  const traffic = meter.due_at === null ? {} : await chargeUntil(tx, items, meter, at, moment)
  if (last?.ends_at === null) await endRate(tx, item_id, last.starts_at, at)
  if (price) await insertRate(tx, taken, price, at)
  await tx
    .updateTable('billing_meters')
    .set({ ...traffic, account_id: to, charged_until: at, due_at: price ? hourAfter(at) : null })
    .where('item_id', '=', item_id)
    .execute()
}

/** Charges the item up to a moment. @returns the charged traffic as the meter then has it */
async function chargeUntil(
  tx: Queries,
  items: BilledItems,
  meter: BillingMeterTable,
  until: number,
  now: number,
): Promise<Pick<BillingMeterTable, 'traffic_month' | 'traffic_charged'>> {
  const { item_type, item_id, account_id: accountId } = meter
  const since = monthStart(meter.charged_until - 1)
  const rates = (await ratesSince(tx, [item_id], since)).get(item_id) ?? []
  const sent = (await sentSince(tx, [item_id], since)).get(item_id) ?? new Map()
  const { project_id = null } = (await findItems(tx, items, [item_id])).get(item_id) ?? {}
  const { charges, traffic_month, traffic_charged } = readMeter(meter, { rates, sent, isGone: false, until })
  const entries = charges.map(({ hour, seconds, bytes, amount }) => {
    // An item has one entry for an hour; the account that has the item at the end of the hour gets it.
    const isLast = monthStart(hour) === monthStart(until - 1)
    const charged = { item_type, item_id, project_id, hour: isLast ? until - 1 : hour, seconds, bytes }
    return { accountId, type: 'charge' as const, amount: 0 - amount, description: '', charged }
  })
  await charge(tx, entries, now)
  return { traffic_month, traffic_charged }
}
