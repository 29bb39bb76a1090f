import fc from 'fast-check'
import { expect, test } from 'vitest'
import { divideHalfUp, formatMoney, HOURS_PER_MONTH, hourPrice, parseMoney } from './money.ts'

test('amounts are read to the last of four decimals, and nothing else is an amount', () => {
  for (const [text, units] of [
    ['0', 0],
    ['900', 9_000_000],
    ['900.5', 9_005_000],
    ['-1.2329', -12_329],
    ['0.0001', 1],
    ['007', 70_000],
  ] as const)
    expect(parseMoney(text)).toBe(units)
  for (const text of [
    '',
    ' ',
    '1,5',
    '1.',
    '.5',
    '1.00001',
    '+1',
    '1e3',
    '--1',
    '0x1',
    '1 000',
    'NaN',
    '1000000000000',
    '٣',
  ])
    expect(() => parseMoney(text), text).toThrow(RangeError)
})

test('amounts are printed with two or four decimals, halves going up', () => {
  for (const [units, two, four] of [
    [0, '0.00', '0.0000'],
    [1, '0.00', '0.0001'],
    [49, '0.00', '0.0049'],
    [50, '0.01', '0.0050'],
    [-49, '0.00', '-0.0049'],
    [-50, '-0.01', '-0.0050'],
    [12_329, '1.23', '1.2329'],
    [9_000_000, '900.00', '900.0000'],
  ] as const)
    expect([formatMoney(units), formatMoney(units, 4)]).toEqual([two, four])
  expect(() => formatMoney(0.5)).toThrow(RangeError)
  expect(() => formatMoney(Number.MAX_SAFE_INTEGER + 1)).toThrow(RangeError)
})

test('an amount printed with four decimals reads as the same amount', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -9e15, max: 9e15 }),
      (units) => parseMoney(formatMoney(units, 4)) === units,
    ),
  )
})

test('a division is exact, or the half of a unit away at the most', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1e12 }), fc.integer({ min: 1, max: 1e6 }), (dividend, divisor) => {
      const doubled = 2n * BigInt(divideHalfUp(dividend, divisor)) * BigInt(divisor) - 2n * BigInt(dividend)
      return doubled > -BigInt(divisor) && doubled <= BigInt(divisor)
    }),
  )
  expect(hourPrice(HOURS_PER_MONTH * 7)).toBe(7)
  expect(hourPrice(parseMoney('900'))).toBe(12_329)
})
