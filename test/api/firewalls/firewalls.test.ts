import { expect, test } from 'vitest'
import { DriverError, type Feature, features } from '../../../api/drivers/driver.ts'
import type { Connection } from '../../../api/drivers/firewall.ts'
import { type Reply, type TestApp, testApp } from '../../harness/app.ts'
import { issues as issuesOf, make, NOBODY, order } from '../harness/ordering.ts'

const SSH = { direction: 'in', protocol: 'tcp', ports: '22' }
const WEB = { direction: 'in', protocol: 'tcp', ports: '80' }

async function create(t: TestApp, body: object = {}): Promise<string> {
  const { status, body: firewall } = await t.call('POST', '/firewalls', {
    name: 'web',
    rules: [WEB],
    ...body,
  })
  expect(status).toBe(201)
  return firewall.firewall_id
}

const issues = ({ body }: Reply) =>
  issuesOf(body).map(([pointer, code]) => `${pointer.slice(1).replaceAll('/', '.')} ${code}`)

const attach = (t: TestApp, id: string, ...server_ids: string[]) =>
  t.call('POST', `/firewalls/${id}/servers`, { server_ids })

/** Whether its machine gets connections at a port, as its driver was told. */
async function isOpen(t: TestApp, server: string, port: number, more: Partial<Connection> = {}) {
  await t.app.connectivity.settled()
  return t.driver.passes(server, { direction: 'in', protocol: 'tcp', port, address: '192.0.2.1', ...more })
}

test('a firewall is created with rules in full, read, changed and deleted', async () => {
  const t = await testApp()
  const created = await t.call('POST', '/firewalls', {
    name: 'office',
    rules: [
      { ...SSH, cidrs: ['203.0.113.7', '2001:DB8::/32'] },
      { direction: 'out', protocol: 'any' },
    ],
  })
  expect(created).toMatchObject({
    status: 201,
    body: {
      name: 'office',
      rules: [
        { ...SSH, cidrs: ['203.0.113.7/32', '2001:db8::/32'], description: null },
        { direction: 'out', protocol: 'any', ports: null, cidrs: ['0.0.0.0/0', '::/0'], description: null },
      ],
      server_ids: [],
      label_selector: null,
    },
  })
  const path = `/firewalls/${created.body.firewall_id}`
  expect((await t.call('GET', path)).body).toEqual(created.body)
  const changed = await t.call('PATCH', path, { name: 'web', rules: [WEB] })
  expect(changed).toMatchObject({ status: 200, body: { name: 'web', rules: [WEB] } })
  expect((await t.call('GET', '/firewalls')).body).toMatchObject({ total: 1, items: [changed.body] })
  expect((await t.call('DELETE', path)).status).toBe(204)
  expect((await t.call('GET', path)).body.code).toBe('firewall_not_found')
})

test('a server without a firewall lets all through, with one only what it allows, at once', async () => {
  const t = await testApp()
  const [one, other] = [await make(t), await make(t)]
  const id = await create(t)
  expect(await isOpen(t, one, 22)).toBe(true)
  expect(await attach(t, id, one)).toMatchObject({ status: 200, body: { server_ids: [one] } })
  expect([await isOpen(t, one, 22), await isOpen(t, one, 80), await isOpen(t, other, 22)]).toEqual([
    false,
    true,
    true,
  ])
  await t.call('PATCH', `/firewalls/${id}`, { rules: [{ ...SSH, cidrs: ['198.51.100.0/24'] }] })
  expect([await isOpen(t, one, 22), await isOpen(t, one, 80)]).toEqual([false, false])
  expect(await isOpen(t, one, 22, { address: '198.51.100.9' })).toBe(true)
  expect((await t.call('DELETE', `/firewalls/${id}/servers/${one}`)).status).toBe(204)
  expect(await isOpen(t, one, 80)).toBe(true)
})

test('outgoing connections are allowed unless a firewall has outgoing rules', async () => {
  const t = await testApp()
  const server = await make(t)
  const out = { direction: 'out', port: 443 } as const
  await attach(t, await create(t), server)
  expect(await isOpen(t, server, 443, out)).toBe(true)
  const rules = [{ direction: 'out', protocol: 'udp', ports: '53' }]
  await attach(t, await create(t, { rules }), server)
  expect(await isOpen(t, server, 443, out)).toBe(false)
  expect(await isOpen(t, server, 53, { direction: 'out', protocol: 'udp' })).toBe(true)
  expect(await isOpen(t, server, 80)).toBe(true)
})

