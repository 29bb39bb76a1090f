import fc from 'fast-check'
import { expect, test } from 'vitest'
import { approximate } from '../../sdk/index.ts'

test('a sum is converted by the price of a unit, and rounded half up to the digits of the currency', () => {
  expect(approximate('985.00', { rubles: '98.50', decimals: 2 })).toBe('10.00')
  expect(approximate('1.00', { rubles: '98.50', decimals: 2 })).toBe('0.01')
  expect(approximate('0.00', { rubles: '98.50', decimals: 2 })).toBe('0.00')
  expect(approximate('-500.00', { rubles: '98.50', decimals: 2 })).toBe('-5.08')
  expect(approximate('-0.01', { rubles: '98.50', decimals: 2 })).toBe('0.00')
  expect(approximate('1.2329', { rubles: '0.003512', decimals: 0 })).toBe('351')
  expect(approximate('100', { rubles: '260', decimals: 3 })).toBe('0.385')
  expect(approximate('0.50', { rubles: '100', decimals: 2 })).toBe('0.01')
  for (const wrong of ['', '1,5', '1e3', 'NaN'])
    expect(() => approximate(wrong, { rubles: '98.50', decimals: 2 })).toThrow(RangeError)
  expect(() => approximate('1', { rubles: '0', decimals: 2 })).toThrow(RangeError)
})

test('a converted sum is never further from the exact one than half of the smallest coin', () => {
  const sums = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })
  const prices = fc.bigInt({ min: 1n, max: 10n ** 12n - 1n })
  const written = (value: bigint, places: number) => {
    const digits = String(value < 0n ? -value : value).padStart(places + 1, '0')
    return `${value < 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`
  }
  fc.assert(
    fc.property(sums, prices, fc.constantFrom(0, 2, 3), (units, micros, decimals) => {
      const shown = approximate(written(units, 4), { rubles: written(micros, 6), decimals })
      const coins = BigInt(shown.replace('.', ''))
      // Both sides are in rubles, times a power of ten that makes them whole.
      const error = units * 100n * 10n ** BigInt(decimals) - coins * micros
      expect((error < 0n ? -error : error) * 2n <= micros).toBe(true)
      expect(shown).toMatch(decimals === 0 ? /^-?\d+$/ : new RegExp(String.raw`^-?\d+\.\d{${decimals}}$`))
    }),
  )
})
