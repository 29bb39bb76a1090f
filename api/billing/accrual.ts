import { divideHalfUp } from '../money.ts'

const SECONDS_PER_HOUR = 3600

/** Midnight of the first day of the calendar month (UTC) that a moment falls in. */
export function monthStart(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

/**
 * What a server costs from the start of this calendar month, or from its first `running`, until now: by the
 * second, and never more than its month price.
 * @returns units
 */
export function monthToDate(
  server: { billed_since: number | null; price_hour: number; price_month: number },
  now: number,
): number {
  if (server.billed_since === null) return 0
  const since = Math.max(server.billed_since, monthStart(now))
  const seconds = Math.max(0, Math.floor((now - since) / 1000))
  return Math.min(server.price_month, divideHalfUp(seconds * server.price_hour, SECONDS_PER_HOUR))
}
