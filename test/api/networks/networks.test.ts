import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { issues, make, NOBODY, order } from '../harness/ordering.ts'

async function create(t: TestApp, ip_range = '10.1.0.0/24', name = 'backend'): Promise<string> {
  const reply = await t.call('POST', '/networks', { name, zone_slug: 'local-1', ip_range })
  expect(reply.status).toBe(201)
  return reply.body.network_id
}

const attach = (t: TestApp, id: string, body: object) => t.call('POST', `/networks/${id}/servers`, body)
const detach = (t: TestApp, id: string, server: string) =>
  t.call('DELETE', `/networks/${id}/servers/${server}`)

/** Attaches a server and waits until that is done. */
async function attached(t: TestApp, id: string, server_id: string, ipv4?: string): Promise<string> {
  const { status, body } = await attach(t, id, { server_id, ipv4 })
  expect([status, body.type, body.subject_type, body.subject_id, body.server_id]).toEqual([
    ...[202, 'attach_network', 'network', id, server_id],
  ])
  await t.finish()
  expect((await t.call('GET', `/operations/${body.operation_id}`)).body.status).toBe('succeeded')
  const { servers } = (await t.call('GET', `/networks/${id}`)).body
  return servers.find((one: { server_id: string }) => one.server_id === server_id).ipv4
}

test('a network is created, renamed, listed and deleted', async () => {
  const t = await testApp()
  const made = await t.call('POST', '/networks', {
    ...{ name: 'backend', zone_slug: 'local-1', ip_range: '10.1.0.0/24' },
  })
  expect(made).toMatchObject({
    status: 201,
    body: { name: 'backend', zone_slug: 'local-1', ip_range: '10.1.0.0/24', servers: [] },
  })
  const path = `/networks/${made.body.network_id}`
  expect(made.headers.location).toBe(`/v1${path}`)
  t.clock.advance(1000)
  const renamed = await t.call('PATCH', path, { name: 'database' })
  expect(renamed).toMatchObject({ status: 200, body: { name: 'database', ip_range: '10.1.0.0/24' } })
  expect(renamed.body.updated_at).not.toBe(made.body.updated_at)
  const second = await create(t)
  const list = (await t.call('GET', '/networks')).body
  expect(list.items.map((one: { network_id: string }) => one.network_id)).toEqual([
    second,
    made.body.network_id,
  ])
  expect((await t.call('DELETE', path)).status).toBe(204)
  expect((await t.call('GET', path)).body.code).toBe('network_not_found')
  const types = (await t.call('GET', '/events')).body.items.map(({ type }: { type: string }) => type)
  expect(types.filter((type: string) => type.startsWith('network.'))).toEqual([
    ...['network.created', 'network.updated', 'network.created', 'network.deleted'],
  ])
})

test('a range is private, aligned, of a usable size, and not in use for servers otherwise', async () => {
  const t = await testApp()
  for (const ip_range of [
    '10.0.0.0/8',
    '10.1.0.0/30',
    '10.1.2.3/24',
    '8.8.8.0/24',
    '10.64.0.0/16',
    'x',
    'fd00::/24',
  ]) {
    const reply = await t.call('POST', '/networks', { name: 'n', zone_slug: 'local-1', ip_range })
    expect([reply.status, issues(reply.body)]).toEqual([422, [['/ip_range', 'invalid_format']]])
  }
  const reply = await t.call('POST', '/networks', { name: 'n', zone_slug: 'mars', ip_range: '10.1.0.0/24' })
  expect(issues(reply.body)).toEqual([['/zone_slug', 'not_found']])
})

