import { expect, test } from 'vitest'
import { findRoom, type Holder } from './places.ts'

const bounds = { noun: 'streams', most: 10, ofAccount: 5, ofUnpaid: 2 }
const held = (accountId: string, count: number, hasPaid = false): Holder[] =>
  Array.from({ length: count }, () => ({ accountId, hasPaid }))
const paying = (accountId: string) => ({ accountId, hasPaid: true })
const free = (accountId: string) => ({ accountId, hasPaid: false })

test('while there is room, an account gets places up to its limit, which is lower if it has never paid', () => {
  expect(findRoom(held('a', 4, true), paying('a'), bounds)).toBeNull()
  expect(() => findRoom(held('a', 5, true), paying('a'), bounds)).toThrow(
    'can have 5 open streams. Close one',
  )
  expect(findRoom(held('a', 1), free('a'), bounds)).toBeNull()
  expect(() => findRoom(held('a', 2), free('a'), bounds)).toThrow(
    'never paid can have 2 open streams, others 5',
  )
})

test('when all places are taken, the account with the largest share of its limit loses its newest place', () => {
  const places = [...held('a', 3, true), ...held('b', 5, true), ...held('c', 2, true)]
  expect(findRoom(places, paying('d'), bounds)).toBe(7)
  expect(findRoom(places, paying('c'), bounds)).toBe(7)
  // Its share would be as large as that of the account that would lose a place.
  const full = [...held('a', 5, true), ...held('b', 4, true), ...held('c', 1, true)]
  expect(() => findRoom(full, paying('b'), bounds)).toThrow('All 10 streams of this installation are taken')
})

test('an account always gets its first place, and accounts that have never paid cannot take the share of one that pays', () => {
  const crowd = Array.from({ length: 10 }, (_, n) => free(`free-${Math.floor(n / 2)}`))
  let places: Holder[] = crowd
  for (let own = 0; own < 4; own += 1) {
    const at = findRoom(places, paying('a'), bounds)
    expect(places[at ?? -1]?.hasPaid).toBe(false)
    places = [...places.filter((_, other) => other !== at), paying('a')]
  }
  // Each newcomer gets a first place. Once the paying account is down to its share, other unpaid accounts lose
  // theirs.
  for (let n = 0; n < 50; n += 1) {
    const at = findRoom(places, free(`late-${n}`), bounds)
    expect(at).not.toBeNull()
    places = [...places.filter((_, other) => other !== at), free(`late-${n}`)]
  }
  expect(places.filter(({ accountId }) => accountId === 'a')).toHaveLength(2)
})
