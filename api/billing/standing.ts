import type { Queries } from '../database/database.ts'
import type { LedgerTable } from '../database/schema.ts'
import type { Event } from '../events/outbox.ts'
import { formatMoney, wholeTimes } from '../money.ts'
import { costsNow } from './rates.ts'

/** A balance that lasts less than this is worth a warning. */
const LOW_HOURS = 72

/**
 * Notes on ledgers that were charged whether their balance runs low or is used up; each is told once, until a
 * top-up mends it.
 * @returns the events that follow
 */
export async function standing(
  tx: Queries,
  ledgers: ReadonlyMap<string, LedgerTable>,
  now: number,
): Promise<Event[]> {
  const costs = await costsNow(tx, [...ledgers.keys()])
  return [...ledgers.values()].flatMap((ledger) => {
    const { account_id: accountId, balance } = ledger
    const hour = costs.get(accountId)?.hour ?? 0
    const tell = (type: Event['type'], hoursLeft: number): Event => ({
      accountId,
      type,
      data: { balance: formatMoney(balance), cost_hour_rub: formatMoney(hour, 4), hours_left: hoursLeft },
      at: now,
    })
    const { low_since, depleted_since } = ledger
    const isLow = hour > 0 && balance < hour * LOW_HOURS
    ledger.low_since = isLow ? (low_since ?? now) : null
    // Also what was noted while the clock was ahead counts from now.
    const isDepleted = hour > 0 && balance <= 0
    if (isDepleted) ledger.depleted_since = Math.min(depleted_since ?? now, now)
    else if (balance > 0) ledger.depleted_since = null
    if (isDepleted) return depleted_since === null ? [tell('balance.depleted', 0)] : []
    return isLow && low_since === null ? [tell('balance.low', wholeTimes(balance, hour))] : []
  })
}

/** How many accounts have enough, little (less than the warning time) or nothing left of their balance. */
export function countStandings(db: Queries): Promise<{ standing: string; total: number }[]> {
  return db
    .selectFrom('ledgers')
    .select((eb) => [
      eb
        .case()
        .when('depleted_since', 'is not', null)
        .then('depleted')
        .when('low_since', 'is not', null)
        .then('low')
        .else('enough')
        .end()
        .as('standing'),
      eb.fn.countAll<number>().as('total'),
    ])
    .groupBy('standing')
    .execute()
}
