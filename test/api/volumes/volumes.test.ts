import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { Engine } from '../../../api/operations/engine.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { volumeProcedures } from '../../../api/volumes/procedures.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { issues, make } from '../harness/ordering.ts'

async function create(t: TestApp, size_gb = 10, name = 'data'): Promise<string> {
  const reply = await t.call('POST', '/volumes', { name, zone_slug: 'local-1', size_gb })
  expect([reply.status, reply.body.code]).toEqual([201, undefined])
  return reply.body.volume_id
}

const shown = async (t: TestApp, id: string) => (await t.call('GET', `/volumes/${id}`)).body

/** Sends a request that begins an operation, and waits for its end. */
async function carriedOut(t: TestApp, method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) {
  const reply = await t.call(method, path, body)
  expect([reply.status, reply.body.code]).toEqual([202, undefined])
  await t.finish()
  return (await t.call('GET', `/operations/${reply.body.operation_id}`)).body
}
const attach = (t: TestApp, id: string, server_id: string) =>
  carriedOut(t, 'POST', `/volumes/${id}/attach`, { server_id })
const detach = (t: TestApp, id: string) => carriedOut(t, 'POST', `/volumes/${id}/detach`)
const holder = async (t: TestApp, id: string) => (await t.driver.listVolumes()).get(id)

test('a volume is created, renamed, listed and deleted', async () => {
  const t = await testApp()
  const made = await t.call('POST', '/volumes', { name: 'data', zone_slug: 'local-1', size_gb: 10 })
  expect(made).toMatchObject({
    status: 201,
    body: { name: 'data', size_gb: 10, status: 'available', server_id: null, device: null },
  })
  const path = `/volumes/${made.body.volume_id}`
  expect(made.headers.location).toBe(`/v1${path}`)
  expect(await t.call('PATCH', path, { name: 'media' })).toMatchObject({
    status: 200,
    body: { name: 'media', size_gb: 10 },
  })
  const second = await create(t)
  const list = (await t.call('GET', '/volumes')).body.items
  expect(list.map((one: { volume_id: string }) => one.volume_id)).toEqual([second, made.body.volume_id])
  expect(await carriedOut(t, 'DELETE', path)).toMatchObject({ type: 'delete_volume', status: 'succeeded' })
  expect((await t.call('GET', path)).body.code).toBe('volume_not_found')
  const types = (await t.call('GET', '/events')).body.items.map(({ type }: { type: string }) => type)
  expect(types.filter((type: string) => type.startsWith('volume.'))).toEqual([
    ...['volume.created', 'volume.updated', 'volume.created', 'volume.updated', 'volume.deleted'],
  ])
})

test('a volume moves between two running servers, and each finds it at the same path', async () => {
  const t = await testApp()
  const [one, two] = [await make(t), await make(t)]
  const id = await create(t)
  expect(await attach(t, id, one)).toMatchObject({
    ...{ type: 'attach_volume', subject_type: 'volume', subject_id: id, server_id: one, status: 'succeeded' },
  })
  const { device, ...attached } = await shown(t, id)
  expect(attached).toMatchObject({ status: 'attached', server_id: one })
  expect(device).toBe(`/dev/disk/by-id/scsi-0BERTH_Volume_${id.replaceAll('-', '')}`)
  expect(await holder(t, id)).toBe(one)
  const refused = await t.call('POST', `/volumes/${id}/attach`, { server_id: two })
  expect([refused.status, refused.body.code]).toEqual([409, 'volume_in_use'])
  expect((await t.call('DELETE', `/volumes/${id}`)).body.code).toBe('volume_in_use')
  await detach(t, id)
  expect(await shown(t, id)).toMatchObject({ status: 'available', server_id: null, device: null })
  expect(await holder(t, id)).toBeNull()
  expect((await t.call('POST', `/volumes/${id}/detach`)).body.code).toBe('volume_detached')
  await attach(t, id, two)
  expect(await shown(t, id)).toMatchObject({ status: 'attached', server_id: two, device })
  expect(await holder(t, id)).toBe(two)
  const ofServer = async (server: string) => (await t.call('GET', `/volumes?server_id=${server}`)).body.total
  expect([await ofServer(one), await ofServer(two)]).toEqual([0, 1])
})

test('a volume stays attached when its server is rebuilt, and is detached when its server is deleted', async () => {
  const t = await testApp()
  const server = await make(t)
  const id = await create(t)
  await attach(t, id, server)
  await carriedOut(t, 'POST', `/servers/${server}/rebuild`, { template: 'debian-12' })
  expect(await holder(t, id)).toBe(server)
  await t.call('DELETE', `/servers/${server}`)
  await t.finish()
  expect(await shown(t, id)).toMatchObject({ status: 'available', server_id: null, device: null })
  expect(await holder(t, id)).toBeNull()
  await attach(t, id, await make(t))
})

