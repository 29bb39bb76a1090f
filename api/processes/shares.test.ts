import fc from 'fast-check'
import { expect, test } from 'vitest'
import { divided } from './shares.ts'

test('pools are divided evenly, each to a living process, and stay in place if the division is already even', () => {
  const names = (prefix: string, most: number) =>
    fc
      .integer({ min: 1, max: most })
      .map((count) => Array.from({ length: count }, (_, at) => `${prefix}${at}`))
  const before = fc.dictionary(
    fc.constantFrom('p0', 'p1', 'p2', 'p3'),
    fc.constantFrom('w0', 'w1', 'w2', 'gone'),
  )
  fc.assert(
    fc.property(names('p', 12), names('w', 5), before, (pools, living, old) => {
      const owners = divided(pools, living, new Map(Object.entries(old)))
      expect([...owners.keys()].sort()).toEqual([...pools].sort())
      const counts = living.map((process) => [...owners.values()].filter((owner) => owner === process).length)
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(pools.length)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      expect(divided(pools, living, owners)).toEqual(owners)
    }),
  )
})
