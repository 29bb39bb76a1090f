import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'

const DAY = 24 * 3600_000

/** The part of PowerDNS's API that is asked, as its documentation describes it. */
class PlayedDns {
  readonly records = new Map<string, string>()
  readonly zones = ['113.0.203.in-addr.arpa.', '7.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.']
  requests = 0
  fault: 'none' | 'down' | 'refuses' = 'none'
  readonly #server = createServer(async (request, response) => {
    this.requests += 1
    const reply = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body))
    const url = new URL(request.url ?? '', 'http://localhost')
    const body = await text(request)
    if (this.fault === 'down') return request.socket.destroy()
    if (request.headers['x-api-key'] !== 'key/of+it') return reply(401, { error: 'Unauthorized' })
    if (request.method === 'GET')
      return reply(
        200,
        this.zones.filter((zone) => zone === url.searchParams.get('zone')),
      )
    if (this.fault === 'refuses') return reply(422, { error: 'Record is not wanted' })
    const { rrsets } = JSON.parse(body) as { rrsets: { name: string; records: { content: string }[] }[] } // as it is documented
    for (const { name, records } of rrsets)
      if (records[0]) this.records.set(name, records[0].content)
      else this.records.delete(name)
    return response.writeHead(204).end()
  })

  async open(): Promise<URL> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => {
      this.#server.close()
      this.#server.closeAllConnections()
    })
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`) // it listens on a port
  }
}

const catalog = () =>
  parseCatalog(
    catalogText.replace(
      /\n( +)overcommit: /,
      '\n$1public_ipv4: [203.0.113.0/29]\n$1public_ipv6: 2001:db8:7::/48$&',
    ),
    'catalog.yaml',
  )

async function publishing() {
  const dns = new PlayedDns()
  const url = await dns.open()
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const t = await testApp({ catalog: catalog(), rdns: { kind: 'pdns', url, key: 'key/of+it' }, log })
  return { t, dns, logged, publish: () => t.app.reverseDns.publish() }
}

async function reserve(t: TestApp, family: string, name: string | null) {
  const { body } = await t.call('POST', '/addresses', { zone_slug: 'local-1', family })
  const path = `/addresses/${body.address_id}`
  if (name !== null) await t.call('PATCH', path, { reverse_dns: name })
  const last = body.address.split('.')[3]
  return { path, record: `${last}.113.0.203.in-addr.arpa.` }
}

test('a name is published, changed and deleted at the name server, and each is sent once', async () => {
  const { t, dns, publish } = await publishing()
  const { path, record } = await reserve(t, 'ipv4', 'mail.example.com')
  await reserve(t, 'ipv4', null)
  expect(await publish()).toBe(1)
  expect([...dns.records]).toEqual([[record, 'mail.example.com.']])
  expect(await publish()).toBe(0)
  await t.call('PATCH', path, { reverse_dns: 'www.example.com' })
  await publish()
  expect([...dns.records]).toEqual([[record, 'www.example.com.']])
  await t.call('PATCH', path, { reverse_dns: null })
  expect(await publish()).toBe(1)
  expect([await publish(), dns.records.size]).toEqual([0, 0])
  expect(await t.db.selectFrom('reverse_records').selectAll().execute()).toEqual([])
})

test('of a /64 the address of its server has the name', async () => {
  const { t, dns, publish } = await publishing()
  await reserve(t, 'ipv6', 'six.example.com')
  await publish()
  const [[name, target] = []] = [...dns.records]
  expect(name).toMatch(/^2(\.0){15}(\.[0-9a-f]){4}\.7\.0\.0\.0\.8\.b\.d\.0\.1\.0\.0\.2\.ip6\.arpa\.$/)
  expect(target).toBe('six.example.com.')
  // Its zone is a /48, so the /64, /60, /56 and /52 are asked for first; the next name knows the /48.
  expect(dns.requests).toBe(6)
  await reserve(t, 'ipv6', 'next.example.com')
  await publish()
  expect([dns.records.size, dns.requests <= 6 + 5]).toEqual([2, true])
})

test('the next account with an address does not inherit its name, even if the name server was away', async () => {
  const { t, dns, publish, logged } = await publishing()
  const { path, record } = await reserve(t, 'ipv4', 'mail.example.com')
  await publish()
  await t.call('DELETE', path)
  dns.fault = 'down'
  expect(await publish()).toBe(0)
  expect(dns.records.has(record)).toBe(true)
  dns.fault = 'none'
  t.clock.advance(60_000)
  expect([await publish(), dns.records.size]).toEqual([1, 0])
  expect(logged.join('')).toMatch(/the name server does not answer/)
  expect(logged.join('')).not.toContain('key/of+it')
})

test('a name that was sent when the process died is sent again', async () => {
  const { t, dns, publish } = await publishing()
  const { path, record } = await reserve(t, 'ipv4', 'mail.example.com')
  dns.fault = 'down'
  await publish()
  // The request may have reached it.
  dns.records.set(record, 'mail.example.com.')
  await t.call('DELETE', path)
  dns.fault = 'none'
  await publish()
  expect(dns.records.size).toBe(0)
})

test('a refused name waits longer each time, and keeps no other from being published', async () => {
  const { t, dns, publish, logged } = await publishing()
  await reserve(t, 'ipv4', 'bad.example.com')
  dns.fault = 'refuses'
  await publish()
  expect(logged.join('')).toMatch(/PowerDNS replied 422: Record is not wanted/)
  dns.fault = 'none'
  const other = await reserve(t, 'ipv4', 'good.example.com')
  expect(await publish()).toBe(1)
  expect([...dns.records.keys()]).toEqual([other.record])
  t.clock.advance(60_000)
  expect([await publish(), dns.records.size]).toEqual([1, 2])
})

test('changed names come before those that are only sent again, and names that failed come last', async () => {
  const { t, dns, publish } = await publishing()
  const failed = await reserve(t, 'ipv4', 'bad.example.com')
  dns.fault = 'refuses'
  await publish()
  dns.fault = 'none'
  const same = await reserve(t, 'ipv4', 'same.example.com')
  await publish()
  t.clock.advance(1000)
  const changed = await reserve(t, 'ipv4', 'mail.example.com')
  await publish()
  t.clock.advance(DAY)
  dns.records.clear()
  for (const { path } of [failed, changed]) await t.call('PATCH', path, { reverse_dns: 'www.example.com' })
  expect(await publish()).toBe(3)
  expect([...dns.records.keys()]).toEqual([changed.record, same.record, failed.record])
})

test('names that others have changed at the name server are set again within a day', async () => {
  const { t, dns, publish } = await publishing()
  const { record } = await reserve(t, 'ipv4', 'mail.example.com')
  await publish()
  dns.records.set(record, 'elsewhere.example.com.')
  t.clock.advance(DAY)
  await publish()
  expect(dns.records.get(record)).toBe('mail.example.com.')
})

test('without a name server nothing is sent', async () => {
  const t = await testApp({ catalog: catalog() })
  await reserve(t, 'ipv4', 'mail.example.com')
  expect(await t.app.reverseDns.publish()).toBe(0)
})