test('a volume grows while it is attached, and never shrinks', async () => {
  const t = await testApp()
  const id = await create(t)
  await attach(t, id, await make(t))
  const grown = await carriedOut(t, 'PATCH', `/volumes/${id}`, { size_gb: 20, name: 'large' })
  expect(grown).toMatchObject({ type: 'resize_volume', status: 'succeeded' })
  expect(await t.driver.sizeOfVolume(id)).toBe(20)
  expect(await shown(t, id)).toMatchObject({ name: 'large', size_gb: 20, status: 'attached' })
  const smaller = await t.call('PATCH', `/volumes/${id}`, { size_gb: 15 })
  expect([smaller.status, issues(smaller.body)]).toEqual([422, [['/size_gb', 'below_minimum']]])
  expect((await t.call('PATCH', `/volumes/${id}`, { size_gb: 20 })).status).toBe(200)
})

test('a volume that could not be grown returns to its earlier size, price and disk space', async () => {
  const t = await testApp()
  const id = await create(t)
  const before = await shown(t, id)
  const room = () => t.db.selectFrom('pool_usage').select('disk_gb').executeTakeFirstOrThrow()
  expect((await room()).disk_gb).toBe(10)
  t.driver.failNext('volume', new DriverError('unsupported', 'not this one'))
  const failed = await carriedOut(t, 'PATCH', `/volumes/${id}`, { size_gb: 20 })
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'not_supported' } })
  const { updated_at: _, ...after } = await shown(t, id)
  expect(before).toMatchObject(after)
  expect((await room()).disk_gb).toBe(10)
  await carriedOut(t, 'DELETE', `/volumes/${id}`)
  expect((await room()).disk_gb).toBe(0)
})

test('a volume that could not be attached is available again', async () => {
  const t = await testApp()
  const server = await make(t)
  const id = await create(t)
  t.driver.failNext('attachVolume', new DriverError('unsupported', 'until its next start'))
  expect(await attach(t, id, server)).toMatchObject({
    status: 'failed',
    error: { code: 'not_supported', message: expect.stringContaining('Stop it') },
  })
  expect(await shown(t, id)).toMatchObject({ status: 'available', server_id: null })
})

/** A process that shares the database with that of the test. */
function otherProcess({ db, clock, drivers }: TestApp): Engine {
  const procedures = { volume: volumeProcedures({ db, clock, drivers }) }
  const log = pino({ level: 'silent' })
  return new Engine({ db, clock, log, procedures, peers: noPeers(), ended: async () => {} })
}

