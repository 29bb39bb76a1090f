import type { Database, Queries } from '../database/database.ts'
import type { BillingMeterTable } from '../database/schema.ts'
import { chargesBetween, hourAfter, monthStart, type Rate, wholeHour } from './accrual.ts'
import { charge, type Entry } from './ledger.ts'
import { ratesSince } from './rates.ts'

/** Servers that one transaction charges: few enough that requests need not wait long for it. */
const BATCH = 500

/**
 * Charges every server for the whole hours that have passed, up to now or up to its end. What a transaction charges
 * it also moves the meters past, so that nothing is lost or charged twice, whenever the process dies and however
 * many processes do this.
 * @returns how many servers were charged
 */
export async function chargeDue(db: Database, now: number): Promise<number> {
  let charged = 0
  for (;;) {
    const count = await db.transaction().execute((tx) => chargeBatch(tx, now))
    charged += count
    if (count < BATCH) return charged
  }
}

/** How long the eldest charge has been due; 0 where none is. */
export async function chargeLagSeconds(db: Queries, now: number): Promise<number> {
  const { due } = await db
    .selectFrom('billing_meters')
    .select((eb) => eb.fn.min<number | null>('due_at').as('due'))
    .executeTakeFirstOrThrow()
  return Math.max(0, now - (due ?? now)) / 1000 // not money: time
}

/** One transaction's worth of it. */
export async function chargeBatch(tx: Queries, now: number): Promise<number> {
  const meters = await lockDue(tx, now)
  if (meters.length === 0) return 0
  const ids = meters.map((meter) => meter.server_id)
  const eldest = Math.min(...meters.map((meter) => monthStart(meter.charged_until)))
  const [rates, projects] = [await ratesSince(tx, ids, eldest), await projectsOf(tx, ids)]
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
  const last = rates.at(-1)
  const isOpen = last?.ends_at === null
  const until = Math.max(meter.charged_until, isOpen ? wholeHour(now) : (last?.ends_at ?? 0))
  return {
    charges: chargesBetween(rates, meter.charged_until, until),
    charged_until: until,
    due_at: isOpen ? hourAfter(until) : null,
  }
}

/** Meters that are due, and nobody else's until this transaction ends. */
function lockDue(tx: Queries, now: number): Promise<BillingMeterTable[]> {
  return (
    tx
      .updateTable('billing_meters')
      .set((eb) => ({ due_at: eb.ref('due_at') }))
      .where('server_id', 'in', (eb) =>
        eb
          .selectFrom('billing_meters as due')
          .select('due.server_id')
          .where('due.due_at', '<=', now)
          .orderBy('due.due_at')
          .orderBy('due.server_id')
          .limit(BATCH),
      )
      // Said again outside of the subquery: a meter that another process moved meanwhile is looked at anew on PostgreSQL.
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
async function projectsOf(tx: Queries, serverIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx
    .selectFrom('servers')
    .select(['server_id', 'project_id'])
    .where('server_id', 'in', serverIds)
    .execute()
  return new Map(rows.map((row) => [row.server_id, row.project_id]))
}
