import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Rate } from './accrual.ts'
import { includedBytes, trafficCharge, trafficCost } from './traffic.ts'

const GB = 1_000_000_000
const DAY = 24 * 3600_000
const month = Date.UTC(2026, 10)
const rate = (from: number, until: number | null, traffic_gb: number): Rate => ({
  starts_at: month + from * DAY,
  ends_at: until === null ? null : month + until * DAY,
  price_hour: 1,
  price_month: 730,
  traffic_gb,
  traffic_price: 1_200_000,
})
const at = (day: number, isGone = false) => ({ month, until: month + day * DAY, isGone })

test('a server may send its allowance in a month from the first day on, and less if it was created later', () => {
  expect(includedBytes([rate(0, null, 1000)], at(1))).toBe(1000 * GB)
  expect(includedBytes([rate(-40, null, 1000)], at(30))).toBe(1000 * GB)
  expect(includedBytes([rate(15, null, 1000)], at(20))).toBe(500 * GB)
  expect(includedBytes([rate(0, null, 1_000_000)], at(30))).toBe(1_000_000 * GB)
})

test('a deleted server has the share of its time, and a resized one that of each plan', () => {
  expect(includedBytes([rate(0, 3, 1000)], at(10, true))).toBe(100 * GB)
  expect(includedBytes([rate(0, 15, 1000), rate(15, null, 3000)], at(16))).toBe(2000 * GB)
  // One that is suspended may come back.
  expect(includedBytes([rate(0, 3, 1000)], at(10))).toBe(1000 * GB)
  expect(includedBytes([rate(0, 3, 1000), rate(6, null, 1000)], at(10))).toBe(900 * GB)
})

test('charges of a month add up to what its traffic costs, however often it is charged', () => {
  const bytes = fc.integer({ min: 0, max: 400 * GB })
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 50 }), fc.integer({ min: 0, max: 1e9 }), (pieces, price) => {
      let [sent, charged, sum] = [0, 0, 0]
      for (const piece of pieces) {
        sent += piece
        const charge = trafficCharge({ sent, included: 100 * GB, charged }, price)
        charged += charge?.bytes ?? 0
        sum += charge?.amount ?? 0
      }
      expect(sum).toBe(trafficCost(Math.max(0, sent - 100 * GB), price))
    }),
  )
})