test('a server keeps the volume that a process gave it after another one stood still and failed', async () => {
  const t = await testApp()
  const server = await make(t)
  const id = await create(t)
  const [begun, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  vi.spyOn(t.driver, 'attachVolume').mockImplementationOnce(async () => {
    begun.resolve()
    await late.promise
    throw new DriverError('unsupported', 'until its next start')
  })
  await t.call('POST', `/volumes/${id}/attach`, { server_id: server })
  await t.app.engine.tick()
  await begun.promise
  t.clock.advance(31_000)
  const other = otherProcess(t)
  await other.tick()
  await other.settled()
  late.resolve()
  await t.app.engine.settled()
  expect(await shown(t, id)).toMatchObject({ status: 'attached', server_id: server })
  expect(await holder(t, id)).toBe(server)
})

test('a volume that a running server can’t give back stays attached', async () => {
  const t = await testApp()
  const server = await make(t)
  const id = await create(t)
  await attach(t, id, server)
  t.driver.failNext('detachVolume', new DriverError('unsupported', 'while it runs'))
  expect(await detach(t, id)).toMatchObject({
    status: 'failed',
    error: { code: 'not_supported', message: expect.stringContaining('Stop it') },
  })
  expect(await shown(t, id)).toMatchObject({ status: 'attached', server_id: server })
  expect(await detach(t, id)).toMatchObject({ status: 'succeeded' })
})

test('the deletion of a volume is retried until it succeeds, since a silent host may have erased it already', async () => {
  const t = await testApp()
  const id = await create(t)
  const remove = t.driver.removeVolume.bind(t.driver)
  const errors = [new DriverError('unavailable', 'the answer was lost'), new DriverError('unsupported', 'no')]
  const erasing = vi.spyOn(t.driver, 'removeVolume').mockImplementation(async (...given) => {
    await remove(...given)
    throw errors[erasing.mock.calls.length % 2]
  })
  const { body: operation } = await t.call('DELETE', `/volumes/${id}`)
  for (let minute = 0; minute < 90; minute += 1) {
    await t.work()
    t.clock.advance(60_000)
  }
  expect(await shown(t, id)).toMatchObject({ status: 'deleting' })
  expect((await t.call('GET', '/account/balance')).body.cost_hour_rub).toBe('0.0000')
  erasing.mockRestore()
  await t.finish()
  expect((await t.call('GET', `/volumes/${id}`)).status).toBe(404)
  expect((await t.call('GET', `/operations/${operation.operation_id}`)).body.status).toBe('succeeded')
})

test('a volume costs its zone’s price for each GB, attached or not, until it is deleted', async () => {
  const t = await testApp({
    catalog: parseCatalog(
      catalogText.replace('disk_gb_month_rub:', 'volume_gb_month_rub: "7.30", disk_gb_month_rub:'),
      'catalog.yaml',
    ),
  })
  const [zone] = (await t.call('GET', '/zones')).body
  expect(zone).toMatchObject({ features: expect.arrayContaining(['volumes']), volume_gb_month_rub: '7.30' })
  const id = await create(t, 100)
  expect(await shown(t, id)).toMatchObject({ price_month_rub: '730.00', price_hour_rub: '1.0000' })
  t.clock.advance(3600_000)
  await t.app.billing.look()
  const charges = (await t.call('GET', '/account/transactions')).body.items.filter(
    ({ type }: { type: string }) => type === 'charge',
  )
  expect(charges).toMatchObject([
    { item_type: 'volume', item_id: id, item_name: 'data', server_id: null, amount: '-1.00' },
  ])
  await carriedOut(t, 'DELETE', `/volumes/${id}`)
  t.clock.advance(3 * 3600_000)
  await t.app.billing.look()
  const later = (await t.call('GET', '/account/transactions')).body
  expect(later.total).toBe(1 + charges.length)
})

test('quotas, room and balance limit volumes', async () => {
  const t = await testApp({ balance: '1000', simulator: { host: { diskGb: 500 } } })
  const order = (size_gb: number) =>
    t.call('POST', '/volumes', { name: 'data', zone_slug: 'local-1', size_gb })
  expect((await order(501)).body).toMatchObject({ code: 'capacity_unavailable' })
  const id = await create(t, 450)
  const grown = await t.call('PATCH', `/volumes/${id}`, { size_gb: 501 })
  expect(grown.body).toMatchObject({ code: 'capacity_unavailable' })
  for (let at = 0; at < 19; at++) await create(t, 1)
  expect((await order(1)).body).toMatchObject({
    code: 'quota_exceeded',
    quota: { name: 'volumes', used: 20 },
  })
  expect((await t.call('PATCH', `/volumes/${id}`, { size_gb: 4096 })).body).toMatchObject({
    quota: { name: 'volumes_gb', used: 469, requested: 3646 },
  })
  expect((await t.call('GET', '/account/me')).body.quotas).toMatchObject({
    volumes: { used: 20 },
    volumes_gb: { used: 469 },
  })
})

test('nobody reads, changes or attaches a volume of another account', async () => {
  const t = await testApp()
  const id = await create(t)
  const server = await make(t)
  const stranger = t.callAs(
    await t.makeToken(['servers:read', 'servers:write'], { accountId: await t.makeAccount() }),
  )
  const path = `/volumes/${id}`
  const requests = [
    ...([
      ['GET', path],
      ['PATCH', path, { name: 'x' }],
      ['DELETE', path],
    ] as const),
    ...([
      ['POST', `${path}/attach`, { server_id: server }],
      ['POST', `${path}/detach`],
    ] as const),
  ]
  for (const [method, where, body] of requests)
    expect((await stranger(method, where, body)).body.code).toBe('volume_not_found')
  const { body } = await stranger('POST', '/volumes', { name: 'x', zone_slug: 'local-1', size_gb: 1 })
  const foreign = await stranger('POST', `/volumes/${body.volume_id}/attach`, { server_id: server })
  expect(issues(foreign.body)).toEqual([['/server_id', 'not_found']])
})

test('one change of a volume is carried out at a time, and a repeated request begins no second one', async () => {
  const t = await testApp()
  const [id, server] = [await create(t), await make(t)]
  const key = { 'idempotency-key': 'once' }
  const path = `/volumes/${id}/attach`
  const [first, second] = [
    await t.call('POST', path, { server_id: server }, key),
    await t.call('POST', path, { server_id: server }, key),
  ]
  expect(second.body.operation_id).toBe(first.body.operation_id)
  for (const refused of [
    await t.call('POST', `/volumes/${id}/detach`),
    await t.call('PATCH', `/volumes/${id}`, { size_gb: 20 }),
    await t.call('DELETE', `/volumes/${id}`),
  ])
    expect(refused.body).toMatchObject({
      code: 'operation_in_progress',
      operation_id: first.body.operation_id,
    })
  await t.finish()
  expect(await shown(t, id)).toMatchObject({ status: 'attached' })
})

test('a zone without volumes refuses them', async () => {
  const t = await testApp({ simulator: { host: { features: ['console'] } } })
  const reply = await t.call('POST', '/volumes', { name: 'data', zone_slug: 'local-1', size_gb: 1 })
  expect(reply.body).toMatchObject({ code: 'not_supported', feature: 'volumes' })
})

test('a server whose volume is missing on its host reports that, and starts once the volume is detached', async () => {
  const t = await testApp()
  const server = await make(t)
  const id = await create(t)
  await attach(t, id, server)
  await carriedOut(t, 'POST', `/servers/${server}/stop`)
  await t.driver.removeVolume(id)
  expect(await carriedOut(t, 'POST', `/servers/${server}/start`)).toMatchObject({
    status: 'failed',
    error: { code: 'volume_lost' },
  })
  expect(await detach(t, id)).toMatchObject({ status: 'succeeded' })
  expect(await carriedOut(t, 'POST', `/servers/${server}/start`)).toMatchObject({ status: 'succeeded' })
})