test('servers are followed as their labels change', async () => {
  const t = await testApp()
  const server = await make(t, { labels: { env: 'prod' } })
  const id = await create(t, { label_selector: 'env=prod,!open' })
  expect(await isOpen(t, server, 22)).toBe(false)
  expect((await t.call('GET', `/firewalls?server_id=${server}`)).body).toMatchObject({
    total: 1,
    items: [{ firewall_id: id, server_ids: [] }],
  })
  await t.call('PATCH', `/servers/${server}`, { labels: { env: 'prod', open: '' } })
  expect(await isOpen(t, server, 22)).toBe(true)
  expect((await t.call('GET', `/firewalls?server_id=${server}`)).body.total).toBe(0)
  await t.call('PATCH', `/servers/${server}`, { labels: { env: 'prod' } })
  expect(await isOpen(t, server, 22)).toBe(false)
  await t.call('PATCH', `/firewalls/${id}`, { label_selector: null })
  expect(await isOpen(t, server, 22)).toBe(true)
})

test.each([
  ...['env', '!env', 'env=prod', 'env!=prod', 'tier', '!tier', 'tier=', 'env=prod,tier', 'a.b/c=x=y'],
  ...['env in (test, prod),tier', 'env notin (test)', 'tier in (,")', 'a.b/c=x in (y'],
])('selector %s brings the servers that lists show with it', async (label_selector) => {
  const t = await testApp()
  const all = [{}, { env: 'prod' }, { env: 'test', tier: '' }, { env: 'prod', tier: '"' }, { 'a.b/c': 'x=y' }]
  const ids: string[] = []
  for (const labels of all) ids.push(await make(t, { labels }))
  await create(t, { label_selector })
  const listed = await t.call('GET', `/servers?label=${encodeURIComponent(label_selector)}`)
  const closed: string[] = []
  for (const id of ids) if (!(await isOpen(t, id, 22))) closed.push(id)
  expect(closed.sort()).toEqual(listed.body.items.map((item: { server_id: string }) => item.server_id).sort())
})

test('a server is created with firewalls, and closed from its first boot', async () => {
  const t = await testApp()
  const id = await create(t)
  const server = await make(t, { firewall_ids: [id] })
  expect([await isOpen(t, server, 22), await isOpen(t, server, 80)]).toEqual([false, true])
  expect((await t.call('GET', `/servers/${server}`)).body.status).toBe('running')
  expect((await t.call('GET', `/firewalls/${id}`)).body.server_ids).toEqual([server])
  for (const path of ['/servers', '/pricing/quote'])
    expect(
      issues(await t.call('POST', path, { ...(await order(t.call)), firewall_ids: [id, NOBODY] })),
    ).toEqual(['firewall_ids.1 not_found'])
})

test('an attached firewall cannot be deleted, and the deletion of its server detaches it', async () => {
  const t = await testApp()
  const server = await make(t, { labels: { env: 'prod' } })
  const [byId, byLabel] = [await create(t), await create(t, { label_selector: 'env' })]
  await attach(t, byId, server)
  for (const id of [byId, byLabel])
    expect(await t.call('DELETE', `/firewalls/${id}`)).toMatchObject({
      status: 409,
      body: { code: 'firewall_in_use' },
    })
  await t.call('DELETE', `/servers/${server}`)
  await t.finish()
  expect((await t.call('GET', `/firewalls/${byId}`)).body.server_ids).toEqual([])
  for (const id of [byId, byLabel]) expect((await t.call('DELETE', `/firewalls/${id}`)).status).toBe(204)
})

test('a server has five firewalls at most, whichever way it would get another', async () => {
  const t = await testApp()
  const server = await make(t)
  const ids = []
  for (let count = 0; count < 5; count++) ids.push(await create(t))
  for (const id of ids) await attach(t, id, server)
  const sixth = await create(t, { label_selector: 'more' })
  const refused = { status: 409, body: { code: 'firewall_limit_reached' } }
  expect(await attach(t, sixth, server)).toMatchObject(refused)
  expect(await t.call('PATCH', `/servers/${server}`, { labels: { more: '' } })).toMatchObject(refused)
  expect(await t.call('PATCH', `/firewalls/${sixth}`, { label_selector: '!other' })).toMatchObject(refused)
  expect(await t.call('POST', '/firewalls', { name: 'a', label_selector: '!other' })).toMatchObject(refused)
  expect((await t.call('GET', `/firewalls?server_id=${server}`)).body.total).toBe(5)
  const body = { ...(await order(t.call)), labels: { more: '' }, firewall_ids: ids }
  expect(await t.call('POST', '/servers', body)).toMatchObject(refused)
  expect((await t.call('POST', '/pricing/quote', body)).body.blockers).toMatchObject([
    { code: 'firewall_limit_reached' },
  ])
})

