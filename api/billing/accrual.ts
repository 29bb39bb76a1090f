import { divideHalfUp, UNITS_PER_KOPECK } from '../money.ts'

const HOUR_MS = 3600_000
const SECONDS_PER_HOUR = 3600

/** A price over a period. Times are in milliseconds, at whole seconds; prices are in units per hour and per month. */
export interface Rate {
  starts_at: number
  /** Null while the rate is in force. */
  ends_at: number | null
  price_hour: number
  price_month: number
  /** The traffic in GB that a calendar month includes, and the price in units of each further TB. */
  traffic_gb: number
  traffic_price: number
}

/** A charge for one period. */
export interface Charge {
  /** The start of the hour in which the period begins (milliseconds). */
  hour: number
  seconds: number
  /** Units. */
  amount: number
}

/** Rounds a time down to whole seconds, the smallest unit of billing. */
export function wholeSecond(at: number): number {
  return at - (at % 1000)
}

/** Rounds a time down to whole hours (UTC). */
export function wholeHour(at: number): number {
  return at - (at % HOUR_MS)
}

/** Returns the end of the hour (UTC) of a time. */
export function hourAfter(at: number): number {
  return wholeHour(at) + HOUR_MS
}

/** Returns the start of the calendar month (UTC) of a time, or of the month after it. */
export function monthStart(at: number, monthsLater: 0 | 1 = 0): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1)
}

/**
 * Returns the cost from the start of a calendar month until a moment in it. Each second costs its rate, up to the
 * highest monthly price in this month. The sum is rounded half up to whole kopecks, and is at least one: replacing
 * servers before they cost half a kopeck would otherwise be free. This is the one place where billing rounds.
 * @returns units
 */
export function monthCost(rates: readonly Rate[], until: number, month = monthStart(until)): number {
  let [cost, cap] = [0, 0]
  for (const rate of rates) {
    const seconds = secondsWithin(rate, month, until)
    if (seconds === 0) continue
    cost += seconds * rate.price_hour
    cap = Math.max(cap, rate.price_month)
  }
  const kopecks = divideHalfUp(cost, SECONDS_PER_HOUR * UNITS_PER_KOPECK)
  return Math.min(cap, Math.max(kopecks, cost > 0 ? 1 : 0) * UNITS_PER_KOPECK)
}

/**
 * The charges for the time between two moments: one for each calendar month that it touches. A charge is the cost of
 * the month until its end, less the cost until its beginning. So the charges of a month always add up to its cost,
 * however many there are.
 */
export function chargesBetween(rates: readonly Rate[], from: number, until: number): Charge[] {
  return stretchesBetween(from, until).flatMap(({ month, from: at, until: end }) => {
    const seconds = rates.reduce((sum, rate) => sum + secondsWithin(rate, at, end), 0)
    const amount = monthCost(rates, end, month) - monthCost(rates, at, month)
    return seconds > 0 ? [{ hour: wholeHour(at), seconds, amount }] : []
  })
}

/** Splits the time between two moments at the ends of calendar months. */
export function stretchesBetween(
  from: number,
  until: number,
): { month: number; from: number; until: number }[] {
  const stretches = []
  for (let at = from; at < until; ) {
    const end = Math.min(until, monthStart(at, 1))
    stretches.push({ month: monthStart(at), from: at, until: end })
    at = end
  }
  return stretches
}

function secondsWithin({ starts_at, ends_at }: Rate, from: number, until: number): number {
  const ms = Math.min(ends_at ?? until, until) - Math.max(starts_at, from)
  return ms > 0 ? divideHalfUp(ms, 1000) : 0
}
