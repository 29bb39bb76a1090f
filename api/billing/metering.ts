import type { Database, Lent, Queries } from '../database/database.ts'
import { sentSince } from '../monitoring/traffic.ts'
import { chargesBetween, hourAfter, monthStart, type Rate, stretchesBetween, wholeHour } from './accrual.ts'
import { charge, type Entry } from './ledger.ts'
import { ratesSince } from './rates.ts'
import type { BillingMeterTable } from './tables.ts'
import { includedBytes, trafficCharge } from './traffic.ts'

/** Servers that one transaction charges: few enough that requests need not wait long for it. */
const BATCH = 500

/** Where each server is, also one that is gone: then `is_gone` is 1. */
export type BilledServers = Lent<{ server_id: string; project_id: string; is_gone: number }>

interface MeteringOptions {
  db: Database
  servers: BilledServers
  /** Called for a server that could not be charged. */
  onFault?: (serverId: string, error: unknown) => void
}

/**
 * Charges every server for the whole hours that have passed, up to now or up to its end. What a transaction charges
 * it also moves the meters past, so that nothing is lost or charged twice, whenever the process dies and however
 * many processes do this.
 * @returns how many servers were charged
 */
export async function chargeDue(options: MeteringOptions, now: number): Promise<number> {
  const { db, servers } = options
  let charged = 0
  for (;;) {
    const count = await db
      .transaction()
      .execute((tx) => chargeBatch(tx, servers, now))
      .catch(() => chargeOneByOne(options, now))
    charged += count
    if (count < BATCH) return charged
  }
}

/** A server that can't be charged must not keep the others from it: it is postponed for an hour, and reported. */
async function chargeOneByOne({ db, servers, onFault }: MeteringOptions, now: number): Promise<number> {
  const due = await dueMeters(db, now).execute()
  for (const { server_id } of due)
    try {
      await db.transaction().execute((tx) => chargeBatch(tx, servers, now, server_id))
    } catch (error) {
      onFault?.(server_id, error)
      await db
        .updateTable('billing_meters')
        .set({ due_at: hourAfter(now) })
        .where('server_id', '=', server_id)
        .execute()
    }
  return due.length
}

/** How long the oldest charge has been due; 0 where none is. */
export async function chargeLagSeconds(db: Queries, now: number): Promise<number> {
  const { due } = await db
    .selectFrom('billing_meters')
    .select((eb) => eb.fn.min<number | null>('due_at').as('due'))
    .executeTakeFirstOrThrow()
  return Math.max(0, now - (due ?? now)) / 1000 // not money: time
}

/** One transaction's worth of it. */
export async function chargeBatch(
  tx: Queries,
  servers: BilledServers,
  now: number,
  only?: string,
): Promise<number> {
  const meters = await lockDue(tx, now, only)
  if (meters.length === 0) return 0
  const ids = meters.map((meter) => meter.server_id)
  // Where a month begins, the one before is looked at once more.
  const oldest = Math.min(...meters.map((meter) => monthStart(meter.charged_until - 1)))
  const [rates, found] = [await ratesSince(tx, ids, oldest), await findServers(tx, servers, ids)]
  const sent = await sentSince(tx, ids, oldest)
  const read = meters.map((meter) => {
    const { server_id, account_id: accountId } = meter
    const { project_id = null, is_gone = 1 } = found.get(server_id) ?? {}
    const { charges, ...moved } = readMeter(meter, {
      rates: rates.get(server_id) ?? [],
      sent: sent.get(server_id) ?? new Map(),
      isGone: is_gone === 1,
      now,
    })
    const entries = charges.map(({ hour, seconds, bytes, amount }): Entry => {
      const charged = { server_id, project_id, hour, seconds, bytes }
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

interface Used {
  rates: readonly Rate[]
  /** Bytes, by the start of the calendar month. */
  sent: ReadonlyMap<number, number>
  isGone: boolean
  now: number
}

/** Computes a pending charge, and where the meter stands after it. */
function readMeter(meter: BillingMeterTable, { rates, sent, isGone, now }: Used) {
  // Also of a rate that has ended: nothing is charged in an hour after its one charge, not even if a rate begins anew.
  const until = Math.max(meter.charged_until, wholeHour(now))
  const isOpen = rates.at(-1)?.ends_at === null
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
  const due_at = isOpen ? hourAfter(until) : null
  return {
    charges: [...charges, ...traffic.values()],
    charged_until: until,
    due_at,
    traffic_month,
    traffic_charged,
  }
}

/**
 * The time between two moments, in pieces of calendar months, each with the hour that it is charged in. A sampler that
 * was slow at midnight writes down what was sent before it after the last charge of that month: the first charge of the
 * next has that too.
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

function dueMeters(db: Queries, now: number) {
  return db
    .selectFrom('billing_meters')
    .select('server_id')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('server_id')
    .limit(BATCH)
}

/** Meters that are due, and nobody else's until this transaction ends. */
async function lockDue(tx: Queries, now: number, only?: string): Promise<BillingMeterTable[]> {
  const due = only ? [] : await dueMeters(tx, now).execute()
  const ids = only ? [only] : due.map((meter) => meter.server_id)
  if (ids.length === 0) return []
  return (
    tx
      .updateTable('billing_meters')
      .set((eb) => ({ due_at: eb.ref('due_at') }))
      .where('server_id', 'in', ids)
      // Another process may have moved them since they were listed.
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

/** An hour belongs to the project in which the server is when it is charged. */
async function findServers(tx: Queries, servers: BilledServers, serverIds: readonly string[]) {
  const rows = await tx
    .selectFrom(servers(tx).as('servers'))
    .select(['server_id', 'project_id', 'is_gone'])
    .where('server_id', 'in', serverIds)
    .execute()
  return new Map(rows.map((row) => [row.server_id, row]))
}

/** Servers that have cost something, or may: what the SQL of servers joins. */
export function chargedServers(db: Queries) {
  return db.selectFrom('billing_meters').select('server_id')
}
