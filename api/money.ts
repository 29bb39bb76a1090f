/**
 * Money is an integer number of 1/10000 ruble ("units"), held in a number: exact up to 900 billion rubles.
 * Rounding, wherever a division leaves a rest, is half up, and happens once, at the last step.
 */

const UNITS_PER_RUBLE = 10_000
export const UNITS_PER_KOPECK = 100
/** A month is 730 hours, everywhere. */
export const HOURS_PER_MONTH = 730

/**
 * Reads a decimal string such as "900", "900.5" or "-1.2329".
 * @returns units
 * @throws RangeError if it is not such a number, or too large to be exact
 */
export function parseMoney(text: string): number {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,4}))?$/.exec(text)
  if (!match) throw new RangeError(`"${text}" is not a valid amount; use rubles such as 900 or 900.50`)
  const [, sign, whole = '0', fraction = ''] = match
  const units = Number(whole) * UNITS_PER_RUBLE + Number(fraction.padEnd(4, '0'))
  if (!Number.isSafeInteger(units)) throw new RangeError(`the amount "${text}" is too large`)
  return sign ? -units : units
}

/** Prints units with 2 decimals (totals, month prices, balances) or 4 (hour prices), rounding half up. */
export function formatMoney(units: number, decimals: 2 | 4 = 2): string {
  if (!Number.isSafeInteger(units)) throw new RangeError(`${units} is not a whole number of money units`)
  const scale = decimals === 2 ? 100 : 1
  const rounded = divideHalfUp(Math.abs(units), scale)
  const digits = String(rounded).padStart(decimals + 1, '0')
  const sign = units < 0 && rounded > 0 ? '-' : ''
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** The hour price of a month price, in units. */
export function hourPrice(monthUnits: number): number {
  return divideHalfUp(monthUnits, HOURS_PER_MONTH)
}

/** The number of whole times that a price fits into an amount; 0 for an amount below zero. */
export function wholeTimes(amount: number, price: number): number {
  return amount < 0 ? 0 : (amount - (amount % price)) / price // exact: the rest is taken off
}

/** Whole-number division of non-negative integers, rounding half up. */
export function divideHalfUp(dividend: number, divisor: number): number {
  if (!Number.isSafeInteger(dividend)) throw new RangeError(`${dividend} is too large to be divided exactly`)
  const rest = dividend % divisor
  const whole = (dividend - rest) / divisor // exact: the rest is taken off
  return whole + (rest * 2 >= divisor ? 1 : 0)
}

/**
 * The cost of a quantity, rounded half up to whole kopecks. The price is that of `per` units. The result is exact even
 * if the product is too large for a number.
 * @returns units
 */
export function costOf(quantity: number, price: number, per: number): number {
  const divisor = BigInt(per) * BigInt(UNITS_PER_KOPECK)
  const kopecks = (BigInt(quantity) * BigInt(price) * 2n + divisor) / (divisor * 2n) // exact: whole numbers
  return Number(kopecks) * UNITS_PER_KOPECK
}
