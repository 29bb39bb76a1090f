// The search for the owner of an address or a port at a time, for an operator who is asked about abuse.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { traced } from '../../../api/commands/trace.ts'
import { OutgoingLog } from '../../../api/drivers/outgoing.ts'
import { catalogText, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

const DAY = 24 * 3600_000
const HOST = '198.51.100.1'
const NOWHERE = join(tmpdir(), 'berth-no-such-folder')

const found = async (
  db: Parameters<typeof traced>[0],
  question: { address: string; port: number; at: number; sourcePort?: number; dataDir?: string },
) => (await traced(db, { sourcePort: null, dataDir: NOWHERE, ...question })).found

test('a port is found with the server that had it at that time, 90 days back, also after both are gone', async () => {
  const t = await testApp()
  const id = await make(t, { name: 'web-1' })
  const { port } = (await t.call('GET', `/servers/${id}/details`)).body.ssh
  // The port for SSH is any of the range.
  const host_port = port === 22500 ? 22501 : 22500
  const order = { protocol: 'udp', port: 53, host_port }
  const published = await t.call('POST', `/servers/${id}/ports`, order)
  const before = t.clock.now() - DAY
  const during = t.clock.now()
  t.clock.advance(DAY)
  await t.call('DELETE', `/servers/${id}/ports/${published.body.port_id}`)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const at = (asked: number, moment: number) => found(t.db, { address: HOST, port: asked, at: moment })
  const of = { server_id: id, name: 'web-1', account: 'customer1@example.com' }
  expect(await at(host_port, during)).toMatchObject([
    { ...of, what: `${host_port}/udp`, until: t.clock.now() },
  ])
  expect(await at(port, during)).toMatchObject([{ ...of, what: `${port}/tcp` }])
  for (const moment of [before, t.clock.now() + 1]) expect(await at(host_port, moment)).toEqual([])
  t.clock.advance(89 * DAY)
  await t.app.retention.look()
  expect(await at(host_port, during)).toHaveLength(1)
  t.clock.advance(2 * DAY)
  await t.app.retention.look()
  expect(await at(host_port, during)).toEqual([])
})

test('a public address is found with the account that had it, whatever port was seen, 90 days back', async () => {
  const ranges = 'public_ipv4: [203.0.113.7/32]\n    public_ipv6: 2001:db8:7::/64\n    overcommit:'
  const catalog = parseCatalog(catalogText.replace('overcommit:', ranges), 'catalog.yaml')
  const t = await testApp({ catalog })
  const { body } = await t.call('POST', '/addresses', { zone_slug: 'local-1', family: 'ipv6' })
  const during = t.clock.now()
  t.clock.advance(1_000)
  await t.call('DELETE', `/addresses/${body.address_id}`)
  t.clock.advance(89 * DAY)
  await t.app.retention.look()
  const at = (address: string, moment: number) => found(t.db, { address, port: 4444, at: moment })
  expect(await at('2001:db8:7::5', during)).toMatchObject([{ account: 'customer1@example.com' }])
  expect(await at('2001:db8:8::5', during)).toEqual([])
  expect(await at('2001:db8:7::5', t.clock.now())).toEqual([])
})

test('a connection by the address of the host is found with server and account, also after the server is gone', async () => {
  const t = await testApp()
  const id = await make(t, { name: 'web-1' })
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-trace-'))
  try {
    const at = t.clock.now()
    const to = { address: '192.0.2.9', port: 22 }
    await new OutgoingLog(dataDir).add(
      [{ at, serverId: id, protocol: 'tcp', sourcePort: 40_123, ...to }],
      at,
      true,
    )
    await t.call('DELETE', `/servers/${id}`)
    await t.finish()
    const asked = (more: object = {}) => found(t.db, { ...to, at, dataDir, ...more })
    const row = {
      what: 'tcp from port 40123',
      server_id: id,
      name: 'web-1',
      account: 'customer1@example.com',
    }
    expect(await asked()).toMatchObject([row])
    expect(await asked({ sourcePort: 40_123 })).toMatchObject([row])
    expect(await asked({ sourcePort: 40_124 })).toEqual([])
    expect((await traced(t.db, { ...to, at, sourcePort: null, dataDir: NOWHERE })).isRecorded).toBe(false)
  } finally {
    rmSync(dataDir, { recursive: true })
  }
})
