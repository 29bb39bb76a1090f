import { isIP } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Addresses } from './addresses.ts'

test('only the public internet is open: no loopback, private, link-local, metadata or multicast address', () => {
  const addresses = new Addresses([])
  for (const address of [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '100.100.100.200',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ])
    expect([address, addresses.isOpen(address)]).toEqual([address, false])
  for (const address of ['8.8.8.8', '172.32.0.1', '192.169.0.1', '2606:4700:4700::1111', '2a00:1450::1'])
    expect([address, addresses.isOpen(address)]).toEqual([address, true])
})

test('the operator can open ranges, and IPv4 that is written as IPv6 belongs to them', () => {
  const addresses = new Addresses([
    { address: '10.1.0.0', prefix: 16, family: 'ipv4' },
    { address: 'fd00::', prefix: 8, family: 'ipv6' },
  ])
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '8.8.8.8'])
    expect(addresses.isOpen(address)).toBe(true)
  for (const address of ['10.2.0.1', '::ffff:10.2.0.1', 'fc00::1', '127.0.0.1'])
    expect(addresses.isOpen(address)).toBe(false)
})

test('however an address of this machine is written in a URL, it is closed', () => {
  const addresses = new Addresses([])
  const forms = ['127.1', '0x7f.1', '2130706433', '0177.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '127.0.0.1.']
  for (const form of forms) {
    const host = new URL(`http://${form}/`).hostname.replace(/^\[(.*)\]$/, '$1')
    expect([form, isIP(host) > 0, addresses.isOpen(host)]).toEqual([form, true, false])
  }
  fc.assert(
    fc.property(fc.ipV4(), (v4) => addresses.isOpen(`::ffff:${v4}`) === false),
    { numRuns: 200 },
  )
})

test('a range of one family opens nothing of the other, however it is written', () => {
  const v6 = new Addresses([{ address: '::', prefix: 0, family: 'ipv6' }])
  for (const address of ['fd00::1', '::1', '2001:db8::1'])
    expect([address, v6.isOpen(address)]).toEqual([address, true])
  for (const address of ['127.0.0.1', '10.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1'])
    expect([address, v6.isOpen(address)]).toEqual([address, false])
  const v4 = new Addresses([{ address: '0.0.0.0', prefix: 0, family: 'ipv4' }])
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1'])
    expect([address, v4.isOpen(address)]).toEqual([address, true])
  for (const address of ['::1', 'fd00::1', '::127.0.0.1', '64:ff9b::7f00:1'])
    expect([address, v4.isOpen(address)]).toEqual([address, false])
})

test('public addresses of this machine are closed too, as long as it has them, unless the operator opens them', () => {
  const own = ['198.41.0.4', '2606:4700:4700::1111', 'fe80::1']
  const addresses = new Addresses([], () => own)
  for (const address of ['198.41.0.4', '::ffff:198.41.0.4', '2606:4700:4700:0::1111'])
    expect([address, addresses.isOpen(address)]).toEqual([address, false])
  expect(addresses.isOpen('198.41.0.5')).toBe(true)
  expect(
    new Addresses([{ address: '198.41.0.0', prefix: 24, family: 'ipv4' }], () => own).isOpen('198.41.0.4'),
  ).toBe(true)
  own.shift()
  expect(addresses.isOpen('198.41.0.4')).toBe(true)
})
