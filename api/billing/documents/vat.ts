import type { Vat } from '../../catalog/operator.ts'
import { costOf, formatMoney, UNITS_PER_KOPECK } from '../../money.ts'

const WHOLE = 10_000

/** The sums of a document, in units. */
export interface Sums {
  net: number
  vat: number
  total: number
}

/** Takes VAT out of the charged amount, or adds it, rounded once, half up to kopecks. @param charged units */
export function sumsOf(charged: number, vat: Vat | null): Sums {
  if (vat === null) return { net: charged, vat: 0, total: charged }
  const { rate, isIncluded } = vat
  const amount = costOf(charged, rate, isIncluded ? WHOLE + rate : WHOLE)
  return isIncluded
    ? { net: charged - amount, vat: amount, total: charged }
    : { net: charged, vat: amount, total: charged + amount }
}

/** A rate for people, such as "20" or "5.5". */
export function percentOf({ rate }: Vat): string {
  return formatMoney(rate * UNITS_PER_KOPECK).replace(/\.00$|(?<=\.\d)0$/, '')
}
