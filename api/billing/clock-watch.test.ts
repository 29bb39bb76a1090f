import { expect, test } from 'vitest'
import { ClockWatch } from './clock-watch.ts'

const MINUTE = 60_000
const YEAR = 365 * 24 * 60 * MINUTE

test('a clock that is ahead for a moment is not trusted, one that stays ahead is', () => {
  const watch = new ClockWatch()
  const at = Date.parse('2026-11-20')
  expect(watch.look(at, 0)).toBe('trusted')
  expect(watch.look(at + MINUTE, MINUTE)).toBe('trusted')
  expect(watch.look(at + YEAR, 2 * MINUTE)).toBe('jumped')
  expect(watch.look(at + YEAR + MINUTE, 3 * MINUTE)).toBe('waiting')
  // The clock was corrected, and is trusted again at once.
  expect(watch.look(at + 4 * MINUTE, 4 * MINUTE)).toBe('trusted')
  // A machine that slept for days counts on only when it wakes.
  const woke = at + YEAR
  expect(watch.look(woke, 5 * MINUTE)).toBe('jumped')
  expect(watch.look(woke + 9 * MINUTE, 14 * MINUTE)).toBe('waiting')
  expect(watch.look(woke + 10 * MINUTE, 15 * MINUTE)).toBe('trusted')
  expect(watch.look(woke + 11 * MINUTE, 16 * MINUTE)).toBe('trusted')
})

test('a clock that is set back or drifts is trusted', () => {
  const watch = new ClockWatch()
  expect(watch.look(10 * YEAR, 0)).toBe('trusted')
  expect(watch.look(9 * YEAR, MINUTE)).toBe('trusted')
  expect(watch.look(9 * YEAR + 6 * MINUTE, 2 * MINUTE)).toBe('trusted')
})
