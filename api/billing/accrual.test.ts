import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chargesBetween, monthCost, monthStart, type Rate } from './accrual.ts'

const HOUR = 3600_000
const at = Date.parse
const rate = (from: string, until: string | null, price_hour: number, price_month: number): Rate => ({
  starts_at: at(from),
  ends_at: until === null ? null : at(until),
  price_hour,
  price_month,
  traffic_gb: 0,
  traffic_price: 0,
})
const cost = (rates: Rate[], until: string) => monthCost(rates, at(until))

test('a second costs its part of the hour, and the month is rounded half up to kopecks, except for the first', () => {
  const rates = [rate('2026-11-01T00:00:00Z', null, 12_329, 9_000_000)]
  // 1.2329 rubles an hour: 29.2 s are a kopeck.
  expect(cost(rates, '2026-11-01T00:00:00Z')).toBe(0)
  expect(cost(rates, '2026-11-01T00:00:01Z')).toBe(100)
  expect(cost(rates, '2026-11-01T00:00:43Z')).toBe(100)
  expect(cost(rates, '2026-11-01T00:00:44Z')).toBe(200)
  expect(cost(rates, '2026-11-01T01:00:00Z')).toBe(12_300)
  expect(cost(rates, '2026-11-02T00:00:00Z')).toBe(295_900)
})

test('a calendar month costs its hours, and never more than the highest month price it had', () => {
  const rates = [rate('2026-01-01T00:00:00Z', null, 12_329, 9_000_000)]
  const whole = (month: string, end: string) => monthCost(rates, at(end), at(month))
  expect(whole('2026-12-01', '2027-01-01')).toBe(9_000_000)
  expect(whole('2026-11-01', '2026-12-01')).toBe(8_876_900)
  // A leap year's February has a day more.
  expect(whole('2026-02-01', '2026-03-01')).toBe(8_285_100)
  expect(whole('2028-02-01', '2028-03-01')).toBe(8_581_000)
  const changed = [
    rate('2026-12-01T00:00:00Z', '2026-12-31T23:00:00Z', 12_329, 9_000_000),
    rate('2026-12-31T23:00:00Z', null, 100_000, 73_000_000),
  ]
  expect(monthCost(changed, at('2026-12-31T23:00:00Z'))).toBe(9_000_000)
  const cheaper = [
    rate('2026-12-01T00:00:00Z', '2026-12-31T12:00:00Z', 12_329, 9_000_000),
    rate('2026-12-31T12:00:00Z', null, 100, 73_000),
  ]
  expect(monthCost(cheaper, at('2027-01-01'), at('2026-12-01'))).toBe(9_000_000)
  // The old cap does not limit the new price, and the amount that it cut off is not charged later.
  expect(monthCost(changed, at('2027-01-01'), at('2026-12-01'))).toBe(9_260_400)
})

test('time between two rates costs nothing', () => {
  const rates = [
    rate('2026-11-01T00:00:00Z', '2026-11-01T01:00:00Z', 10_000, 7_300_000),
    rate('2026-11-05T00:30:00Z', null, 10_000, 7_300_000),
  ]
  expect(chargesBetween(rates, at('2026-11-01T01:00:00Z'), at('2026-11-05T00:00:00Z'))).toEqual([])
  expect(chargesBetween(rates, at('2026-11-05T00:00:00Z'), at('2026-11-05T01:00:00Z'))).toEqual([
    { hour: at('2026-11-05T00:00:00Z'), seconds: 1800, amount: 5_000 },
  ])
})

test('charges add up to the same sum, however the time is divided', () => {
  const start = at('2027-12-30T00:00:00Z')
  const moment = fc.integer({ min: 0, max: 90 * 24 * 3600 }).map((seconds) => start + seconds * 1000)
  const price = fc.integer({ min: 0, max: 10_000_000 })
  fc.assert(
    fc.property(
      fc.array(moment, { maxLength: 60 }),
      fc.array(price, { minLength: 1, maxLength: 4 }),
      (cuts, prices) => {
        const rates = prices.map((price_hour, n) => ({
          starts_at: start + n * 11 * 24 * HOUR,
          ends_at: n === prices.length - 1 ? null : start + (n + 1) * 11 * 24 * HOUR,
          price_hour,
          price_month: price_hour * 730,
          traffic_gb: 0,
          traffic_price: 0,
        }))
        const end = start + 90 * 24 * HOUR
        const sum = (from: number, until: number) =>
          chargesBetween(rates, from, until).reduce((total, charge) => total + charge.amount, 0)
        const points = [start, ...cuts.sort((a, b) => a - b), end]
        const pieces = points.slice(1).map((until, n) => sum(points[n] ?? 0, until))
        expect(pieces.every((piece) => piece >= 0)).toBe(true)
        expect(pieces.reduce((total, piece) => total + piece, 0)).toBe(sum(start, end))
      },
    ),
  )
})

test('no charge crosses the end of a month', () => {
  const rates = [rate('2026-01-01T00:00:00Z', null, 12_329, 9_000_000)]
  const charges = chargesBetween(rates, at('2026-10-31T22:00:00Z'), at('2026-12-01T01:00:00Z'))
  expect(charges.map(({ hour, seconds }) => [new Date(hour).toISOString(), seconds / 3600])).toEqual([
    ['2026-10-31T22:00:00.000Z', 2],
    ['2026-11-01T00:00:00.000Z', 720],
    ['2026-12-01T00:00:00.000Z', 1],
  ])
  expect(monthStart(at('2026-12-31T23:59:59Z'), 1)).toBe(at('2027-01-01'))
})
