import type { Catalog } from '../catalog/file.ts'
import { bodyIssue, type Issue, invalid } from '../http/contract/problem.ts'
import { parseMoney } from '../money.ts'
import { type Foreign, formatIn, fromRubles, parseForeign, partWorth, shareOf, toRubles } from './exchange.ts'
import type { Found } from './provider.ts'
import { LEAST, MOST, outOfRange, type PaymentCreate } from './schema.ts'
import type { PaymentReturnTable, PaymentTable } from './tables.ts'

export const RUBLES = 'RUB'

/** The sum of a new payment. */
export interface Sum {
  /** Units of rubles; an estimate if the charge is in another currency. */
  amount: number
  foreign: Foreign | null
  /** True for providers that can charge this sum. */
  isTakenBy: (provider: string) => boolean
}

/** Reads the sum that a customer wants to pay. @throws ApiError validation_failed */
export function sumOf(
  { operator }: Pick<Catalog, 'operator'>,
  {
    amount_rub,
    charge_currency: currency,
    charge_amount,
  }: Pick<PaymentCreate, 'amount_rub' | 'charge_currency' | 'charge_amount'>,
): Sum {
  const refuse = (field: string, code: Issue['code'], sentence: string) =>
    invalid([bodyIssue(field, code, sentence)])
  const inRange = (amount: number, field: string) => {
    const fault = outOfRange(amount)
    if (fault) throw refuse(field, fault, `${field} must be from ${LEAST} to ${MOST} rubles.`)
    return amount
  }
  if (currency === undefined) {
    if (charge_amount !== undefined)
      throw refuse('charge_currency', 'required', 'charge_currency is required with charge_amount.')
    if (amount_rub === undefined) throw refuse('amount_rub', 'required', 'amount_rub is required.')
    return { amount: inRange(parseMoney(amount_rub), 'amount_rub'), foreign: null, isTakenBy: () => true }
  }
  const second = operator.secondCurrency
  const isCharged = second !== null && second.chargedBy.length > 0
  if (!isCharged || second.code !== currency) {
    const known = isCharged ? ` other than ${second.code}` : ''
    throw refuse('charge_currency', 'not_in_enum', `Payments can be charged in no currency${known}.`)
  }
  if ((amount_rub === undefined) === (charge_amount === undefined))
    throw refuse('charge_amount', 'mutually_exclusive', 'Give either amount_rub or charge_amount.')
  const [field, { rate }] = [amount_rub === undefined ? 'charge_amount' : 'amount_rub', second]
  if (amount_rub !== undefined) inRange(parseMoney(amount_rub), field)
  const amount =
    amount_rub === undefined
      ? parseForeign(charge_amount ?? '', currency)
      : fromRubles(parseMoney(amount_rub), { currency, rate })
  if (amount === null || amount === 0)
    throw refuse(
      field,
      'below_minimum',
      `${field} must be a whole number of the smallest coin of ${currency}.`,
    )
  const foreign = { currency, amount, rate }
  const rubles = toRubles(foreign)
  return {
    amount: amount_rub === undefined ? inRange(rubles, field) : rubles,
    foreign,
    isTakenBy: (provider) => second.chargedBy.includes(provider),
  }
}

/** The charge of a payment in another currency; null if it is in rubles. */
export function foreignOf(payment: PaymentTable): Foreign | null {
  const { charge_currency: currency, charge_amount: amount, charge_rate: rate } = payment
  return currency === null || amount === null || rate === null ? null : { currency, amount, rate }
}

/** Returns the sum that the provider is asked to charge. */
export function askedSum(payment: PaymentTable): { amount: number; currency: string } {
  return foreignOf(payment) ?? { amount: payment.amount, currency: RUBLES }
}

/** Returns why the paid sum differs from the payment's; null if they are equal. */
export function mismatch(payment: PaymentTable, found: Found): string | null {
  const { amount, currency } = askedSum(payment)
  if (found.currency !== currency)
    return `Not booked: the provider received ${found.currency}, not ${currency}.`
  if (found.amount === amount) return null
  return `Not booked: the provider received ${formatIn(currency, found.amount)}, not ${formatIn(currency, amount)}.`
}

/**
 * Returns the rubles to book for a paid sum: those that arrived on the operator's account, or foreign money
 * at the rate of the payment.
 * @returns units; null if the provider has not exchanged the sum yet; or why it can't be booked
 */
export function arrived(payment: PaymentTable, { settled = null }: Found): number | string | null {
  const foreign = foreignOf(payment)
  if (!foreign) return payment.amount
  if (!settled) return null
  const { amount, currency } = settled
  if (currency === RUBLES && amount > 0) return amount
  if (currency === foreign.currency && amount === foreign.amount) return toRubles(foreign)
  return `Not booked: ${formatIn(currency, amount)} ${currency} arrived for ${formatIn(foreign.currency, foreign.amount)} ${foreign.currency}.`
}

/** The part of a payment to refund, in rubles and in the currency of the charge. */
export interface Part {
  amount: number
  charge_amount: number | null
}

/**
 * Converts a refund in rubles into a part of the charge that is worth no more. Refunding all that is left
 * takes the whole rest of the charge.
 * @param left units that can be refunded
 * @returns null if the part is less than the smallest coin
 */
export function partFor(
  payment: PaymentTable,
  gone: readonly PaymentReturnTable[],
  { amount, left }: { amount: number; left: number },
): Part | null {
  const foreign = foreignOf(payment)
  if (!foreign) return { amount, charge_amount: null }
  const rest = Math.max(0, foreign.amount - partsOf(gone))
  const part = amount === left ? rest : Math.min(rest, partWorth(amount, foreign.amount, payment.amount))
  if (part === 0) return null
  const worth = amount === left ? left : shareOf(part, foreign.amount, payment.amount)
  return { amount: Math.min(worth, left), charge_amount: part }
}

/** Returns the sum of returned parts, in the currency of the charge. */
export function partsOf(returns: readonly PaymentReturnTable[]): number {
  return returns.reduce((sum, { charge_amount }) => sum + (charge_amount ?? 0), 0)
}

/**
 * Returns the rubles that a returned part takes from the balance. All parts together take exactly the booked
 * sum.
 * @param before hundredths of a coin in earlier returns, for which `taken` units were booked
 */
export function rublesOf(
  payment: PaymentTable,
  part: number,
  { before, taken }: { before: number; taken: number },
): number {
  const foreign = foreignOf(payment)
  if (!foreign) return part
  return Math.max(0, shareOf(before + part, foreign.amount, payment.amount) - taken)
}
