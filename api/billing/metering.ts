import { type Database, isLockFailure, type Lent, type Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { sentSince } from '../monitoring/traffic.ts'
import { chargesBetween, hourAfter, monthStart, type Rate, stretchesBetween, wholeHour } from './accrual.ts'
import { charge, type Entry } from './ledger.ts'
import { ratesSince } from './rates.ts'
import type { BillingMeterTable, ItemType } from './tables.ts'
import { includedBytes, trafficCharge } from './traffic.ts'

/** The most items that one transaction charges. It holds locks, for which requests must not wait long. */
const BATCH = 500

/** The project of each item; `is_gone` is 1 for one that was deleted. */
export type BilledItems = Lent<{ item_id: string; project_id: string; is_gone: number }>

export interface MeteringOptions {
  db: Database
  items: BilledItems
  /**
   * Called for an item that could not be charged. A null item reports a failed batch, which is then charged item by
   * item.
   */
  onFault?: (item: { item_type: ItemType; item_id: string } | null, error: unknown) => void
}

/**
 * Charges every item for the whole hours that have passed, up to now or up to its end. Each transaction writes its
 * charges and advances the meters, so that nothing is lost or charged twice, whenever the process dies and however many
 * processes do this.
 * @returns the number of items charged
 */
export async function chargeDue(options: MeteringOptions, now: number): Promise<number> {
  const { db, items } = options
  let charged = 0
  for (;;) {
    const count = await db
      .transaction()
      .execute((tx) => chargeBatch(tx, items, now))
      .catch((error) => {
        // Another process has locked an account for long. No item is at fault, and the next round charges them.
        if (isLockFailure(error)) return 0
        options.onFault?.(null, error)
        return chargeOneByOne(options, now)
      })
    charged += count
    if (count < BATCH) return charged
  }
}

/** Charges items in transactions of their own. An item that can't be charged is postponed for an hour and reported. */
async function chargeOneByOne({ db, items, onFault }: MeteringOptions, now: number): Promise<number> {
  const due = await dueNow.all(db, { now })
  let locked = 0
  for (const item of due)
    try {
      await db.transaction().execute((tx) => chargeBatch(tx, items, now, item.item_id))
    } catch (error) {
      if (isLockFailure(error)) {
        locked += 1
        continue
      }
      onFault?.(item, error)
      await db
        .updateTable('billing_meters')
        .set({ due_at: hourAfter(now) })
        .where('item_id', '=', item.item_id)
        .execute()
    }
  return due.length - locked
}

/** The seconds for which the oldest charge has been due; 0 if no charge is due. */
export async function chargeLagSeconds(db: Queries, now: number): Promise<number> {
  const { due } = await db
    .selectFrom('billing_meters')
    .select((eb) => eb.fn.min<number | null>('due_at').as('due'))
    .executeTakeFirstOrThrow()
  return Math.max(0, now - (due ?? now)) / 1000 // not money: time
}

/** Charges the items of one transaction. */
export async function chargeBatch(
  tx: Queries,
  items: BilledItems,
  now: number,
  only?: string,
): Promise<number> {
  const meters = await lockDue(tx, now, only)
  if (meters.length === 0) return 0
  const ids = meters.map((meter) => meter.item_id)
  // Right after the start of a month, this still includes the previous month.
  const oldest = Math.min(...meters.map((meter) => monthStart(meter.charged_until - 1)))
  const [rates, found] = [await ratesSince(tx, ids, oldest), await findItems(tx, items, ids)]
  const sent = await sentSince(tx, ids, oldest)
  const read = meters.map((meter) => {
    const { item_type, item_id, account_id: accountId } = meter
    const { project_id = null, is_gone = 1 } = found.get(item_id) ?? {}
    const { charges, ...moved } = readMeter(meter, {
      rates: rates.get(item_id) ?? [],
      sent: sent.get(item_id) ?? new Map(),
      isGone: is_gone === 1,
      // This also holds for a rate that has ended: an hour has one charge, even if another rate begins in it.
      until: Math.max(meter.charged_until, wholeHour(now)),
    })
    const entries = charges.map(({ hour, seconds, bytes, amount }): Entry => {
      const charged = { item_type, item_id, project_id, hour, seconds, bytes }
      return { accountId, type: 'charge', amount: 0 - amount, description: '', charged }
    })
    return { entries, meter: { ...meter, ...moved } }
  })
  const entries = read.flatMap((one) => one.entries)
  await moveMeters(
    tx,
    read.map(({ meter }) => meter),
  )
  await charge(tx, entries, now)
  return meters.length
}

/** The rates and traffic of an item, and the time up to which it is to be charged. */
interface Used {
  rates: readonly Rate[]
  /** The bytes sent in each calendar month, by its start. */
  sent: ReadonlyMap<number, number>
  isGone: boolean
  until: number
}

/** Computes the charges for an item up to a time, and the state of its meter after them. */
export function readMeter(meter: BillingMeterTable, { rates, sent, isGone, until }: Used) {
  const last = rates.at(-1)
  // A charge that is late may find a rate that ended after `until`: the rest of its time belongs to a later hour.
  const isLeft = last !== undefined && (last.ends_at === null || last.ends_at > until)
  const charges = chargesBetween(rates, meter.charged_until, until).map(
    (charge): typeof charge & { bytes: number | null } => ({ ...charge, bytes: null }),
  )
  let { traffic_month, traffic_charged } = meter
  const traffic = new Map<number, (typeof charges)[number]>()
  for (const { month, hour, seconds, until: end } of trafficStretches(meter.charged_until, until)) {
    const charged = month === traffic_month ? traffic_charged : 0
    const held = rates.filter(({ starts_at }) => starts_at < end)
    const used = { sent: sent.get(month) ?? 0, charged }
    const included = includedBytes(held, { month, until: end, isGone })
    const charge = trafficCharge({ ...used, included }, held.at(-1)?.traffic_price ?? 0)
    if (!charge) continue
    traffic_month = month
    traffic_charged = charged + charge.bytes
    const before = traffic.get(hour)
    const bytes = charge.bytes + (before?.bytes ?? 0)
    traffic.set(hour, { hour, seconds, bytes, amount: charge.amount + (before?.amount ?? 0) })
  }
  const due_at = isLeft ? hourAfter(until) : null
  return {
    charges: [...charges, ...traffic.values()],
    charged_until: until,
    due_at,
    traffic_month,
    traffic_charged,
  }
}

/**
 * Splits the time between two moments at the ends of calendar months, each part with the hour of its charge. At the
 * start of a month, the previous month is included: a slow sampler may record its traffic after its last charge.
 */
function trafficStretches(from: number, until: number) {
  const stretches = stretchesBetween(from, until).map((stretch) => ({
    ...stretch,
    hour: wholeHour(stretch.from),
    seconds: (stretch.until - stretch.from) / 1000, // not money: whole seconds
  }))
  const [first] = stretches
  if (!first || first.from !== first.month) return stretches
  return [{ ...first, month: monthStart(first.month - 1), until: first.month }, ...stretches]
}

const dueNow = prepared((db, { now }: { now: number }) => dueMeters(db, now))
const dueUnlocked = prepared((db, { now }: { now: number }) => dueMeters(db, now).forUpdate().skipLocked())

function dueMeters(db: Queries, now: number) {
  return db
    .selectFrom('billing_meters')
    .select(['item_type', 'item_id'])
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('item_id')
    .limit(BATCH)
}

/** Returns the meters that are due, locked until this transaction ends. */
async function lockDue(tx: Queries, now: number, only?: string): Promise<BillingMeterTable[]> {
  // The query skips items that another process is charging at this moment.
  const due = only ? [] : await dueUnlocked.all(tx, { now })
  const ids = only ? [only] : due.map((meter) => meter.item_id)
  if (ids.length === 0) return []
  return (
    tx
      .updateTable('billing_meters')
      .set((eb) => ({ due_at: eb.ref('due_at') }))
      .where('item_id', 'in', ids)
      // Another process may have charged them since they were listed.
      .where('due_at', '<=', now)
      .returningAll()
      .execute()
  )
}

async function moveMeters(tx: Queries, meters: readonly BillingMeterTable[]): Promise<void> {
  await tx
    .insertInto('billing_meters')
    .values(meters)
    .onConflict((conflict) =>
      conflict.column('server_id').doUpdateSet((eb) => ({
        charged_until: eb.ref('excluded.charged_until'),
        due_at: eb.ref('excluded.due_at'),
        traffic_month: eb.ref('excluded.traffic_month'),
        traffic_charged: eb.ref('excluded.traffic_charged'),
      })),
    )
    .execute()
}

/** Finds the items with their projects. An hour belongs to the item's project at the time of the charge. */
export async function findItems(tx: Queries, items: BilledItems, itemIds: readonly string[]) {
  const rows = await tx
    .selectFrom(items(tx).as('items'))
    .select(['item_id', 'project_id', 'is_gone'])
    .where('item_id', 'in', itemIds)
    .execute()
  return new Map(rows.map((row) => [row.item_id, row]))
}

/** Queries the items that have cost something or may still do so. Other features join it. */
export function chargedItems(db: Queries) {
  return db.selectFrom('billing_meters').select('item_id')
}
