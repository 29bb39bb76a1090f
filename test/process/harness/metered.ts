/**
 * The servers that test/process/harness/meter.ts charges: the same number in each account, at two alternating prices.
 */
export const METERED = 40
export const START = Date.parse('2026-11-20T12:20:00Z')
export const PRICES = [
  { price_hour: 12_329, price_month: 9_000_000 },
  { price_hour: 27_397, price_month: 20_000_000 },
] as const
