import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { issues, make, NOBODY, order } from '../harness/ordering.ts'

/** Publishes a port of a server. */
function publish(t: TestApp, id: string, body: object) {
  return t.call('POST', `/servers/${id}/ports`, body)
}

async function publishedOf(
  t: TestApp,
  id: string,
): Promise<{ port_id: string; port: number; host_port: number; status: string }[]> {
  return (await t.call('GET', `/servers/${id}/ports`)).body.items
}

test('the port for SSH is the first published port of a server, and cannot be deleted', async () => {
  const t = await testApp()
  const id = await make(t)
  const { ssh } = (await t.call('GET', `/servers/${id}`)).body
  const list = (await t.call('GET', `/servers/${id}/ports`)).body
  expect(list).toMatchObject({
    total: 1,
    items: [
      { server_id: id, protocol: 'tcp', port: 22, host_port: ssh.port, host: ssh.host, is_system: true },
    ],
  })
  const reply = await t.call('DELETE', `/servers/${id}/ports/${list.items[0].port_id}`)
  expect(reply).toMatchObject({ status: 409, body: { code: 'port_is_system' } })
})

test('a port is published under a free host port, or under the one that was wanted', async () => {
  const t = await testApp()
  const id = await make(t)
  const web = await publish(t, id, { protocol: 'tcp', port: 80 })
  expect(web).toMatchObject({
    status: 201,
    body: { server_id: id, protocol: 'tcp', port: 80, host: '127.0.0.1', is_system: false },
  })
  expect(web.body.host_port).toBeGreaterThanOrEqual(22000)
  expect(web.body.host_port).toBeLessThanOrEqual(22999)
  const free = [22555, 22556].find((port) => port !== web.body.host_port) ?? 0
  const dns = await publish(t, id, { protocol: 'udp', port: 53, host_port: free })
  expect(dns).toMatchObject({ status: 201, body: { protocol: 'udp', port: 53, host_port: free } })
  expect((await publishedOf(t, id)).map(({ port }) => port)).toEqual([53, 80, 22])
})

test('a host port leads to one server, for each protocol', async () => {
  const t = await testApp()
  const [one, other] = [await make(t), await make(t)]
  const { host_port } = (await publish(t, one, { protocol: 'tcp', port: 80 })).body
  const refused = await publish(t, other, { protocol: 'tcp', port: 80, host_port })
  expect(refused).toMatchObject({ status: 409, body: { code: 'port_taken' } })
  expect(refused.body.detail).toContain(String(host_port))
  expect((await publish(t, other, { protocol: 'udp', port: 80, host_port })).status).toBe(201)
  const { ssh } = (await t.call('GET', `/servers/${one}`)).body
  const onSsh = await publish(t, other, { protocol: 'tcp', port: 80, host_port: ssh.port })
  expect(onSsh).toMatchObject({ status: 409, body: { code: 'port_taken' } })
})

test('a host port is from the range of the installation', async () => {
  const t = await testApp()
  const id = await make(t)
  for (const [host_port, code] of [
    [21999, 'below_minimum'],
    [23000, 'above_maximum'],
    [0, 'below_minimum'],
    [65536, 'above_maximum'],
  ] as const) {
    const reply = await publish(t, id, { protocol: 'tcp', port: 80, host_port })
    expect([reply.status, issues(reply.body)]).toEqual([422, [['/host_port', code]]])
  }
})

test('a port that is no longer published is free for others', async () => {
  const t = await testApp()
  const [one, other] = [await make(t), await make(t)]
  const { port_id, host_port } = (await publish(t, one, { protocol: 'tcp', port: 80 })).body
  expect((await t.call('DELETE', `/servers/${other}/ports/${port_id}`)).status).toBe(404)
  expect((await t.call('DELETE', `/servers/${one}/ports/${port_id}`)).status).toBe(204)
  expect((await t.call('DELETE', `/servers/${one}/ports/${port_id}`)).body.code).toBe('port_not_found')
  expect((await publish(t, other, { protocol: 'tcp', port: 443, host_port })).status).toBe(201)
})