test('servers of one network reach each other, running or started later, and nobody else does', async () => {
  const t = await testApp()
  const [one, two, three] = [await make(t), await make(t), await make(t, { start_on_create: false })]
  const [mine, other] = [await create(t), await create(t)]
  expect(await attached(t, mine, one)).toBe('10.1.0.2')
  expect(await attached(t, mine, two, '10.1.0.9')).toBe('10.1.0.9')
  expect(await attached(t, other, three)).toBe('10.1.0.2')
  expect(t.driver.reaches(two, '10.1.0.2')).toBe(one)
  expect(t.driver.reaches(one, '10.1.0.9')).toBe(two)
  await t.call('POST', `/servers/${three}/start`)
  await t.finish()
  expect(t.driver.reaches(three, '10.1.0.9')).toBeNull()
  const [card] = t.driver.networkOf(one)?.cards ?? []
  expect(card).toMatchObject({ address: '10.1.0.2', prefixLength: 24 })
  expect((await t.call('GET', `/servers/${one}`)).body.networks).toEqual([
    { network_id: mine, ipv4: '10.1.0.2' },
  ])
  const { network } = (await t.call('GET', `/servers/${one}/details`)).body
  expect(network.private).toMatchObject([
    { network_id: mine, name: 'backend', ip_range: '10.1.0.0/24', ipv4: '10.1.0.2', prefix_length: 24 },
  ])
  expect(network.private[0].mac).toBe(card?.mac)
  expect(network.private[0].command).toContain(`grep -q ${card?.mac}`)

  const { body } = await detach(t, mine, one)
  expect(body).toMatchObject({ type: 'detach_network', subject_id: mine, server_id: one })
  await t.finish()
  expect((await t.call('GET', `/operations/${body.operation_id}`)).body.status).toBe('succeeded')
  expect(t.driver.reaches(two, '10.1.0.2')).toBeNull()
  expect((await t.call('GET', `/servers/${one}`)).body.networks).toEqual([])
})

test('networks of customers may have the same range, and are not the same', async () => {
  const t = await testApp()
  const stranger = t.callAs(
    await t.makeToken(['account:read', 'account:write', 'servers:read', 'servers:write'], {
      accountId: await t.makeAccount(),
    }),
  )
  const theirs = { ...t, call: stranger }
  const [mine, others] = [await create(t), await create(theirs)]
  const [one, two] = [await make(t), await make(theirs)]
  await attached(t, mine, one)
  await attached(theirs, others, two, '10.1.0.3')
  expect(t.driver.reaches(one, '10.1.0.3')).toBeNull()
  expect((await attach(t, mine, { server_id: two })).status).toBe(422)
  expect((await attach(t, others, { server_id: one })).body.code).toBe('network_not_found')
  expect((await detach(t, others, two)).body.code).toBe('server_not_found')
})

test('an address is in the range, not reserved, and belongs to one server', async () => {
  const t = await testApp()
  const id = await create(t, '10.1.0.248/29')
  const servers = [await make(t), await make(t)]
  for (const ipv4 of ['10.1.0.248', '10.1.0.249', '10.1.0.255', '10.1.1.1']) {
    const reply = await attach(t, id, { server_id: servers[0], ipv4 })
    expect([reply.status, issues(reply.body)]).toEqual([422, [['/ipv4', 'invalid_format']]])
  }
  await attached(t, id, servers[0] ?? '', '10.1.0.250')
  expect((await attach(t, id, { server_id: servers[1], ipv4: '10.1.0.250' })).body.code).toBe(
    'network_address_unavailable',
  )
  expect((await attach(t, id, { server_id: servers[0] })).body.code).toBe('network_attached')
  expect(await attached(t, id, servers[1] ?? '')).toBe('10.1.0.251')
})

test('a full network is reported, in orders and quotes too', async () => {
  const t = await testApp()
  const id = await create(t, '10.1.0.0/29')
  for (let at = 0; at < 5; at++) await make(t, { network_ids: [id] })
  const body = await order(t.call, { network_ids: [id] })
  const { blockers, can_create } = (await t.call('POST', '/pricing/quote', body)).body
  expect([can_create, blockers.map(({ code }: { code: string }) => code)]).toEqual([
    false,
    ['network_address_unavailable'],
  ])
  const refused = await t.call('POST', '/servers', body)
  expect(refused).toMatchObject({ status: 409, body: { code: 'network_address_unavailable' } })
  expect((await t.call('GET', '/servers')).body.total).toBe(5)
})

