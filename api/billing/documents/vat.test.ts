import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMoney } from '../../money.ts'
import { percentOf, sumsOf } from './vat.ts'

const rub = parseMoney

test('VAT that prices include is a part of what was charged, rounded half up to kopecks', () => {
  const vat = { rate: 2_000, isIncluded: true }
  expect(sumsOf(rub('120'), vat)).toEqual({ net: rub('100'), vat: rub('20'), total: rub('120') })
  // 16.6666… and 0.015 kopecks.
  expect(sumsOf(rub('100'), vat)).toEqual({ net: rub('83.33'), vat: rub('16.67'), total: rub('100') })
  expect(sumsOf(rub('0.03'), vat).vat).toBe(rub('0.01'))
})

test('VAT that prices do not include is added to them', () => {
  const vat = { rate: 550, isIncluded: false }
  expect(sumsOf(rub('100'), vat)).toEqual({ net: rub('100'), vat: rub('5.5'), total: rub('105.5') })
  expect(sumsOf(rub('0.09'), vat).vat).toBe(0)
  expect(sumsOf(rub('0.10'), vat).vat).toBe(rub('0.01'))
})

test('net and VAT add up to the total, at any rate', () => {
  fc.assert(
    fc.property(fc.nat(1e9), fc.nat(9_999), fc.boolean(), (kopecks, rate, isIncluded) => {
      const { net, vat, total } = sumsOf(kopecks * 100, { rate, isIncluded })
      expect(net + vat).toBe(total)
      expect(isIncluded ? total : net).toBe(kopecks * 100)
    }),
  )
})

test('a rate is shown without zeros that say nothing', () => {
  const shown = [2_000, 550, 525, 10].map((rate) => percentOf({ rate, isIncluded: true }))
  expect(shown).toEqual(['20', '5.5', '5.25', '0.1'])
})
