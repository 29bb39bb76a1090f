import { costOf } from '../money.ts'
import { monthStart, type Rate } from './accrual.ts'

const BYTES_PER_GB = 1_000_000_000n
const BYTES_PER_TB = 1_000_000_000_000

/** Traffic of one period that is charged. */
export interface TrafficCharge {
  /** The bytes charged. */
  bytes: number
  /** Units. */
  amount: number
}

/**
 * Returns the traffic that a server's price includes in a calendar month, as of a time in it. Each rate adds its
 * share of the month. A server that exists is assumed to stay, so it has its allowance up to the end of the month. A
 * deleted one has only the share of its time: otherwise each replacement would bring a new allowance.
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

/** Returns the price of traffic at units a TB, rounded half up to whole kopecks. @returns units */
export function trafficCost(bytes: number, priceTb: number): number {
  return costOf(bytes, priceTb, BYTES_PER_TB)
}

/**
 * Returns the charge for a month's traffic that is neither included nor charged yet. The charges of a month add up to
 * the price of all its excess traffic. If the price changes, each byte costs the price at the time of its charge.
 * @param included from includedBytes
 * @returns null if it is less than a kopeck
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
