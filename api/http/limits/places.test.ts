import { expect, test } from 'vitest'
import { findRoom, type Holder } from './places.ts'

const bounds = { noun: 'streams', most: 10, ofAccount: 5, ofUnpaid: 2 }
const held = (accountId: string, count: number, hasPaid = false): Holder[] =>
  Array.from({ length: count }, () => ({ accountId, hasPaid }))
const paying = (accountId: string) => ({ accountId, hasPaid: true })
const free = (accountId: string) => ({ accountId, hasPaid: false })

test('while there is room, an account takes as many places as it may, and fewer if it has never paid', () => {
  expect(findRoom(held('a', 4, true), paying('a'), bounds)).toBeNull()
  expect(() => findRoom(held('a', 5, true), paying('a'), bounds)).toThrow(
    'can have 5 open streams. Close one',
  )
  expect(findRoom(held('a', 1), free('a'), bounds)).toBeNull()
  expect(() => findRoom(held('a', 2), free('a'), bounds)).toThrow(
    'never paid can have 2 open streams, others 5',
  )
})

test('when all places are taken, the account that has most gives up its newest', () => {
  const places = [...held('a', 3, true), ...held('b', 5, true), ...held('c', 2, true)]
  expect(findRoom(places, paying('d'), bounds)).toBe(7)
  expect(findRoom(places, paying('c'), bounds)).toBe(7)
  // It would have as many as the account that gives one up has then.
  expect(() => findRoom([...held('a', 5, true), ...held('b', 5, true)], paying('b'), bounds)).toThrow(
    'can have 5',
  )
  expect(() =>
    findRoom([...held('a', 5, true), ...held('b', 4, true), ...held('c', 1)], paying('b'), bounds),
  ).toThrow('All 10 streams of this installation are taken')
})

test('accounts that have never paid cannot keep one that pays from its first place, nor take it away', () => {
  const crowd = Array.from({ length: 10 }, (_, n) => free(`free-${n}`))
  expect(findRoom(crowd, paying('a'), bounds)).toBe(9)
  expect(() => findRoom(crowd, free('late'), bounds)).toThrow('All 10 streams')
  const after = [...crowd.slice(0, 9), paying('a')]
  expect(() => findRoom(after, free('late'), bounds)).toThrow('All 10 streams')
  // A crowd with two each gives up one of those.
  const pairs = Array.from({ length: 10 }, (_, n) => free(`free-${Math.floor(n / 2)}`))
  expect(findRoom(pairs, free('late'), bounds)).toBe(9)
})
