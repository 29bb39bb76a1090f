import { expect, test } from 'vitest'
import { poolFaults } from './pools.ts'

const shared = (...zones: Parameters<typeof poolFaults>[0]) => poolFaults(zones)

test('ranges with addresses of others are found, each with the place of the later one', () => {
  expect(shared({ public_ipv4: ['203.0.113.0/25', '203.0.113.128/25'] })).toEqual([])
  expect(shared({ public_ipv4: ['203.0.113.8/32'] }, { public_ipv4: ['203.0.113.0/24'] })).toEqual([
    ['/zones/1/public_ipv4/0', '203.0.113.0/24 and 203.0.113.8/32 have addresses in common.'],
  ])
  const three = ['10.0.0.0/24', '10.0.2.0/24', '10.0.0.9/32', '10.0.0.128/25']
  expect(shared({ public_ipv4: three }).map(([place]) => place)).toEqual([
    '/zones/0/public_ipv4/2',
    '/zones/0/public_ipv4/3',
  ])
  expect(
    shared({ public_ipv6: '2001:db8::/48', public_ipv4: ['10.0.0.0/24'] }, { public_ipv6: '2001:db8::/64' }),
  ).toEqual([['/zones/1/public_ipv6', '2001:db8::/64 and 2001:db8::/48 have addresses in common.']])
})

test('thousands of ranges are compared', () => {
  const zones = Array.from({ length: 200 }, (_, zone) => ({
    public_ipv4: Array.from({ length: 64 }, (_, at) => `10.${zone}.${at}.0/24`),
  }))
  expect(shared(...zones, { public_ipv4: ['10.199.63.7/32'] })).toHaveLength(1)
})
