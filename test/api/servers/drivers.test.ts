import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { order } from '../harness/ordering.ts'

/** The catalogue with a second zone, which another driver serves. */
function withOther(driver = 'driver: qemu'): string {
  const zone = /^ {2}- zone_slug: local-1\n(?: {4}.*\n)+/m.exec(catalogText)?.[0] ?? ''
  const prices = /^ {2}- \{\n {6}active_from(?:.*\n)+? {4}\}\n/gm
  const more = [...catalogText.matchAll(prices)].map(([entry]) => entry.replace('local-1', 'other-1'))
  return catalogText
    .replace(zone, `${zone}${zone.replace('local-1', 'other-1')}    ${driver}\n`)
    .replace('prices:\n', `prices:\n${more.join('')}`)
}

async function sideBySide(options: Parameters<typeof testApp>[0] = {}) {
  const catalog = new LiveCatalog(parseCatalog(withOther(), 'catalog.yaml'))
  const t = await testApp({ hasOther: true, catalog, ...options })
  const here = await order(t.call)
  return { t, catalog, here, there: { ...here, zone_slug: 'other-1' } }
}

async function make(t: TestApp, body: object): Promise<string> {
  const reply = await t.call('POST', '/servers', body)
  expect(reply.status).toBe(202)
  await t.finish()
  expect((await t.call('GET', `/servers/${reply.body.server_id}`)).body.status).toBe('running')
  return reply.body.server_id
}

const machines = async (t: TestApp) => [
  [...(await t.driver.list()).keys()],
  [...(await t.other.list()).keys()],
]

/** Whether anything can be had, by zone. */
async function room(t: TestApp): Promise<Record<string, boolean>> {
  const { body } = await t.call('GET', '/zones')
  return Object.fromEntries(
    body.map((zone: { zone_slug: string; is_available: boolean }) => [zone.zone_slug, zone.is_available]),
  )
}

const down = () => Promise.reject(new DriverError('unavailable', 'the driver is down'))

test('a zone says which driver runs its servers, and each has room of its own', async () => {
  const { t, here, there } = await sideBySide({
    simulator: { host: { cores: 1, ramMb: 600, diskGb: 1_000 } },
  })
  const [one, two] = [await make(t, here), await make(t, there)]
  expect(await machines(t)).toEqual([[one], [two]])
  expect(await room(t)).toEqual({ 'local-1': false, 'other-1': true })
  const refused = await t.call('POST', '/servers', here)
  expect([refused.status, refused.body.code]).toEqual([409, 'capacity_unavailable'])
  expect(refused.body.alternatives).toContainEqual({ zone_slug: 'other-1', cpu_type: 'amd' })
  await t.call('DELETE', `/servers/${one}`)
  await t.finish()
  expect(await room(t)).toEqual({ 'local-1': true, 'other-1': true })
  const used = await t.db.selectFrom('pool_usage').select(['pool', 'cpu']).orderBy('pool').execute()
  expect(used).toEqual([
    { pool: 'qemu', cpu: 1 },
    { pool: 'simulator', cpu: 0 },
  ])
})

test('zones with one driver share its room, also where one names it and the other does not', async () => {
  const catalog = parseCatalog(withOther('driver: simulator'), 'catalog.yaml')
  const { t, here, there } = await sideBySide({
    catalog,
    simulator: { host: { cores: 1, ramMb: 600, diskGb: 1_000 } },
  })
  await make(t, there)
  const refused = await t.call('POST', '/servers', here)
  expect([refused.status, refused.body.code]).toEqual([409, 'capacity_unavailable'])
  expect((await machines(t))[1]).toEqual([])
})

test('a driver that is down closes its own zones only, and health says which it is', async () => {
  const { t, here, there } = await sideBySide()
  const [one, two] = [await make(t, here), await make(t, there)]
  const works = { host: t.other.host, list: t.other.list, measure: t.other.measure, inspect: t.other.inspect }
  Object.assign(t.other, { host: down, list: down, measure: down, inspect: down })
  t.clock.advance(10_000)

  expect(await room(t)).toEqual({ 'local-1': true, 'other-1': false })
  const refused = await t.call('POST', '/servers', there)
  expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([
    503,
    'backend_unavailable',
    '10',
  ])
  const three = await make(t, here)
  const health = await t.app.http.inject({ method: 'GET', url: '/readyz' })
  const checks = { database: 'ok', compute: 'ok', compute_qemu: 'failed' }
  expect([health.statusCode, health.json()]).toEqual([200, { status: 'ok', checks }])

  t.driver.turnsOffByItself(one, 'guest_shutdown')
  await t.app.reconciler.look()
  await t.app.sampler.round()
  const status = async (id: string) => (await t.call('GET', `/servers/${id}`)).body.status
  expect([await status(one), await status(two), await status(three)]).toEqual([
    'stopped',
    'running',
    'running',
  ])
  expect(await t.app.reconciler.orphans()).toEqual([])
  const sampled = await t.db.selectFrom('meters').select('server_id').execute()
  expect(sampled.map(({ server_id }) => server_id)).toEqual([three])
  expect((await t.call('GET', `/servers/${two}/details`)).status).toBe(200)

  // Requests to the driver that is down do not delay the others.
  expect((await t.call('POST', `/servers/${two}/stop`)).status).toBe(202)
  expect((await t.call('POST', `/servers/${three}/stop`)).status).toBe(202)
  for (let seconds = 0; seconds < 10; seconds++) {
    await t.work()
    t.clock.advance(1_000)
  }
  expect(await status(three)).toBe('stopped')

  Object.assign(t.other, works)
  await t.finish()
  expect(await t.other.inspect(two)).toMatchObject({ power: 'stopped' })
  expect(await room(t)).toEqual({ 'local-1': true, 'other-1': true })
})

