import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatIn, fromRubles, parseForeign, partWorth, shareOf, toRubles } from './exchange.ts'

const currencies = fc.constantFrom('EUR', 'JPY', 'VND', 'USD')
const rates = fc.integer({ min: 1, max: 999_999_999_999 })
const kopecks = fc.integer({ min: 1_000, max: 50_000_000 })

test('sums are converted half up, to kopecks and to the smallest coin of a currency', () => {
  const rate = 98_500_000
  expect(fromRubles(5_000_000, { currency: 'EUR', rate })).toBe(508_00)
  expect(toRubles({ currency: 'EUR', amount: 508_00, rate })).toBe(5_003_800)
  expect(fromRubles(5_000_000, { currency: 'JPY', rate: 600_000 })).toBe(833_00)
  expect(toRubles({ currency: 'JPY', amount: 1_00, rate: 604_999 })).toBe(6_000)
  expect(toRubles({ currency: 'JPY', amount: 1_00, rate: 605_000 })).toBe(6_100)
  expect([parseForeign('12.3', 'EUR'), parseForeign('12.345', 'EUR'), parseForeign('12', 'JPY')]).toEqual([
    ...[123_000, null],
    1_200,
  ])
  expect([formatIn('EUR', 500), formatIn('JPY', 83_300), formatIn('RUB', 4_999_900)]).toEqual([
    ...['0.05', '833', '499.99'],
  ])
})

test('there and back, a sum differs by no more than half a coin and half a kopeck are worth', () => {
  fc.assert(
    fc.property(kopecks, currencies, rates, (sum, currency, rate) => {
      const amount = fromRubles(sum * 100, { currency, rate })
      fc.pre(amount > 0 && Number.isSafeInteger(amount))
      const back = toRubles({ currency, amount, rate })
      const coin = BigInt(rate) * (currency === 'EUR' || currency === 'USD' ? 1n : 100n)
      const error = BigInt(Math.abs(back - sum * 100)) * 10_000n
      expect(error).toBeLessThanOrEqual(coin * 50n + 500_000n)
    }),
  )
})

test('parts of a payment, however they are cut, are worth the whole to the kopeck', () => {
  const parts = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(parts, kopecks, (coins, booked) => {
      const whole = coins.reduce((sum, part) => sum + part) * 100
      let [gone, taken] = [0, 0]
      for (const part of coins) {
        const after = shareOf(gone + part * 100, whole, booked * 100)
        expect(after).toBeGreaterThanOrEqual(taken)
        ;[gone, taken] = [gone + part * 100, after]
      }
      expect(taken).toBe(booked * 100)
    }),
  )
})

test('a part for some rubles is worth no more than they are', () => {
  fc.assert(
    fc.property(kopecks, kopecks, fc.nat(100), (coins, booked, percent) => {
      const rubles = Math.floor((booked * percent) / 100) * 100
      const part = partWorth(rubles, coins * 100, booked * 100)
      expect(part).toBeLessThanOrEqual(coins * 100)
      expect(BigInt(part) * BigInt(booked * 100)).toBeLessThanOrEqual(BigInt(rubles) * BigInt(coins * 100))
    }),
  )
})
