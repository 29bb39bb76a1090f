import { setImmediate as untilTurnEnds } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

/** Records the callers of requests in the order in which these begin; each request takes half a millisecond. */
function watched() {
  let now = 0
  const turns = new Turns(() => now)
  const begun: string[] = []
  const ask = (caller: string) =>
    turns.take(caller).then(() => {
      begun.push(caller)
      now += 0.5
    })
  /** Counts the requests of a caller that have begun after each turn. */
  const beginByTurn = async (count: number) => {
    await untilTurnEnds()
    const before = begun.length
    let end = untilTurnEnds()
    for (let at = 0; at < count; at++) void ask('a')
    const byTurn: number[] = []
    while (begun.length < before + count) {
      await end
      byTurn.push(begun.length - before)
      end = untilTurnEnds()
    }
    return byTurn
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { turns, begun, ask, beginByTurn, pass }
}

test('an account with 500 waiting requests does not delay others: their requests begin in the next round', async () => {
  const { begun, ask } = watched()
  const hostile = Array.from({ length: 500 }, () => ask('hostile'))
  const neighbours = ['a', 'b', 'c', 'b'].map(ask)
  await Promise.all(neighbours)
  expect(begun).toEqual(['hostile', 'hostile', 'a', 'b', 'c', 'hostile', 'b'])
  await Promise.all(hostile)
  expect(begun).toHaveLength(504)
})

test('requests begin for two milliseconds of each turn of the event loop; then the work of started ones comes first', async () => {
  const { beginByTurn, ask } = watched()
  await ask('b')
  expect(await beginByTurn(10)).toEqual([4, 8, 10])
})

test('requests of a caller who was alone for a second begin for ten times as long, so that they share a commit', async () => {
  const { beginByTurn, pass, ask } = watched()
  await ask('a')
  pass(1_000)
  expect(await beginByTurn(100)).toEqual([40, 80, 100])
  await ask('b')
  expect(await beginByTurn(10)).toEqual([4, 8, 10])
})

test('the requests of a caller who is alone begin at once', async () => {
  const { begun, ask } = watched()
  await ask('a')
  await Promise.resolve()
  await ask('a')
  expect(begun).toEqual(['a', 'a'])
})

test('new connections are accepted before requests begin, but after every sixteen of them one request begins', async () => {
  const { turns, begun, ask } = watched()
  const arrive = async (count: number) => {
    for (let at = 0; at < count; at++) {
      turns.accepted()
      await untilTurnEnds()
    }
  }
  turns.accepted()
  const all = [ask('a'), ask('b'), ask('c')]
  await arrive(14)
  expect(begun).toEqual([])
  await arrive(2)
  expect(begun).toEqual(['a'])
  await arrive(14)
  expect(begun).toEqual(['a'])
  await Promise.all(all)
  expect(begun).toEqual(['a', 'b', 'c'])
})
