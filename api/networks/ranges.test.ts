import { expect, test } from 'vitest'
import { overlap } from '../cidrs.ts'
import { freeHost, isHost, rangeMistake } from './ranges.ts'

test.each(['10.0.0.0/16', '10.63.255.248/29', '10.80.0.0/16', '172.16.0.0/16', '192.168.1.0/24'])(
  '%s can be the range of a network',
  (range) => expect(rangeMistake(range)).toBeNull(),
)

test.each([
  ['10.0.0.0/15', /prefix/],
  ['10.0.0.0/30', /prefix/],
  ['10.0.0.0', /prefix/],
  ['10.0.0.0/024', /IPv4/],
  ['fd00::/24', /IPv4/],
  ['10.1.2.3/24', /10\.1\.2\.0\/24/],
  ['::ffff:10.1.0.0/24', /IPv4|begin/],
  ['172.32.0.0/16', /private/],
  ['192.0.2.0/24', /private/],
  ['10.64.0.0/16', /10\.64\.0\.0\/12/],
  ['10.79.255.0/24', /10\.64\.0\.0\/12/],
])('%s can not', (range, why) => expect(rangeMistake(range)).toMatch(why))

test('servers get the addresses between the first two and the last', () => {
  const range = '10.1.0.248/29'
  const taken = new Set<string>()
  for (let address = freeHost(range, taken); address; address = freeHost(range, taken)) taken.add(address)
  expect([...taken]).toEqual(['10.1.0.250', '10.1.0.251', '10.1.0.252', '10.1.0.253', '10.1.0.254'])
  for (const address of ['10.1.0.248', '10.1.0.249', '10.1.0.255', '10.1.1.0', '9.1.0.250'])
    expect(isHost(range, address)).toBe(false)
  expect(isHost('192.168.0.0/16', '192.168.200.7')).toBe(true)
})

test('ranges overlap where one holds the other', () => {
  expect(overlap('10.1.0.0/16', '10.1.200.0/24')).toBe(true)
  expect(overlap('10.1.200.0/24', '10.1.0.0/16')).toBe(true)
  expect(overlap('10.1.0.0/24', '10.1.1.0/24')).toBe(false)
})
