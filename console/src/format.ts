import { type Locale, usePreferences } from './preferences.ts'

/** Unknown values are a dash, never 0. */
export const UNKNOWN = '–'

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
const RUSSIAN = ['Б', 'КиБ', 'МиБ', 'ГиБ', 'ТиБ']
const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** Creating a formatter takes a hundred times as long as using it. */
function cached(make: (digits: number) => Intl.NumberFormat) {
  const made = new Map<number, Intl.NumberFormat>()
  return (digits: number) => {
    const formatter = made.get(digits) ?? make(digits)
    made.set(digits, formatter)
    return formatter
  }
}

/** Numbers, money and times as the reader's language writes them. */
export function formats(locale: Locale) {
  const plain = cached((digits) => new Intl.NumberFormat(locale, { maximumFractionDigits: digits }))
  const rubles = cached(
    (digits) =>
      new Intl.NumberFormat(locale, {
        style: 'currency',
        currency: 'RUB',
        currencyDisplay: 'narrowSymbol',
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      }),
  )
  const number = (value: number | null, digits = 0) =>
    value === null ? UNKNOWN : plain(digits).format(value)
  const bytes = (value: number | null): string => {
    if (value === null) return UNKNOWN
    const at = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10))
    const unit = (locale === 'ru' ? RUSSIAN : UNITS)[at]
    return `${number(value / 1024 ** at, at > 0 && value / 1024 ** at < 100 ? 1 : 0)} ${unit}`
  }
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
  const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  return {
    locale,
    number,
    bytes,
    rate: (value: number | null) =>
      value === null ? UNKNOWN : `${bytes(value)}/${locale === 'ru' ? 'с' : 's'}`,
    percent: (value: number | null) => (value === null ? UNKNOWN : `${number(value, value < 10 ? 1 : 0)}%`),
    /** An amount in rubles, as the API writes it. */
    money: (amount: string | null, digits = 2) =>
      amount === null ? UNKNOWN : rubles(digits).format(Number(amount)),
    /** An amount in another currency than rubles, with as many digits as the API writes. */
    foreign: (amount: string, currency: string) => {
      const digits = amount.split('.')[1]?.length ?? 0
      return new Intl.NumberFormat(locale, {
        ...{ style: 'currency', currency, currencyDisplay: 'narrowSymbol' },
        ...{ minimumFractionDigits: digits, maximumFractionDigits: digits },
      }).format(Number(amount))
    },
    ram: (mb: number) => bytes(mb * 1024 ** 2),
    date: (at: string | number) => date.format(new Date(at)),
    exact: (at: string | number) => exact.format(new Date(at)),
    relative: (at: string | number, now: number) => {
      const seconds = Math.round((new Date(at).getTime() - now) / 1000)
      const [unit, size] = STEPS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
      return unit === 'second' && Math.abs(seconds) < 10
        ? relative.format(0, 'second')
        : relative.format(Math.trunc(seconds / size), unit)
    },
  }
}

export type Formats = ReturnType<typeof formats>

const ready = { en: formats('en'), ru: formats('ru') }

export const useFormats = (): Formats => ready[usePreferences().locale]

/** Returns an amount of rubles as the API takes it, from a field in which Russians type a comma. */
export const typedRubles = (amount: string): string => amount.trim().replace(',', '.')