test('a server is in at most eight networks, and their ranges do not overlap', async () => {
  const t = await testApp()
  const id = await make(t)
  const wide = await create(t, '10.1.0.0/16')
  await attached(t, wide, id)
  const narrow = await create(t, '10.1.7.0/24')
  expect(issues((await attach(t, narrow, { server_id: id })).body)).toEqual([
    ['/server_id', 'mutually_exclusive'],
  ])
  const body = await order(t.call, { network_ids: [wide, narrow] })
  expect(issues((await t.call('POST', '/pricing/quote', body)).body)).toEqual([
    ['/network_ids/1', 'mutually_exclusive'],
  ])
  for (let at = 1; at < 8; at++) await attached(t, await create(t, `10.${at + 1}.0.0/24`), id)
  const ninth = await create(t, '192.168.0.0/24')
  expect(issues((await attach(t, ninth, { server_id: id })).body)).toEqual([['/server_id', 'above_maximum']])
  expect(t.driver.networkOf(id)?.cards).toHaveLength(8)
  const more = await t.call('POST', '/networks', { name: 'n', zone_slug: 'local-1', ip_range: '10.1.0.0/24' })
  expect(more).toMatchObject({
    status: 403,
    body: { code: 'quota_exceeded', quota: { limit: 10, used: 10 } },
  })
})

test('a server ordered with networks is in them from its first start', async () => {
  const t = await testApp()
  const [one, two] = [await create(t), await create(t, '10.2.0.0/24')]
  const first = await make(t, { network_ids: [one, two] })
  const second = await make(t, { network_ids: [two] })
  expect(t.driver.reaches(first, '10.2.0.3')).toBe(second)
  const wrong = await order(t.call, { network_ids: [one, NOBODY] })
  expect(issues((await t.call('POST', '/servers', wrong)).body)).toEqual([['/network_ids/1', 'not_found']])
})

test('a network with servers cannot be deleted, and one whose servers are deleted or detached can', async () => {
  const t = await testApp()
  const id = await create(t)
  const [one, two] = [await make(t), await make(t)]
  await attached(t, id, one)
  await attached(t, id, two)
  expect((await t.call('DELETE', `/networks/${id}`)).body.code).toBe('network_in_use')
  await t.call('DELETE', `/servers/${one}`)
  expect((await attach(t, id, { server_id: one })).body.code).toBe('operation_in_progress')
  await t.finish()
  expect((await t.call('GET', `/networks/${id}`)).body.servers).toMatchObject([{ server_id: two }])
  await detach(t, id, two)
  expect((await detach(t, id, two)).body.code).toBe('server_not_found')
  expect((await t.call('DELETE', `/networks/${id}`)).status).toBe(204)
  await t.finish()
  expect(t.driver.networkOf(two)?.cards).toEqual([])
})

test('one change of a network at a time', async () => {
  const t = await testApp()
  const id = await create(t)
  const [one, two] = [await make(t), await make(t)]
  const { operation_id } = (await attach(t, id, { server_id: one })).body
  expect(await attach(t, id, { server_id: two })).toMatchObject({
    status: 409,
    body: { code: 'operation_in_progress', operation_id },
  })
  expect((await detach(t, id, one)).body.operation_id).toBe(operation_id)
  await t.finish()
  expect((await detach(t, id, one)).status).toBe(202)
})

test('a running server gets its address at once, or when it boots if its agent is silent', async () => {
  const t = await testApp()
  const [one, two, off] = [await make(t), await make(t), await make(t, { start_on_create: false })]
  const network = await create(t)
  t.driver.failNext('setAddress', new DriverError('unavailable', 'it has not found the card yet'))
  await attached(t, network, one)
  expect(t.driver.guestOf(one).addresses).toEqual(['10.1.0.2'])
  for (let asked = 0; asked < 100; asked++)
    t.driver.failNext('setAddress', new DriverError('unavailable', 'silence'))
  expect(await attached(t, network, two)).toBe('10.1.0.3')
  expect(t.driver.guestOf(two).addresses).toBeUndefined()
  expect(await attached(t, network, off)).toBe('10.1.0.4')
  expect(t.driver.guestOf(off).addresses).toBeUndefined()
})

