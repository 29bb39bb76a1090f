import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { issues, make, NOBODY, order as orderOf } from '../harness/ordering.ts'

const MONTH = '30.00'

/** An installation where an image takes ten seconds and has a price. */
function priced(): Promise<TestApp> {
  const price = 'disk_gb_month_rub: "6.00",'
  const text = catalogText.replaceAll(price, `${price} snapshot_gb_month_rub: "${MONTH}",`)
  return testApp({ simulator: { copyMs: 10_000 }, catalog: parseCatalog(text, 'catalog.yaml') })
}

async function snapshotOf(t: TestApp, server_id: string): Promise<string> {
  const { body } = await t.call('POST', '/snapshots', { server_id })
  await t.finish()
  return body.snapshot_id
}

async function begin(t: TestApp, snapshot_id: string) {
  const { status, body } = await t.call('POST', '/images', { name: 'golden', snapshot_id })
  expect([status, body.status, body.size_gb]).toEqual([202, 'importing', null])
  return body
}

const image = async (t: TestApp, id: string) => (await t.call('GET', `/images/${id}`)).body
const details = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}/details`)).body

/** A server with data, and an image of it. */
async function made(t: TestApp): Promise<{ id: string; image_id: string }> {
  const id = await make(t)
  await t.driver.writes(id, 'model')
  const snapshot = await snapshotOf(t, id)
  const { image_id } = await begin(t, snapshot)
  await t.finish()
  await t.call('DELETE', `/snapshots/${snapshot}`)
  await t.app.reconciler.sweep()
  return { id, image_id }
}

test('servers are created from an image and rebuilt to it after its snapshot and server are gone', async () => {
  const t = await priced()
  const { id, image_id } = await made(t)
  const before = await details(t, id)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const ready = await image(t, image_id)
  expect(ready).toMatchObject({ name: 'golden', status: 'available', operation_id: null, min_disk_gb: 10 })
  expect((await t.call('GET', '/images')).body.items).toEqual([ready])
  const { template_id: _, ...order } = await orderOf(t.call, { image_id })
  const created = await make(t, { ...order, template_id: undefined })
  expect(t.driver.dataOf(created)).toBe('model')
  expect(await details(t, created)).toMatchObject({ status: 'running', template_id: before.template_id })
  const other = await make(t)
  await t.call('POST', `/servers/${other}/rebuild`, { image_id })
  await t.finish()
  expect(t.driver.dataOf(other)).toBe('model')
  expect((await details(t, other)).ssh.host_key_fingerprints).not.toEqual(before.ssh.host_key_fingerprints)
})

test('an image is billed by the GB from when it is available until it is deleted, in usage under its name', async () => {
  const t = await priced()
  const { id, image_id } = await made(t)
  const { size_gb, price_month_rub } = await image(t, image_id)
  expect(Number(price_month_rub)).toBe(size_gb * Number(MONTH))
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect((await t.call('GET', '/account/balance')).body.cost_month_rub).toBe(price_month_rub)
  await t.clock.advance(2 * 3600_000)
  await t.app.billing.look()
  expect((await t.call('DELETE', `/images/${image_id}`)).status).toBe(204)
  expect((await t.call('GET', `/images/${image_id}`)).status).toBe(404)
  expect((await t.call('GET', '/account/balance')).body.cost_month_rub).toBe('0.00')
  const usage = (await t.call('GET', '/account/usage')).body.items
  expect(usage).toContainEqual(expect.objectContaining({ item_type: 'image', item_name: 'golden' }))
  await t.app.reconciler.sweep()
  expect(await t.driver.listSnapshots()).toEqual(new Map())
})

test('an image that is being made can be renamed, and its deletion cancels the operation', async () => {
  const t = await priced()
  const snapshot = await snapshotOf(t, await make(t))
  const { image_id, operation_id } = await begin(t, snapshot)
  await t.work()
  expect((await t.call('GET', `/operations/${operation_id}`)).body).toMatchObject({
    subject_type: 'image',
    subject_id: image_id,
    server_id: null,
    type: 'import',
  })
  const renamed = await t.call('PATCH', `/images/${image_id}`, { name: 'silver' })
  expect(renamed).toMatchObject({ status: 200, body: { name: 'silver', status: 'importing' } })
  expect((await t.call('DELETE', `/images/${image_id}`)).status).toBe(204)
  await t.finish()
  expect((await t.call('GET', `/operations/${operation_id}`)).body.status).toBe('canceled')
  await t.app.reconciler.sweep()
  expect([...(await t.driver.listSnapshots()).keys()]).toEqual([snapshot])
})

test('an image that could not be made says why, costs nothing, and leaves nothing behind', async () => {
  const t = await priced()
  const lost = await snapshotOf(t, await make(t))
  await t.driver.removeSnapshot(lost)
  const { image_id, operation_id } = await begin(t, lost)
  t.driver.failNext('importImage', new DriverError('unavailable', 'away'))
  await t.finish()
  const { error } = (await t.call('GET', `/operations/${operation_id}`)).body
  expect(error.code).toBe('snapshot_lost')
  expect(await image(t, image_id)).toMatchObject({
    status: 'error',
    status_reason: error.message,
    price_month_rub: '0.00',
  })
  const refused = await t.call('POST', '/servers', {
    ...(await orderOf(t.call)),
    template_id: undefined,
    image_id,
  })
  expect(issues(refused.body)).toEqual([['/image_id', 'not_found']])
})

test('images are made only from available snapshots of the account, and up to its quota', async () => {
  const t = await priced()
  const snapshot = await snapshotOf(t, await make(t))
  const stranger = t.callAs(
    await t.makeToken(['servers:read', 'servers:write'], { accountId: await t.makeAccount() }),
  )
  for (const [call, id] of [
    [t.call, NOBODY],
    [stranger, snapshot],
  ] as const)
    expect(issues((await call('POST', '/images', { name: 'a', snapshot_id: id })).body)).toEqual([
      ['/snapshot_id', 'not_found'],
    ])
  const { image_id } = await begin(t, snapshot)
  for (const method of ['GET', 'DELETE'] as const)
    expect((await stranger(method, `/images/${image_id}`)).status).toBe(404)
  for (let more = 1; more < 10; more++) await begin(t, snapshot)
  const full = await t.call('POST', '/images', { name: 'a', snapshot_id: snapshot })
  expect(full).toMatchObject({ status: 403, body: { code: 'quota_exceeded', quota: { name: 'images' } } })
})

test('an image can not be deleted while a server is created from it', async () => {
  const t = await priced()
  const { image_id } = await made(t)
  const { body } = await t.call('POST', '/servers', {
    ...(await orderOf(t.call)),
    template_id: undefined,
    image_id,
  })
  const refused = await t.call('DELETE', `/images/${image_id}`)
  expect(refused).toMatchObject({ status: 409, body: { code: 'image_in_use' } })
  await t.finish()
  expect((await t.call('DELETE', `/images/${image_id}`)).status).toBe(204)
  await t.app.reconciler.sweep()
  expect(await details(t, body.server_id)).toMatchObject({ status: 'running' })
  expect(t.driver.dataOf(body.server_id)).toBe('model')
})
