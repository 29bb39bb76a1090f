import Type, { type Static } from 'typebox'
import type { Fault } from '../drivers/module.ts'

/** A currency in which sums are shown beside rubles. */
export interface SecondCurrency {
  /** ISO 4217 */
  code: string
  /** Digits after the point of its sums. */
  decimals: number
  /** The price of one unit in rubles, as the operator wrote it. */
  rubles: string
  /** The price of one unit in millionths of a ruble. */
  rate: number
  /** The payment providers that may charge in this currency. */
  chargedBy: readonly string[]
  /** True if the rate may differ more than twofold from the one in force. */
  isLargeChange: boolean
}

const MICROS_PER_RUBLE = 1_000_000

/** ISO 4217: currencies in use, except for rubles, by the digits after the point. */
const codes: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC ' +
    'CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR ' +
    'JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD ' +
    'NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC ' +
    'SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW',
  3: 'BHD IQD JOD KWD LYD OMR TND',
}
/** Currencies for which Stripe uses other digits, or rounds. */
const notAtStripe = ['ISK', 'UGX', 'MGA', ...(codes[3]?.split(' ') ?? [])]
const decimalsOf = new Map(
  Object.entries(codes).flatMap(([decimals, all]) =>
    all.split(' ').map((code) => [code, Number(decimals)] as const),
  ),
)

/** The currency's entry in the catalogue file. */
export const SecondCurrencyEntry = Type.Object({
  code: Type.String({
    pattern: '^[A-Z]{3}$',
    errorMessage: 'must be the ISO 4217 code of a currency, such as EUR.',
  }),
  rubles: Type.String({
    pattern: String.raw`^(0|[1-9]\d{0,5})(\.\d{1,6})?$`,
    errorMessage: 'must be the price of one unit in rubles, such as "98.50", in quotes and below 1000000.',
  }),
  // The payment providers that may charge in this currency (default: none).
  charged_by: Type.Optional(Type.Array(Type.Enum(['stripe']), { uniqueItems: true })),
  // True if the rate may differ more than twofold from the one in force (default: such a change is refused as
  // a mistake).
  large_change: Type.Optional(Type.Boolean()),
})
type Entry = Static<typeof SecondCurrencyEntry>

/** Finds a currency that does not exist or is rubles, and a rate of zero. */
export function currencyFaults(entry: Entry | undefined): Fault[] {
  if (!entry) return []
  const place = '/operator/second_currency'
  const { code, rubles } = entry
  const found: Fault[] = []
  if (code === 'RUB') found.push([`${place}/code`, 'rubles are the first currency: name another one.'])
  else if (!decimalsOf.has(code))
    found.push([`${place}/code`, `no such currency: ${code}. Use the ISO 4217 code of one, such as EUR.`])
  if (microsOf(rubles) === 0) found.push([`${place}/rubles`, 'one unit must cost more than 0 rubles.'])
  if (entry.charged_by?.includes('stripe') && notAtStripe.includes(code))
    found.push([`${place}/charged_by`, `payments through Stripe can't be charged in ${code} here.`])
  return found
}

/** @param entry an entry without faults */
export function secondCurrencyOf({ code, rubles, ...entry }: Entry): SecondCurrency {
  return {
    ...{ code, rubles, decimals: decimalsIn(code), rate: microsOf(rubles) },
    ...{ chargedBy: entry.charged_by ?? [], isLargeChange: entry.large_change === true },
  }
}

/** The digits after the point of sums in a currency, or in rubles. */
export function decimalsIn(code: string): number {
  return decimalsOf.get(code) ?? 2
}

/** @returns the rate in millionths of a ruble */
function microsOf(rubles: string): number {
  const [whole = '0', fraction = ''] = rubles.split('.')
  return Number(whole) * MICROS_PER_RUBLE + Number(fraction.padEnd(6, '0'))
}