test('a server stays with its driver when its zone is given another, or is taken off', async () => {
  const { t, catalog, there } = await sideBySide()
  const id = await make(t, there)
  catalog.replace(parseCatalog(withOther('driver: simulator'), 'catalog.yaml'))
  const next = await make(t, there)
  expect(await machines(t)).toEqual([[next], [id]])
  await t.app.reconciler.look()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
  catalog.replace(parseCatalog(catalogText, 'catalog.yaml'))
  expect((await t.call('DELETE', `/servers/${id}`)).status).toBe(202)
  await t.finish()
  expect(await machines(t)).toEqual([[next], []])
  const used = await t.db.selectFrom('pool_usage').select('cpu').where('pool', '=', 'qemu').execute()
  expect(used).toEqual([{ cpu: 0 }])
})

test('servers of different drivers never get one port', async () => {
  const { t, here, there } = await sideBySide({ sshPorts: { first: 22000, last: 22005 } })
  const accounts = await Promise.all(
    Array.from({ length: 8 }, async () =>
      t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() })),
    ),
  )
  const replies = await Promise.all(
    accounts.map((call, at) => call('POST', '/servers', at % 2 ? here : there)),
  )
  const codes = replies.map(({ status, body }) => (status === 202 ? 202 : body.code))
  expect(codes.sort()).toEqual([...Array(6).fill(202), ...Array(2).fill('capacity_unavailable')])
})

test('a zone whose driver is not open sells nothing, and no other driver takes its place', async () => {
  const catalog = parseCatalog(withOther(), 'catalog.yaml')
  const t = await testApp({ catalog })
  expect(await room(t)).toEqual({ 'local-1': true, 'other-1': false })
  const body = { ...(await order(t.call)), zone_slug: 'other-1' }
  expect((await t.call('POST', '/servers', body)).body.code).toBe('capacity_unavailable')
  expect((await t.driver.list()).size).toBe(0)
})

test('orders and deletions of servers continue once their host answers again', async () => {
  const { t, there } = await sideBySide()
  const one = await make(t, there)
  const works = { image: t.other.image, inspect: t.other.inspect, destroy: t.other.destroy }
  Object.assign(t.other, { image: down, inspect: down, destroy: down })
  const two = (await t.call('POST', '/servers', there)).body.server_id
  expect((await t.call('DELETE', `/servers/${one}`)).status).toBe(202)
  for (let seconds = 0; seconds < 120; seconds += 5) {
    await t.work()
    t.clock.advance(5_000)
  }
  const status = async (id: string) => (await t.call('GET', `/servers/${id}`)).body.status
  expect([await status(one), await status(two)]).toEqual(['deleting', 'creating'])
  Object.assign(t.other, works)
  await t.finish()
  expect([(await t.call('GET', `/servers/${one}`)).status, await status(two)]).toEqual([404, 'running'])
})

test('a driver that is slow to learn of its networks holds up neither the other one nor a look at its machines', async () => {
  const { t, here, there } = await sideBySide()
  const [one, two] = [await make(t, here), await make(t, there)]
  const connect = t.other.connect.bind(t.other)
  const slow = Promise.withResolvers<void>()
  t.other.connect = async (networks) => {
    await slow.promise
    return connect(networks)
  }
  const publish = async (id: string) =>
    (await t.call('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 80 })).status
  expect([await publish(two), await publish(one)]).toEqual([201, 201])
  const toldOf = (driver: TestApp['driver'], id: string) =>
    driver.networkOf(id)?.ports.map(({ port }) => port)
  await expect.poll(() => toldOf(t.driver, one)).toContain(80)
  expect(toldOf(t.other, two)).not.toContain(80)

  t.driver.turnsOffByItself(one, 'guest_shutdown')
  const looking = t.app.reconciler.look()
  await expect.poll(async () => (await t.call('GET', `/servers/${one}`)).body.status).toBe('stopped')
  slow.resolve()
  await looking
  expect(toldOf(t.other, two)).toContain(80)
})
