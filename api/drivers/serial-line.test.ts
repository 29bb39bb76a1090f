import { expect, test } from 'vitest'
import { KEPT, SerialLine } from './serial-line.ts'

const quiet = () => new SerialLine({ type: () => {} })

test('each reader gets the end of what was printed before, and then all of it, in pieces', async () => {
  const line = quiet()
  line.print(Buffer.alloc(100_000, 'a'))
  line.print(Buffer.from('login: '))
  const reader = line.open()
  let text = ''
  while (text.length < KEPT) {
    const printed = await reader.read()
    expect(printed?.skipped).toBe(0)
    text += printed?.bytes
  }
  expect(text).toBe(`${'a'.repeat(KEPT - 7)}login: `)
  const next = reader.read()
  line.print(Buffer.from('more'))
  expect((await next)?.bytes.toString()).toBe('more')
  line.print(Buffer.from('last'))
  line.end()
  expect((await reader.read())?.bytes.toString()).toBe('last')
  expect(await reader.read()).toBeNull()
})

test('a reader who is too slow misses the middle and is told how much', async () => {
  const line = quiet()
  const [slow, quick] = [line.open(), line.open()]
  let taken = 0
  for (let at = 0; at < 10; at++) {
    line.print(Buffer.alloc(16 * 1024, String(at)))
    taken += (await quick.read())?.bytes.length ?? 0
  }
  expect(taken).toBe(160 * 1024)
  expect(await slow.read()).toEqual({ bytes: Buffer.alloc(16 * 1024, '6'), skipped: 96 * 1024 })
})

test('a returning reader continues after the output it has seen', async () => {
  const line = quiet()
  line.print(Buffer.from('old text, new text'))
  expect((await line.open(Buffer.from('old text, ')).read())?.bytes.toString()).toBe('new text')
  expect((await line.open(Buffer.from('elsewhere')).read())?.bytes.toString()).toBe('old text, new text')
})

test('input of readers arrives until they close; the line knows when the last one has closed', async () => {
  let typed = ''
  let lefts = 0
  const line = new SerialLine({
    type: (bytes) => {
      typed += Buffer.from(bytes)
    },
    left: () => {
      lefts += 1
    },
  })
  const [one, other] = [line.open(), line.open()]
  one.write(Buffer.from('a'))
  other.write(Buffer.from('b'))
  const waiting = one.read()
  one.close()
  one.close()
  expect(await waiting).toBeNull()
  one.write(Buffer.from('c'))
  expect([typed, lefts]).toEqual(['ab', 0])
  other.close()
  expect(lefts).toBe(1)
})