test('where ports of a server that runs are fixed, what is published and deleted waits for its next start, and says so', async () => {
  const t = await testApp({ simulator: { hasFixedPorts: true } })
  const [id, other] = [await make(t, { published_ports: [{ protocol: 'tcp', port: 80 }] }), await make(t)]
  const statuses = async () => (await publishedOf(t, id)).map(({ port, status }) => `${port} ${status}`)
  const led = () => t.driver.networkOf(id)?.ports.map(({ port }) => port)
  const [{ port_id, host_port } = { port_id: '', host_port: 0 }] = await publishedOf(t, id)
  expect((await publish(t, id, { protocol: 'tcp', port: 443 })).body.status).toBe('pending')
  const short = (await publish(t, id, { protocol: 'tcp', port: 25 })).body
  for (const gone of [port_id, port_id, short.port_id])
    expect((await t.call('DELETE', `/servers/${id}/ports/${gone}`)).status).toBe(204)
  expect(await statuses()).toEqual(['443 pending', '80 closing', '22 active'])
  const told = (await t.call('GET', '/events?limit=100')).body.items
  expect(told.filter(({ type }: { type: string }) => type === 'port.deleted')).toHaveLength(2)
  // The server has it as long as it runs.
  expect((await publish(t, other, { protocol: 'tcp', port: 80, host_port })).body.code).toBe('port_taken')
  await t.call('POST', `/servers/${id}/reboot`, { force: true })
  await t.finish()
  expect(await statuses()).toEqual(['443 pending', '80 closing', '22 active'])
  for (const action of ['stop', 'start']) {
    await t.call('POST', `/servers/${id}/${action}`)
    await t.finish()
  }
  expect(await statuses()).toEqual(['443 active', '22 active'])
  expect(led()).toEqual([22, 443])
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  expect((await publish(t, id, { protocol: 'tcp', port: 8080 })).body.status).toBe('active')
})

test('a server that is deleted gives its ports back', async () => {
  const t = await testApp()
  const [one, other] = [await make(t), await make(t)]
  const { host_port } = (await publish(t, one, { protocol: 'tcp', port: 80 })).body
  await t.call('DELETE', `/servers/${one}`)
  expect(await publish(t, one, { protocol: 'tcp', port: 81 })).toMatchObject({
    status: 409,
    body: { code: 'operation_in_progress' },
  })
  await t.finish()
  expect((await publish(t, other, { protocol: 'tcp', port: 80, host_port })).status).toBe(201)
  expect((await t.call('GET', '/account/me')).body.quotas.ports).toEqual({ limit: 20, used: 1 })
})

test('a zone says what its engine can do, and refuses the rest by name', async () => {
  const t = await testApp({ simulator: { host: { features: [] } } })
  const id = await make(t)
  const [zone] = (await t.call('GET', '/zones')).body
  expect(zone.features).toEqual([])
  expect((await t.call('GET', `/servers/${id}/details`)).body.zone).toEqual(zone)
  expect(await publish(t, id, { protocol: 'tcp', port: 80 })).toMatchObject({
    status: 409,
    body: { code: 'not_supported', feature: 'published_ports' },
  })
  expect(await publishedOf(t, id)).toMatchObject([{ port: 22 }])
})

test('a quote says that no SSH port is left, as an order then fails', async () => {
  const t = await testApp({ sshPorts: { first: 22000, last: 22000 } })
  const body = await order(t.call)
  expect((await t.call('POST', '/servers', body)).status).toBe(202)
  const quote = (await t.call('POST', '/pricing/quote', body)).body
  expect(quote).toMatchObject({ can_create: false, blockers: [{ code: 'capacity_unavailable' }] })
  const reply = await t.call('POST', '/servers', body)
  expect(reply).toMatchObject({ status: 409, body: { code: 'capacity_unavailable' } })
})

test('an order names the ports to publish from the start, and the quote says what stands in their way', async () => {
  const t = await testApp()
  const published_ports = [
    { protocol: 'tcp', port: 80 },
    { protocol: 'udp', port: 53 },
  ]
  const body = await order(t.call, { published_ports })
  expect((await t.call('POST', '/pricing/quote', body)).body.blockers).toEqual([])
  const { server_id } = (await t.call('POST', '/servers', body)).body
  await t.finish()
  expect(await publishedOf(t, server_id)).toMatchObject([{ port: 53 }, { port: 80 }, { port: 22 }])
  expect(
    t.driver
      .networkOf(server_id)
      ?.ports.map(({ port }) => port)
      .sort(),
  ).toEqual([22, 53, 80])
  const { network } = (await t.call('GET', `/servers/${server_id}/details`)).body
  expect(network).toMatchObject({
    resolvers: ['10.64.0.1'],
    published_ports: await publishedOf(t, server_id),
  })

  await t.db.updateTable('accounts').set({ quotas: '{"ports":3}' }).execute()
  const refused = await t.call('POST', '/servers', body)
  expect([refused.status, refused.body.code]).toEqual([403, 'quota_exceeded'])
  expect(refused.body.quota).toEqual({ name: 'ports', limit: 3, used: 2, requested: 2 })
  expect((await t.call('POST', '/pricing/quote', body)).body.blockers).toMatchObject([
    { code: 'quota_exceeded' },
  ])
})