test('rules that say nothing are refused, each by its place', async () => {
  const t = await testApp()
  const rules = [
    { ...SSH, ports: '0' },
    { ...SSH, ports: '9000-8000' },
    { ...SSH, ports: '65536' },
    { ...SSH, protocol: 'icmp' },
    { ...SSH, cidrs: ['10.1.2.3/8', 'x'] },
    SSH,
  ]
  expect(issues(await t.call('POST', '/firewalls', { name: 'a', rules }))).toEqual([
    'rules.0.ports below_minimum',
    'rules.1.ports above_maximum',
    'rules.2.ports above_maximum',
    'rules.3.ports mutually_exclusive',
    'rules.4.cidrs.0 invalid_format',
    'rules.4.cidrs.1 invalid_format',
  ])
  const cidrs = Array.from({ length: 76 }, (_, at) => `2001:db8:1234:5678:9abc:def0:1234:${at}`)
  const many = Array.from({ length: 9 }, (_, at) => ({ ...SSH, ports: String(at + 1), cidrs }))
  expect(issues(await t.call('POST', '/firewalls', { name: 'a', rules: many }))).toEqual(['rules too_long'])
})

test('a firewall is attached to servers of its account only', async () => {
  const t = await testApp()
  const id = await create(t)
  expect(issues(await attach(t, id, await make(t), NOBODY))).toEqual(['server_ids.1 not_found'])
  expect((await t.call('DELETE', `/firewalls/${id}/servers/${NOBODY}`)).body.code).toBe('server_not_found')
})

test('a zone whose host has no firewalls reports that, and refuses them', async () => {
  const t = await testApp({ simulator: { host: { features: [] } } })
  const server = await make(t, { labels: { env: 'prod' } })
  const id = await create(t)
  const refused = { status: 409, body: { code: 'not_supported', feature: 'firewalls' } }
  expect(await attach(t, id, server)).toMatchObject(refused)
  expect(await t.call('PATCH', `/firewalls/${id}`, { label_selector: 'env' })).toMatchObject(refused)
  const body = { ...(await order(t.call)), firewall_ids: [id] }
  expect(await t.call('POST', '/servers', body)).toMatchObject(refused)
  expect((await t.call('POST', '/pricing/quote', body)).body.blockers).toMatchObject([
    { code: 'not_supported' },
  ])
})

test('a server with a firewall is not started where its host holds none any more, and says why', async () => {
  const host: { features: Feature[] } = { features: [...features] }
  const t = await testApp({ simulator: { host } })
  const server = await make(t)
  const id = await create(t)
  await attach(t, id, server)
  await t.call('POST', `/servers/${server}/stop`)
  await t.finish()
  host.features = []
  t.clock.advance(60_000)
  const start = () => t.call('POST', `/servers/${server}/start`)
  expect(await start()).toMatchObject({
    status: 409,
    body: { code: 'not_supported', feature: 'firewalls' },
  })
  // Firewalls of servers that start by themselves reach the driver.
  host.features = [...features]
  t.clock.advance(60_000)
  t.driver.failNext('start', new DriverError('unsupported', 'no network of guests'))
  const { operation_id } = (await start()).body
  await t.finish()
  expect((await t.call('GET', `/operations/${operation_id}`)).body.error).toMatchObject({
    code: 'not_supported',
    message: expect.stringContaining('Detach its firewalls'),
  })
  host.features = []
  t.clock.advance(60_000)
  await t.call('DELETE', `/firewalls/${id}/servers/${server}`)
  expect((await start()).status).toBe(202)
})

test('a change that the driver could not be told is told at the next look', async () => {
  const t = await testApp()
  const server = await make(t)
  t.driver.failNext('connect', new Error('no'))
  await attach(t, await create(t), server)
  await t.app.connectivity.settled()
  await t.app.reconciler.look()
  expect(await isOpen(t, server, 22)).toBe(false)
})

test('all changes to firewalls are events', async () => {
  const t = await testApp()
  const server = await make(t)
  const id = await create(t)
  await attach(t, id, server)
  await t.call('DELETE', `/firewalls/${id}/servers/${server}`)
  await t.call('DELETE', `/firewalls/${id}`)
  await t.app.events.relay()
  const { items } = (await t.call('GET', '/events?limit=100')).body
  const told = items.filter(({ type }: { type: string }) => type.startsWith('firewall.'))
  expect(
    told.map(({ type, data }: { type: string; data: { server_ids: string[] } }) => [
      type,
      data.server_ids.length,
    ]),
  ).toEqual([
    ['firewall.created', 0],
    ['firewall.updated', 1],
    ['firewall.updated', 0],
    ['firewall.deleted', 0],
  ])
})