test('a server that cannot get a card while it runs is not attached, and its address is free again', async () => {
  const t = await testApp()
  const id = await create(t)
  const server_id = await make(t)
  t.driver.failNext('connect', new DriverError('unsupported', 'no slot'))
  const { operation_id } = (await attach(t, id, { server_id })).body
  await t.finish()
  const { body } = await t.call('GET', `/operations/${operation_id}`)
  expect(body).toMatchObject({ status: 'failed', error: { code: 'not_supported' } })
  expect((await t.call('GET', `/networks/${id}`)).body.servers).toEqual([])
  expect((await t.call('GET', `/servers/${server_id}`)).body.networks).toEqual([])
})

test('a zone without private networks refuses them by name', async () => {
  const t = await testApp({ simulator: { host: { features: ['published_ports'] } } })
  const reply = await t.call('POST', '/networks', {
    ...{ name: 'n', zone_slug: 'local-1', ip_range: '10.1.0.0/24' },
  })
  expect(reply).toMatchObject({ status: 409, body: { code: 'not_supported', feature: 'private_networks' } })
  expect(reply.body.detail).toMatch(/^The zone \S+ does not support private_networks, but only /)
})

test('a suspended server is cut off from its networks too, and returns once its account has paid', async () => {
  const t = await testApp()
  const id = await create(t)
  const [one, two] = [await make(t), await make(t)]
  await attached(t, id, one)
  await attached(t, id, two)
  const network = t.driver.networkOf(one)
  if (!network) throw new Error('it is connected')
  await t.driver.connect(new Map([[one, { ...network, isCut: true }]]))
  expect(t.driver.reaches(two, '10.1.0.2')).toBeNull()
  await t.app.reconciler.look()
  expect(t.driver.reaches(two, '10.1.0.2')).toBe(one)
})

test('a change that did not reach the driver is repeated by the reconciler, and before the next start', async () => {
  const t = await testApp()
  const id = await create(t)
  const server_id = await make(t)
  await attached(t, id, server_id)
  const network = t.driver.networkOf(server_id)
  if (!network) throw new Error('it is connected')
  await t.driver.connect(new Map([[server_id, { ...network, cards: [] }]]))
  await t.app.reconciler.look()
  expect(t.driver.networkOf(server_id)?.cards).toHaveLength(1)
})

test('networks are listed by a server that is in them', async () => {
  const t = await testApp()
  const [one] = [await create(t), await create(t, '10.2.0.0/24', 'other')]
  const server = await make(t)
  await attached(t, one, server)
  const { body } = await t.call('GET', `/networks?server_id=${server}`)
  expect(body).toMatchObject({ total: 1, items: [{ network_id: one }] })
  expect((await t.call('GET', `/networks?server_id=${NOBODY}`)).body.total).toBe(0)
})

test.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')(
  'a server that comes into a network and one that goes do not wait for each other',
  async () => {
    const t = await testApp()
    const network = await create(t)
    const going = await make(t, { network_ids: [network] })
    const body = await order(t.call, { network_ids: [network] })
    const [isHeld, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // Somebody has the network for a while, so that both come to where they lock it.
    const holding = t.db.transaction().execute(async (tx) => {
      await tx.updateTable('networks').set({ name: 'held' }).execute()
      isHeld.resolve()
      await isOver.promise
    })
    await isHeld.promise
    const waiting = async () => {
      const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`.execute(t.db)
      return rows[0]?.n
    }
    await t.call('DELETE', `/servers/${going}`)
    const gone = t.finish()
    await expect.poll(waiting).toBeGreaterThanOrEqual(1)
    const coming = t.call('POST', '/servers', body)
    await expect.poll(waiting).toBeGreaterThanOrEqual(2)
    isOver.resolve()
    expect((await coming).status).toBe(202)
    await Promise.all([gone, holding])
    await t.finish()
    expect((await t.call('GET', `/networks/${network}`)).body.servers).toHaveLength(1)
  },
)
