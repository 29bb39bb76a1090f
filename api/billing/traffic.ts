import { costOf } from '../money.ts'
import { monthStart, type Rate } from './accrual.ts'

const BYTES_PER_GB = 1_000_000_000n
const BYTES_PER_TB = 1_000_000_000_000

/** Traffic that costs something, of one stretch of time. */
export interface TrafficCharge {
  /** What it is for. */
  bytes: number
  /** Units. */
  amount: number
}

/**
 * What a server may send in a calendar month for its price, as it stands at a moment of it: of each rate's allowance the
 * share of the month that the rate holds. A server that is there is taken to stay until the month ends, so that it has
 * its whole allowance from its first day; one that is gone keeps the share of its time, or whoever replaces servers
 * would have an allowance each time.
 * @param rates oldest first
 * @param at the month's start, and the moment in it
 * @returns bytes
 */
export function includedBytes(
  rates: readonly Rate[],
  at: { month: number; until: number; isGone: boolean },
): number {
  const { month, until, isGone } = at
  const end = monthStart(month, 1)
  let sum = 0n
  rates.forEach(({ starts_at, ends_at, traffic_gb }, index) => {
    const isLast = index === rates.length - 1
    const last = isLast && !isGone ? end : Math.min(ends_at ?? until, until)
    const ms = last - Math.max(starts_at, month)
    if (ms > 0) sum += BigInt(ms) * BigInt(traffic_gb)
  })
  return Number((sum * BYTES_PER_GB) / BigInt(end - month)) // not money: bytes
}

/** What this much traffic costs at units a TB, rounded half up to whole kopecks. @returns units */
export function trafficCost(bytes: number, priceTb: number): number {
  return costOf(bytes, priceTb, BYTES_PER_TB)
}

/**
 * What is to be charged for what was sent in a month, beyond what is included and charged already. Charges of a month
 * add up to what all of it costs, unless its price changes: then each byte costs what holds when it is charged.
 * @param included from includedBytes
 * @returns null where it comes to no kopeck
 */
export function trafficCharge(
  { sent, included, charged }: { sent: number; included: number; charged: number },
  priceTb: number,
): TrafficCharge | null {
  const excess = sent - included
  if (excess <= charged) return null
  const amount = trafficCost(excess, priceTb) - trafficCost(charged, priceTb)
  return amount > 0 ? { bytes: excess - charged, amount } : null
}
