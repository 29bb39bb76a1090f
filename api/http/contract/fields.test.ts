import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isoTime } from './fields.ts'

test('a time is written as Date writes it, in any year', () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), (date) => {
      expect(isoTime(date.getTime())).toBe(date.toISOString())
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.parse('2100-01-01') }), (ms) => {
      expect(isoTime(ms)).toBe(new Date(ms).toISOString())
    }),
  )
  for (const text of ['1970-01-01T00:00:00.000Z', '2024-02-29T23:59:59.999Z', '9999-12-31T23:59:59.999Z'])
    expect(isoTime(Date.parse(text))).toBe(text)
  expect(() => isoTime(Number.NaN)).toThrow(RangeError)
})
