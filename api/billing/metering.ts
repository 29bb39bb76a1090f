import type { Database, Lent, Queries } from '../database/database.ts'
import type { BillingMeterTable } from '../database/schema.ts'
import { chargesBetween, hourAfter, monthStart, type Rate, wholeHour } from './accrual.ts'
import { charge, type Entry } from './ledger.ts'
import { ratesSince } from './rates.ts'

/** Servers that one transaction charges: few enough that requests need not wait long for it. */
const BATCH = 500

/** Where each server is, also one that is gone. */
export type ServerProjects = Lent<{ server_id: string; project_id: string }>

interface MeteringOptions {
  db: Database
  servers: ServerProjects
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
  servers: ServerProjects,
  now: number,
  only?: string,
): Promise<number> {
  const meters = await lockDue(tx, now, only)
  if (meters.length === 0) return 0
  const ids = meters.map((meter) => meter.server_id)
  const oldest = Math.min(...meters.map((meter) => monthStart(meter.charged_until)))
  const [rates, projects] = [await ratesSince(tx, ids, oldest), await projectsOf(tx, servers, ids)]
  const read = meters.map((meter) => ({ meter, ...readMeter(meter, rates.get(meter.server_id) ?? [], now) }))
  const entries = read.flatMap(({ meter, charges }) =>
    charges.map(({ hour, seconds, amount }): Entry => {
      const { server_id, account_id: accountId } = meter
      const project_id = projects.get(server_id) ?? null
      const charged = { server_id, project_id, hour, seconds }
      return { accountId, type: 'charge', amount: 0 - amount, description: '', charged }
    }),
  )
  await moveMeters(
    tx,
    read.map(({ meter, charged_until, due_at }) => ({ ...meter, charged_until, due_at })),
  )
  await charge(tx, entries, now)
  return meters.length
}

/** What is to be charged for a server now, and where its meter stands after it. */
function readMeter(meter: BillingMeterTable, rates: readonly Rate[], now: number) {
  // Also of a rate that has ended: nothing is charged in an hour after its one charge, not even if a rate begins anew.
  const until = Math.max(meter.charged_until, wholeHour(now))
  const isOpen = rates.at(-1)?.ends_at === null
  return {
    charges: chargesBetween(rates, meter.charged_until, until),
    charged_until: until,
    due_at: isOpen ? hourAfter(until) : null,
  }
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
      })),
    )
    .execute()
}

/** An hour belongs to the project in which the server is when it is charged. */
async function projectsOf(
  tx: Queries,
  servers: ServerProjects,
  serverIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx
    .selectFrom(servers(tx).as('servers'))
    .select(['server_id', 'project_id'])
    .where('server_id', 'in', serverIds)
    .execute()
  return new Map(rows.map((row) => [row.server_id, row.project_id]))
}

/** Servers that have cost something, or may: what the SQL of servers joins. */
export function chargedServers(db: Queries) {
  return db.selectFrom('billing_meters').select('server_id')
}
