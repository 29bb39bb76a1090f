import type { LedgerTable } from '../database/schema.ts'
import type { Event } from '../events/outbox.ts'
import { formatMoney, wholeTimes } from '../money.ts'

/** A balance that lasts less than this is worth a warning. */
const LOW_HOURS = 72

/**
 * Whether a balance runs low or is used up after a charge; each is told once, until a top-up mends it.
 * @param hour what the account's servers cost an hour, in units
 * @returns the ledger with that noted, and the events that follow
 */
export function standing(
  ledger: LedgerTable,
  hour: number,
  now: number,
): { ledger: LedgerTable; events: Event[] } {
  const { account_id: accountId, balance, low_since, depleted_since } = ledger
  const isLow = hour > 0 && balance < hour * LOW_HOURS
  const isDepleted = hour > 0 && balance <= 0
  const noted = {
    ...ledger,
    low_since: isLow ? (low_since ?? now) : null,
    // Also what was noted while the clock was ahead counts from now.
    depleted_since: isDepleted ? Math.min(depleted_since ?? now, now) : balance > 0 ? null : depleted_since,
  }
  const tell = (type: Event['type'], hoursLeft: number): Event => ({
    accountId,
    type,
    data: { balance: formatMoney(balance), cost_hour_rub: formatMoney(hour, 4), hours_left: hoursLeft },
    at: now,
  })
  if (isDepleted)
    return { ledger: noted, events: depleted_since === null ? [tell('balance.depleted', 0)] : [] }
  const isNews = isLow && low_since === null
  return { ledger: noted, events: isNews ? [tell('balance.low', wholeTimes(balance, hour))] : [] }
}