test('an order whose ports are unavailable creates nothing', async () => {
  const narrow = await testApp({ sshPorts: { first: 22000, last: 22001 } })
  const body = await order(narrow.call, {
    published_ports: [
      { protocol: 'tcp', port: 80 },
      { protocol: 'tcp', port: 443 },
    ],
  })
  const bare = await testApp({ simulator: { host: { features: [] } } })
  for (const [t, code] of [
    [narrow, 'port_taken'],
    [bare, 'not_supported'],
  ] as const) {
    const refused = await t.call('POST', '/servers', body)
    expect([refused.status, refused.body.code]).toEqual([409, code])
    expect((await t.call('POST', '/pricing/quote', body)).body.blockers).toMatchObject([{ code }])
    expect((await t.call('GET', '/servers')).body.total).toBe(0)
  }
})

test('the quota of ports counts what is published, and not SSH', async () => {
  const t = await testApp()
  const id = await make(t)
  for (let port = 1; port <= 20; port++)
    expect((await publish(t, id, { protocol: 'tcp', port })).status).toBe(201)
  expect(await publish(t, id, { protocol: 'udp', port: 21 })).toMatchObject({
    status: 403,
    body: { code: 'quota_exceeded', quota: { name: 'ports', limit: 20, used: 20, requested: 1 } },
  })
})

test('published ports leave half of the range to the SSH of new servers', async () => {
  const t = await testApp({ sshPorts: { first: 22000, last: 22005 } })
  const id = await make(t)
  for (const port of [1, 2, 3]) expect((await publish(t, id, { protocol: 'tcp', port })).status).toBe(201)
  expect(await publish(t, id, { protocol: 'tcp', port: 4 })).toMatchObject({
    status: 409,
    body: { code: 'port_taken' },
  })
  await make(t)
})

test('if two customers want the same host port at the same moment, one gets it', async () => {
  const t = await testApp()
  const ids = [await make(t), await make(t), await make(t)]
  // The ports for SSH are TCP, so chance has given this one to none of them.
  const replies = await Promise.all(
    ids.map((id) => publish(t, id, { protocol: 'udp', port: 80, host_port: 22100 })),
  )
  expect(replies.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1)
})

test('a repeat with its idempotency key publishes nothing twice', async () => {
  const t = await testApp()
  const id = await make(t)
  const key = { 'idempotency-key': 'web' }
  const first = await t.call('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 80 }, key)
  const again = await t.call('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 80 }, key)
  expect(again.body).toEqual(first.body)
  expect(await publishedOf(t, id)).toHaveLength(2)
})

test('another account neither sees nor changes what is published', async () => {
  const t = await testApp()
  const id = await make(t)
  const { port_id } = (await publish(t, id, { protocol: 'tcp', port: 80 })).body
  const accountId = await t.makeAccount()
  const stranger = t.callAs(await t.makeToken(['servers:read', 'servers:write'], { accountId }))
  for (const reply of [
    await stranger('GET', `/servers/${id}/ports`),
    await stranger('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 81 }),
    await stranger('GET', `/servers/${NOBODY}/ports`),
  ])
    expect(reply).toMatchObject({ status: 404, body: { code: 'server_not_found' } })
  expect((await stranger('DELETE', `/servers/${id}/ports/${port_id}`)).body.code).toBe('port_not_found')
  expect(await publishedOf(t, id)).toHaveLength(2)
})

test('events tell of what is published and of what no longer is', async () => {
  const t = await testApp()
  const id = await make(t)
  const { body: port } = await publish(t, id, { protocol: 'tcp', port: 80 })
  await t.call('DELETE', `/servers/${id}/ports/${port.port_id}`)
  await t.work()
  const { items } = (await t.call('GET', '/events')).body
  const told = items.filter(({ type }: { type: string }) => type.startsWith('port.'))
  expect(told.map(({ type, data }: { type: string; data: object }) => [type, data])).toEqual([
    ['port.created', port],
    ['port.deleted', port],
  ])
})

test('the driver is told within the moment what is published, while a server runs and before it starts', async () => {
  const t = await testApp()
  const id = await make(t)
  const portsOf = () => t.driver.networkOf(id)?.ports.map(({ port }) => port)
  const { port_id } = (await publish(t, id, { protocol: 'tcp', port: 80 })).body
  await t.work()
  expect(portsOf()).toEqual([22, 80])
  await t.call('DELETE', `/servers/${id}/ports/${port_id}`)
  await t.work()
  expect(portsOf()).toEqual([22])
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  await publish(t, id, { protocol: 'udp', port: 53 })
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  expect(portsOf()).toEqual([22, 53])
})

test('a change of ports that failed in the driver is applied at the reconciler’s next look', async () => {
  const t = await testApp()
  const id = await make(t)
  t.driver.failNext('connect', new DriverError('unavailable', 'a test'))
  expect((await publish(t, id, { protocol: 'tcp', port: 80 })).status).toBe(201)
  await t.work()
  expect(t.driver.networkOf(id)?.ports).toHaveLength(1)
  await t.app.reconciler.look()
  expect(t.driver.networkOf(id)?.ports).toHaveLength(2)
})
