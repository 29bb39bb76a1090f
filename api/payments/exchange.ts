import { decimalsIn } from '../catalog/currencies.ts'
import { UNITS_PER_KOPECK } from '../money.ts'

/**
 * Sums in a currency are integers of hundredths of its smallest coin, as rubles are kept in hundredths of a
 * kopeck. Rates are integers: the price of one unit of a currency in millionths of a ruble.
 */
const PER_COIN = UNITS_PER_KOPECK
/** A kopeck in millionths of a ruble. */
const MICROS_PER_KOPECK = 10_000n

/** A sum in another currency than rubles, and the rate that it was made at. */
export interface Foreign {
  currency: string
  amount: number
  rate: number
}

/** The columns of a payment that is charged in another currency; null: in rubles. */
export function chargeOf(foreign: Foreign | null) {
  return {
    charge_currency: foreign?.currency ?? null,
    charge_amount: foreign?.amount ?? null,
    charge_rate: foreign?.rate ?? null,
  }
}

/**
 * Converts rubles, rounded half up to the smallest coin.
 * @param rubles units
 * @returns hundredths of a coin
 */
export function fromRubles(rubles: number, { currency, rate }: Omit<Foreign, 'amount'>): number {
  const kopecks = wholeOf(rubles, PER_COIN)
  const coins = halfUp(kopecks * MICROS_PER_KOPECK * coinsPerUnit(currency), BigInt(rate))
  return Number(coins) * PER_COIN
}

/** Converts to rubles, rounded half up to kopecks. @returns units */
export function toRubles({ currency, amount, rate }: Foreign): number {
  const coins = wholeOf(amount, PER_COIN)
  return Number(halfUp(coins * BigInt(rate), MICROS_PER_KOPECK * coinsPerUnit(currency))) * UNITS_PER_KOPECK
}

/**
 * Returns the rubles that a part of a payment is worth, rounded half up to kopecks; the whole is worth all
 * rubles.
 * @param part hundredths of a coin, at most `whole`
 * @param rubles units that were booked for the whole
 */
export function shareOf(part: number, whole: number, rubles: number): number {
  const kopecks = wholeOf(rubles, UNITS_PER_KOPECK)
  return Number(halfUp(BigInt(part) * kopecks, BigInt(whole))) * UNITS_PER_KOPECK
}

/** The largest part of a payment, in hundredths of a coin, that is worth no more than these rubles. */
export function partWorth(rubles: number, whole: number, booked: number): number {
  const coins = (wholeOf(whole, PER_COIN) * BigInt(rubles)) / BigInt(booked) // exact: whole numbers
  return Number(coins) * PER_COIN
}

/** Reads a decimal such as "12.34". @returns hundredths of a coin; null if it has more digits than the currency */
export function parseForeign(text: string, currency: string): number | null {
  const [whole = '', fraction = ''] = text.split('.')
  const decimals = decimalsIn(currency)
  if (fraction.length > decimals) return null
  const coins = Number(`${whole}${fraction.padEnd(decimals, '0')}`)
  return Number.isSafeInteger(coins * PER_COIN) ? coins * PER_COIN : null
}

/** Prints a sum, in rubles or another currency, such as "12.34". */
export function formatIn(currency: string, amount: number): string {
  const decimals = decimalsIn(currency)
  const digits = String(wholeOf(amount, PER_COIN)).padStart(decimals + 1, '0')
  const at = digits.length - decimals
  return decimals === 0 ? digits : `${digits.slice(0, at)}.${digits.slice(at)}`
}

function coinsPerUnit(currency: string): bigint {
  return 10n ** BigInt(decimalsIn(currency)) // exact: whole numbers
}

function wholeOf(amount: number, per: number): bigint {
  return BigInt(amount) / BigInt(per) // exact: amounts are whole kopecks and coins
}

function halfUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend * 2n + divisor) / (divisor * 2n) // exact: whole numbers
}
