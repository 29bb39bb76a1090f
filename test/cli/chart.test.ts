import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chart, gauge } from '../../cli/chart.ts'
import { bytes, bytesPerSecond, duration, percent } from '../../cli/units.ts'

const drawn = (values: (number | null)[], width = 34, label: (value: number) => string = String) =>
  chart(values, { width, label, start: '12:00', end: '13:00' }).join('\n')

test('a chart rises from 0 to the largest value, between the times at which it begins and ends', () => {
  expect(`\n${drawn([...Array(20).keys()].map((n) => n + 1))}\n`).toBe(`
          20 ┤               ▂▃▅▆█
             ┤          ▂▃▅▆██████
             ┤     ▂▃▅▆███████████
           0 ┤▂▃▅▆████████████████
             └────────────────────
              12:00          13:00
`)
})

test('an unknown value is blank in a chart, and 0 is not', () => {
  const values = [...Array(5).fill(4), ...Array(5).fill(null), ...Array(5).fill(0), ...Array(5).fill(2)]
  expect(`\n${drawn(values)}\n`).toBe(`
           4 ┤█████
             ┤█████
             ┤█████          █████
           0 ┤█████     ▁▁▁▁▁█████
             └────────────────────
              12:00          13:00
`)
  expect(`\n${drawn([null, null])}\n`).toBe(`
           - ┤
             ┤
             ┤
           0 ┤
             └────────────────────
              12:00          13:00
`)
  expect(drawn([])).toBe(drawn([null]))
})

test('a constant series fills the chart, zeros are a line, and a single point has the full width', () => {
  expect(drawn([7]).split('\n')[3]).toBe(`           0 ┤${'█'.repeat(20)}`)
  expect(drawn([7])).toBe(drawn(Array(50).fill(7)))
  expect(drawn([0, 0, 0]).split('\n').slice(0, 4)).toEqual([
    '           0 ┤',
    '             ┤',
    '             ┤',
    `           0 ┤${'▁'.repeat(20)}`,
  ])
})

test('if there are more values than columns, each column shows the mean', () => {
  const values = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? 10 : null))
  expect(drawn(values)).toBe(drawn([10]))
})

test('two times that do not fit beside each other are on two lines', () => {
  expect(`\n${drawn([1], 3)}\n`).toBe(`
           1 ┤██████████
             ┤██████████
             ┤██████████
           0 ┤██████████
             └──────────
              12:00
                   13:00
`)
})

test('whatever the values are, a chart has all its lines, keeps to the width, and has no negative label', () => {
  const value = fc.oneof(
    fc.constant(null),
    fc.double(),
    fc.nat(),
    fc.constantFrom(1e308, Number.MAX_VALUE, 5e-324),
  )
  fc.assert(
    fc.property(fc.array(value, { maxLength: 300 }), fc.integer({ min: 24, max: 200 }), (values, width) => {
      const lines = drawn(values, width, (known) =>
        known < 0 || !Number.isFinite(known) ? 'WRONG' : '1',
      ).split('\n')
      expect(lines.length - Number(width < 25)).toBe(6)
      for (const line of lines) {
        expect([...line].length).toBeLessThanOrEqual(width)
        expect(line).not.toContain('WRONG')
      }
    }),
  )
})

test('a gauge is filled in proportion to its value', () => {
  expect([null, 0, 0.5, 1, 7].map((fraction) => gauge(fraction, 4))).toEqual([
    '░░░░',
    '░░░░',
    '██░░',
    '████',
    '████',
  ])
})

test('sizes, rates, shares and times have human-readable units', () => {
  expect([0, 512, 1536, 1024 ** 2 - 1, 300 * 2 ** 20, 2 ** 60, 2 ** 75].map(bytes)).toEqual([
    '0 B',
    '512 B',
    '1.5 KiB',
    '1 MiB',
    '300 MiB',
    '1 EiB',
    '32768 EiB',
  ])
  expect([bytesPerSecond(2048), percent(12.345), percent(100)]).toEqual(['2 KiB/s', '12.3%', '100%'])
  expect([0, 0.5, 59, 61, 3600, 90_061, 86_400 * 400].map(duration)).toEqual([
    '0 s',
    '0 s',
    '59 s',
    '1 min 1 s',
    '1 h',
    '1 d 1 h',
    '400 d',
  ])
})
