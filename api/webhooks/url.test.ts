import { expect, test } from 'vitest'
import { Addresses } from './addresses.ts'
import { flawOf } from './url.ts'

const closed = new Addresses([], () => [])
const flaws = (urls: readonly string[], addresses = closed) =>
  urls.map((url) => [url, flawOf(url, addresses)])

test.each([
  '168.63.129.16/metadata',
  '100.100.100.200/latest',
  '169.254.1.1',
  '192.0.0.192/opc',
  '127.0.0.1:8080',
  '10.0.0.1',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[2001:0:a9fe:a9fe::]',
  '[::ffff:168.63.129.16]',
  '[::ffff:a9fe:a9fe]',
  '[::169.254.169.254]',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '169.254.43518',
  '①⑥⑨.②⑤④.①⑥⑨.②⑤④',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '127.0.0.1.',
])('the address in %s is refused, with what is wrong', (host) => {
  expect(flawOf(`http://${host}/`, closed)).toMatch(
    /^must be on the public internet; the address [\d.a-f:]+ is not\.$/,
  )
})

test.each([
  'localhost',
  'LOCALHOST',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'local%68ost',
  'shop.localhost',
  'printer.local',
  'api.default.svc.cluster.local',
  'metadata.google.internal',
  'metadata.azure.internal',
  'metadata.packet.net',
  'router.lan',
  'nas.home.arpa',
  'instance-data',
  'com',
  'xn--fsq',
])('the name in %s is refused, with what is wrong', (host) => {
  expect(flawOf(`http://${host}/`, closed)).toMatch(
    /^must be on the public internet; the name [\w.-]+ is not\.$/,
  )
})

test('user names, dots at the end and ports of other protocols are refused, each with a reason of its own', () => {
  const reasons = flaws([
    'https://user@example.com/',
    'https://:word@example.com/',
    'https://example.com./',
    'http://localhost./',
    'https://example.com:22/',
    'http://example.com:25/',
    'http://example.com:0/',
    'http://example.com:6379/',
    'http://example.com:11211/',
    'http://example.com:6000/',
    'https://',
    'http://1.2.3.4.5/',
    'http://exa mple.com/',
    'http://[fe80::1%25eth0]/',
  ]).map(([, flaw]) => flaw)
  const name = 'must not contain a user name or password.'
  const dot = 'must have a host name that does not end in a dot.'
  const port = (number: number) => `must not use port ${number}, which is not used for HTTP.`
  const form = 'must be an address such as https://example.com/hooks.'
  expect(reasons).toEqual([
    ...[name, name, dot, dot],
    ...[22, 25, 0, 6379, 11211, 6000].map(port),
    ...Array(4).fill(form),
  ])
})

test('usual addresses are taken', () => {
  const urls = [
    'https://example.com/hooks',
    'http://example.com:80/',
    'https://example.com:443/',
    'https://example.com:8443/in?a=b#c',
    'https://internal.example.com/',
    'https://localhost.example.com/',
    'https://bücher.example/',
    'http://8.8.8.8:3000/',
    'https://[2606:4700:4700::1111]/',
  ]
  expect(flaws(urls)).toEqual(urls.map((url) => [url, null]))
})

test('where the operator opens ranges, names inside of them are taken too, and other addresses are not', () => {
  const opened = new Addresses([{ address: '10.1.0.0', prefix: 16, family: 'ipv4' }], () => [])
  expect(['hooks.internal', 'hooks', '10.1.2.3'].map((host) => flawOf(`http://${host}/`, opened))).toEqual([
    null,
    null,
    null,
  ])
  expect(flawOf('http://169.254.169.254/', opened)).toMatch(/public internet/)
})
