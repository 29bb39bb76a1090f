/** A currency beside rubles, as `GET /sign-in/options` and `GET /account/balance` report it. */
export interface Rate {
  /** The price of one unit in rubles, such as `98.50`. */
  rubles: string
  /** Digits after the point of sums in the currency. */
  decimals: number
}

/** Places of the most exact rate. */
const PLACES = 6

/**
 * Converts a sum to a currency beside rubles, rounded half up to its digits. It is approximate: the books are in rubles.
 * @param amountRub a decimal string, as the API writes sums
 * @returns a decimal string such as `12.34`
 * @throws RangeError if one of the numbers is not a decimal, or the rate is 0
 */
export function approximate(amountRub: string, { rubles, decimals }: Rate): string {
  const price = scaled(rubles)
  if (price <= 0n) throw new RangeError(`"${rubles}" is not the price of a currency`)
  const amount = scaled(amountRub)
  const size = amount < 0n ? -amount : amount
  const minor = (size * 10n ** BigInt(decimals) * 2n + price) / (price * 2n)
  const digits = String(minor).padStart(decimals + 1, '0')
  const at = digits.length - decimals
  const sign = amount < 0n && minor > 0n ? '-' : ''
  return `${sign}${digits.slice(0, at)}${decimals > 0 ? '.' : ''}${digits.slice(at)}`
}

/** Reads a decimal of up to six places as millionths. */
function scaled(text: string): bigint {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  if (whole === '') throw new RangeError(`"${text}" is not a decimal number`)
  const value = BigInt(whole + fraction.padEnd(PLACES, '0'))
  return sign === '-' ? -value : value
}
