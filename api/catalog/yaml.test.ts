import { expect, test } from 'vitest'
import { readYaml, sizeFault } from './yaml.ts'

const fault = (text: string) => readYaml(text).fault

test('a key that is there twice is reported with its place and line, however it is written', () => {
  expect(fault('zones:\n  - a: 1\n    b: 1\n    "a": 2\n')).toBe(':4: zones.0.a is there twice; keep one.')
  expect(fault('a: { b: 1, b: 1 }')).toBe(':1: a.b is there twice; keep one.')
  expect(fault('"1": x\n1: y')).toBe(':2: 1 is there twice; keep one.')
  expect(fault('a: { b: 1 }\nc: { b: 1 }\nd: [{ b: 1 }, { b: 1 }]')).toBeNull()
})

test('a mistake of the syntax is quoted with its line and column, and no more of a long line than is read', () => {
  expect(fault('zones:\n  - "a" b\n')).toBe(
    ': Unexpected scalar at node end at line 2, column 9:\n\n  - "a" b\n        ^\n',
  )
  expect(fault('a: 1\n---\na: 2\n')).toMatch(/multiple documents.* at line 2/)
  const long = fault(`a: "${'x'.repeat(50_000)}" ${'y'.repeat(50_000)}`)
  expect(long).toContain('line 1, column 50007')
  expect(long?.length).toBeLessThan(300)
})

test('nesting, aliases and keys that no catalogue needs are refused', () => {
  const nested = (levels: number) => `a: ${'['.repeat(levels)}${']'.repeat(levels)}`
  expect(fault(nested(30))).toBeNull()
  expect(fault(nested(31))).toMatch(/^:1: a\.0\..* is nested too deeply\.$/)
  for (const open of ['[', '{a: ', '- ', '? ']) expect(fault(open.repeat(20_000))).not.toBeNull()
  const aliases = (count: number) => `a: &x 1\nb:\n${'  - *x\n'.repeat(count)}`
  expect(fault(aliases(100))).toBeNull()
  expect(fault(aliases(101))).toBe(':103: b.100 is more than alias 100.')
  expect(fault('a: &x [{ b: *x }]')).toBe(':1: a.0.b is an alias of a part that it is in.')
  expect(fault('? [a, b]\n: c')).toBe(':1: the catalogue has a key that is not a text.')
})

test('tens of thousands of keys, mistakes or ends of lines in one text are read to the end', () => {
  const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}: 1\n`).join('')
  expect(fault(keys)).toBeNull()
  expect(fault(`${keys}k0: 1`)).toBe(':20001: k0 is there twice; keep one.')
  for (const part of [',', ']', '"', "'a' ", '&a ', '\r', 'a: b: c\n', '!!', '? '])
    expect(fault(`[${part.repeat(20_000)}`)).not.toBeNull()
})

test('a text of more parts than a catalogue has is refused before it is read', () => {
  expect(sizeFault('- a: 1\n'.repeat(3_000))).toBeNull()
  expect(sizeFault(`[${','.repeat(30_000)}`)).toContain('too many parts')
})
