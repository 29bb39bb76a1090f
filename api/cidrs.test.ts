import { expect, test } from 'vitest'
import { canonicalCidr, isWithin, networkAround, reverseName, widest } from './cidrs.ts'

test('each range is stored in one canonical form', () => {
  const written = {
    '203.0.113.7': '203.0.113.7/32',
    '10.0.0.0/8': '10.0.0.0/8',
    '0.0.0.0/0': '0.0.0.0/0',
    '2001:DB8:0:0::/32': '2001:db8::/32',
    '2001:db8::1': '2001:db8::1/128',
    '::/0': '::/0',
    '::ffff:203.0.113.7': '203.0.113.7/32',
    '::ffff:cb00:7107/128': '203.0.113.7/32',
    '0:0:0:0:0:ffff:10.0.0.0/104': '10.0.0.0/8',
    '64:ff9b::192.0.2.33': '64:ff9b::c000:221/128',
    '1:2:3:4:5:6:7:8': '1:2:3:4:5:6:7:8/128',
  }
  for (const [text, canonical] of Object.entries(written)) {
    expect(canonicalCidr(text)).toBe(canonical)
    expect(canonicalCidr(canonical)).toBe(canonical)
  }
})

test('an invalid range, or an address inside of one, is refused', () => {
  const wrong = ['', '/8', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/-1', '10.0.0/8', '010.0.0.1']
  wrong.push('::/129', 'fe80::1%eth0', '10.0.0.0/8 ', '10.0.0.0 /8', 'example.com', '1.2.3.4/8/9', ':::', '*')
  wrong.push('10.1.2.3/8', '2001:db8::1/32', '::ffff:10.1.2.3/104', '::ffff:0:0/95')
  for (const text of wrong) expect([text, canonicalCidr(text)]).toEqual([text, null])
  expect(networkAround('10.1.2.3/8')).toBe('10.0.0.0/8')
  expect(networkAround('example.com')).toBeNull()
})

test('an address is in a range of its own family, however it is written', () => {
  const list = ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7/32']
  for (const inside of [
    '203.0.113.255',
    '::ffff:203.0.113.1',
    '::FFFF:cb00:7101',
    '2001:db8::5',
    '198.51.100.7',
  ])
    expect([inside, isWithin(inside, list)]).toEqual([inside, true])
  for (const outside of [
    '203.0.112.255',
    '203.0.114.0',
    '2001:db9::',
    '::203.0.113.1',
    '198.51.100.8',
    '',
    'x',
  ])
    expect([outside, isWithin(outside, list)]).toEqual([outside, false])
  expect(isWithin('10.0.0.1', ['::/0'])).toBe(false)
  expect(isWithin('::ffff:10.0.0.1', ['::/0'])).toBe(false)
  expect(isWithin('::1', ['0.0.0.0/0'])).toBe(false)
  expect(isWithin('fe80::1%eth0', ['fe80::/10'])).toBe(true)
  expect(isWithin('10.0.0.1', [])).toBe(false)
})

test('a range is in another one only as a whole', () => {
  expect(isWithin('10.1.0.0/16', ['10.0.0.0/8'])).toBe(true)
  expect(isWithin('10.0.0.0/8', ['10.0.0.0/8'])).toBe(true)
  expect(isWithin('10.0.0.0/7', ['10.0.0.0/8'])).toBe(false)
  expect(isWithin('0.0.0.0/0', ['0.0.0.0/1', '128.0.0.0/1'])).toBe(false)
  expect(isWithin('::/0', ['0.0.0.0/0'])).toBe(false)
})

test('ranges contained in others are left out', () => {
  expect(
    widest(['10.1.0.0/16', '10.0.0.0/8', '10.0.0.0/8', '2001:db8::/32', '::/0', '192.0.2.1/32']),
  ).toEqual(['10.0.0.0/8', '::/0', '192.0.2.1/32'])
})

test('the widest of many ranges are found without comparing each with each', () => {
  const random = (most: number) => Math.floor(Math.random() * most)
  const range = () => {
    const text = random(2)
      ? `10.${random(3)}.${random(3)}.${random(9)}`
      : `2001:db8:${random(3)}::${random(9)}`
    return networkAround(`${text}/${random(text.includes(':') ? 129 : 33)}`) ?? ''
  }
  for (let round = 0; round < 50; round++) {
    const all = [...new Set(Array.from({ length: 40 }, range))]
    const compared = all.filter((one) => !all.some((other) => other !== one && isWithin(one, [other])))
    expect(widest(all)).toEqual(compared)
  }
  const many = Array.from({ length: 20_000 }, (_, at) => `10.${at >> 8}.${at & 255}.1/32`)
  // Comparing them with each other would take ten minutes, longer than a test may.
  expect(widest(many)).toHaveLength(20_000)
})

test('every address has its reverse DNS name', () => {
  expect(reverseName('203.0.113.7')).toBe('7.113.0.203.in-addr.arpa.')
  expect(reverseName('2001:db8:7::2')).toBe(
    '2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.',
  )
})
