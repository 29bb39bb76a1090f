import { expect, test } from 'vitest'
import { Line } from './line.ts'

const late = () => new Error('late')

/** Records the order in which callers begin. */
function begins(line: Line, names: readonly string[]): string[] {
  const begun: string[] = []
  const ignore = () => {} // callers that still wait are refused after the test
  for (const name of names) void line.take(name, late).then(() => begun.push(name), ignore)
  return begun
}

const settle = () => new Promise(setImmediate)

test('a caller holds at most half of the connections, so another caller finds a free one', async () => {
  const line = new Line(4, 1_000)
  const begun = begins(line, ['slow', 'slow', 'slow', 'slow', 'other'])
  await settle()
  expect(begun).toEqual(['slow', 'slow', 'other'])
})

test('waiting callers take turns to get released connections', async () => {
  const line = new Line(2, 1_000)
  const begun = begins(line, ['a', 'b', 'a', 'a', 'b', 'c'])
  await settle()
  expect(begun).toEqual(['a', 'b'])
  line.give('a')
  line.give('b')
  await settle()
  expect(begun).toEqual(['a', 'b', 'a', 'b'])
  line.give('a')
  line.give('b')
  await settle()
  expect(begun).toEqual(['a', 'b', 'a', 'b', 'c', 'a'])
})

test('a caller that waits too long is refused, and delays nobody after that', async () => {
  const line = new Line(2, 1)
  await line.take('a', late)
  await line.take('b', late)
  await expect(line.take('a', late)).rejects.toThrow('late')
  line.give('a')
  await line.take('c', late)
})
