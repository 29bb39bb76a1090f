import { expect, test } from 'vitest'
import { RateLimiter } from './rate-limit.ts'

/** The number of callers that are remembered at once. */
const KEPT = 100_000

/** One request a minute for each address, and no time passes. */
function limiter(): (address: string) => boolean {
  const limits = new RateLimiter(
    { reads: 1, writes: 1, anonymous: 1 },
    { now: () => 0, sleep: async () => {} },
  )
  return (address) => limits.take('anonymous', address).isAllowed
}

// Searching all remembered callers for each of the others would take longer than a test may.
test('a busy caller’s bucket is kept however many other callers appear, and counting each of them is fast', () => {
  const take = limiter()
  expect(take('a')).toBe(true)
  for (let other = 0; other < 3 * KEPT; other++) {
    take(`other ${other}`)
    if (other % (KEPT / 2) === 0) expect(take('a')).toBe(false)
  }
  expect(take('a')).toBe(false)
})

test('beyond the number of kept callers, the least recent one is forgotten', () => {
  const take = limiter()
  for (const address of ['a', 'b']) take(address)
  for (let other = 0; other < KEPT - 1; other++) take(`other ${other}`)
  expect(take('b')).toBe(false)
  expect(take('a')).toBe(true)
})

test('all addresses of an IPv6 /64, which one customer has, share one limit', () => {
  const take = limiter()
  expect(take('2001:db8:1:2::1')).toBe(true)
  expect(take('2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe(false)
  expect(take('2001:db8:1:2:a::')).toBe(false)
  expect(take('2001:db8:1:3::1')).toBe(true)
  expect(take('2001:db8::1')).toBe(true)
  expect(take('2001:db8:0:0:5::1')).toBe(false)
  expect(take('::1')).toBe(true)
  expect(take('fe80::1%eth0')).toBe(true)
  expect(take('fe80::2%eth0')).toBe(false)
})

test('each IPv4 address has its own limit, even if the system writes it as an IPv6 address', () => {
  const take = limiter()
  expect(take('::ffff:192.0.2.1')).toBe(true)
  expect(take('192.0.2.1')).toBe(false)
  expect(take('::ffff:192.0.2.2')).toBe(true)
  expect(take('192.0.2.3')).toBe(true)
})
