import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ManualClock } from '../../test/harness/clock.ts'
import { Shares } from './shares.ts'

const SECOND = 1_000
const limit = { destination: 'shop', perMinute: 60, burst: 10, inFlight: 4 }

/** Sends as fast as allowed for a while. @returns the number of messages of each account */
function sent(seconds: number, accounts: Record<string, number>, clock: ManualClock, shares: Shares) {
  const counts: Record<string, number> = {}
  for (let passed = 0; passed < seconds * SECOND; passed += 100) {
    for (const [account, messages] of Object.entries(accounts))
      for (let message = 0; message < messages; message++)
        if (shares.take([limit], account, `${account} ${message}`) === 0) {
          shares.done([limit], account)
          counts[account] = (counts[account] ?? 0) + 1
        }
    clock.advance(100)
  }
  return counts
}

test('a destination gets its burst, then what its rate allows, however much is waiting', () => {
  const clock = new ManualClock()
  const shares = new Shares(clock)
  const { a = 0 } = sent(60, { a: 20 }, clock, shares)
  expect(a).toBeGreaterThanOrEqual(65)
  expect(a).toBeLessThanOrEqual(10 + 60)
})

test('accounts have the same share, however many messages each has, and one that comes later goes at once', () => {
  const clock = new ManualClock()
  const shares = new Shares(clock)
  sent(120, { greedy: 20 }, clock, shares)
  expect(shares.take([limit], 'late', 'late')).toBe(0)
  shares.done([limit], 'late')
  const { greedy = 0, late = 0 } = sent(120, { greedy: 20, late: 1 }, clock, shares)
  expect(late).toBeGreaterThan(50)
  expect(greedy).toBeLessThan(90)
})

test('an account at its limit does not delay deliveries to other destinations', () => {
  const clock = new ManualClock()
  const shares = new Shares(clock)
  sent(10, { a: 20 }, clock, shares)
  expect(shares.take([limit], 'a', 'next')).toBeGreaterThan(0)
  expect(shares.take([{ ...limit, destination: 'other' }], 'a', 'another')).toBe(0)
})

test('a repeated request keeps its turn, early or at another address of the same name', () => {
  const clock = new ManualClock()
  const shares = new Shares(clock)
  for (let count = 0; count < 10; count++) {
    expect(shares.take([limit], 'a', `${count}`)).toBe(0)
    shares.done([limit], 'a')
  }
  const waitMs = shares.take([limit], 'a', 'w')
  expect([waitMs, shares.take([limit], 'a', 'w'), shares.waitOf('w'), shares.waiting]).toEqual([
    SECOND,
    SECOND,
    SECOND,
    1,
  ])
  clock.advance(waitMs)
  expect(shares.take([limit, { ...limit, destination: 'address' }], 'a', 'w')).toBe(0)
  expect(shares.waiting).toBe(0)
})

test('places at a destination are divided too, and who finds none looks again one after the other', () => {
  const clock = new ManualClock()
  const shares = new Shares(clock)
  for (let count = 0; count < 4; count++) expect(shares.take([limit], 'a', `a${count}`)).toBe(0)
  const waits = ['a4', 'a5', 'a6'].map((message) => shares.take([limit], 'a', message))
  expect(waits).toEqual([500, 1_000, 1_500])
  for (let count = 0; count < 2; count++) expect(shares.take([limit], 'b', `b${count}`)).toBe(0)
  expect(shares.take([limit], 'b', 'b2')).toBe(500)
  shares.done([limit], 'b')
  clock.advance(500)
  expect(shares.take([limit], 'b', 'b2')).toBe(0)
})

test('a clock that is set back holds up nobody', () => {
  const clock = new ManualClock()
  const shares = new Shares(clock)
  sent(30, { a: 20 }, clock, shares)
  clock.advance(-3600 * SECOND)
  expect(shares.take([limit], 'a', 'next')).toBe(0)
})

test('in whatever order accounts come and go, a destination is never sent more than its limits say', () => {
  const step = fc.record({ account: fc.nat(5), message: fc.nat(5), advance: fc.nat(2_000) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const clock = new ManualClock()
      const shares = new Shares(clock)
      const start = clock.now()
      let count = 0
      for (const { account, message, advance } of steps) {
        if (shares.take([limit], `${account}`, `${account} ${message}`) === 0) {
          shares.done([limit], `${account}`)
          count += 1
        }
        clock.advance(advance)
      }
      // Each account that comes has its part of the burst, of which the first ones took more: 10 + 5 + 3 + 2 + 2 + 1.
      const most = 23 + 6 * 6 + (clock.now() - start) / SECOND
      expect(count).toBeLessThanOrEqual(most)
    }),
    { numRuns: 50 },
  )
})
