import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { issues, make, NOBODY, order as orderOf } from '../harness/ordering.ts'

const MONTH = '30.00'

/** An installation where a snapshot takes ten seconds and has a price. */
function priced(): Promise<TestApp> {
  const price = 'disk_gb_month_rub: "6.00",'
  const text = catalogText.replaceAll(price, `${price} snapshot_gb_month_rub: "${MONTH}",`)
  return testApp({ simulator: { copyMs: 10_000 }, catalog: parseCatalog(text, 'catalog.yaml') })
}

async function begin(t: TestApp, server_id: string, more: object = {}) {
  const reply = await t.call('POST', '/snapshots', { server_id, ...more })
  expect(reply).toMatchObject({ status: 202, body: { server_id, status: 'creating', size_gb: null } })
  return reply.body
}

async function take(t: TestApp, server_id: string): Promise<string> {
  const { snapshot_id } = await begin(t, server_id)
  await t.finish()
  expect((await t.call('GET', `/snapshots/${snapshot_id}`)).body).toMatchObject({ status: 'available' })
  return snapshot_id
}

async function restore(t: TestApp, id: string, snapshot_id: string) {
  const accepted = await t.call('POST', `/servers/${id}/restore`, { snapshot_id })
  expect(accepted).toMatchObject({ status: 202, body: { type: 'restore', server_id: id } })
  await t.finish()
  return (await t.call('GET', `/operations/${accepted.body.operation_id}`)).body
}

const details = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}/details`)).body

test('a snapshot is made while its server runs, and no other operation can begin meanwhile', async () => {
  const t = await priced()
  const id = await make(t)
  const { snapshot_id, operation_id } = await begin(t, id, { name: 'before' })
  await t.work()
  const server = (await t.call('GET', `/servers/${id}`)).body
  expect(server).toMatchObject({ status: 'running', current_operation: { operation_id, type: 'snapshot' } })
  expect((await t.call('GET', '/servers')).body.items[0].current_operation).toMatchObject({ operation_id })
  expect((await details(t, id)).allowed_actions).toEqual(['console', 'update', 'delete'])
  for (const [action, body] of [
    ['stop', {}],
    ['reboot', { force: true }],
    ['rebuild', { template: 'micro' }],
    ['restore', { snapshot_id: NOBODY }],
  ] as const) {
    const reply = await t.call('POST', `/servers/${id}/${action}`, body)
    expect([action, reply.status]).toEqual([action, 409])
  }
  const second = await t.call('POST', '/snapshots', { server_id: id })
  expect(second).toMatchObject({ status: 409, body: { code: 'operation_in_progress', operation_id } })
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'renamed' })).status).toBe(200)
  await t.finish()
  const { body } = await t.call('GET', `/snapshots/${snapshot_id}`)
  expect(body).toMatchObject({
    name: 'before',
    status: 'available',
    operation_id: null,
    consistency: 'filesystem',
  })
  expect(body.size_gb).toBeGreaterThan(0)
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'running',
    current_operation: null,
  })
  expect((await t.call('GET', `/snapshots?server_id=${id}`)).body.items).toEqual([body])
})

test('a restored server has the data, host keys and login of its snapshot, and keeps all else', async () => {
  const t = await priced()
  const id = await make(t)
  await t.driver.writes(id, 'before')
  const before = await details(t, id)
  const snapshot = await take(t, id)
  await t.call('POST', `/servers/${id}/rebuild`, { template: 'debian-12' })
  await t.finish()
  await t.driver.writes(id, 'after')
  const between = await details(t, id)
  expect(between.ssh.host_key_fingerprints).not.toEqual(before.ssh.host_key_fingerprints)
  expect(await restore(t, id, snapshot)).toMatchObject({ status: 'succeeded' })
  const after = await details(t, id)
  expect(t.driver.dataOf(id)).toBe('before')
  expect(after).toMatchObject({
    ...{ status: 'running', template_id: before.template_id, source_id: snapshot },
  })
  expect(after.ssh).toEqual(before.ssh)
  expect(after.network).toEqual(before.network)
  expect(after.billing.billed_since).toBe(before.billing.billed_since)
  // The next rebuild is of the template again.
  await t.call('POST', `/servers/${id}/rebuild`, { template: 'micro' })
  await t.finish()
  expect(t.driver.dataOf(id)).toBeNull()
  expect(await details(t, id)).toMatchObject({ source_id: null })
})

test('a restore of a lost snapshot fails before it touches the disk', async () => {
  const t = await priced()
  const id = await make(t)
  const snapshot = await take(t, id)
  await t.driver.writes(id, 'precious')
  await t.driver.removeSnapshot(snapshot)
  const failed = await restore(t, id, snapshot)
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'snapshot_lost' } })
  expect(failed.error.message).toContain('keeps its disk')
  expect(t.driver.dataOf(id)).toBe('precious')
  expect(await details(t, id)).toMatchObject({ status: 'running', source_id: null })
})

test('only an available snapshot of the same server can be restored, and a protected server not at all', async () => {
  const t = await priced()
  const id = await make(t)
  const other = await make(t)
  const foreign = await take(t, other)
  for (const snapshot_id of [NOBODY, foreign])
    expect(issues((await t.call('POST', `/servers/${id}/restore`, { snapshot_id })).body)).toEqual([
      ['/snapshot_id', 'not_found'],
    ])
  const own = await take(t, id)
  await t.call('PATCH', `/servers/${id}`, { delete_protection: true })
  const refused = await t.call('POST', `/servers/${id}/restore`, { snapshot_id: own })
  expect(refused).toMatchObject({ status: 409, body: { code: 'delete_protected' } })
})

test('a snapshot is billed by the hour from when it is available until it is deleted, and outlives its server', async () => {
  const t = await priced()
  const id = await make(t)
  const snapshot = await take(t, id)
  const { body } = await t.call('GET', `/snapshots/${snapshot}`)
  expect(Number(body.price_month_rub)).toBe(body.size_gb * Number(MONTH))
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect((await t.call('GET', '/account/balance')).body.cost_month_rub).toBe(body.price_month_rub)
  await t.clock.advance(2 * 3600_000)
  await t.work()
  expect((await t.call('DELETE', `/snapshots/${snapshot}`)).status).toBe(204)
  expect((await t.call('GET', `/snapshots/${snapshot}`)).status).toBe(404)
  expect((await t.call('GET', '/account/balance')).body.cost_month_rub).toBe('0.00')
  await t.app.reconciler.sweep()
  expect(await t.driver.listSnapshots()).toEqual(new Map())
})

test('a forced stop and the deletion of the server or the snapshot cancel a snapshot', async () => {
  const t = await priced()
  const ways = [
    (id: string) => t.call('POST', `/servers/${id}/stop`, { force: true }),
    (id: string) => t.call('DELETE', `/servers/${id}`),
    (_: string, snapshot: string) => t.call('DELETE', `/snapshots/${snapshot}`),
  ]
  for (const way of ways) {
    const id = await make(t)
    const { snapshot_id, operation_id } = await begin(t, id)
    expect((await way(id, snapshot_id)).status).toBeLessThan(300)
    expect((await t.call('GET', `/operations/${operation_id}`)).body.status).toBe('canceled')
    await t.finish()
    expect((await t.call('GET', `/snapshots/${snapshot_id}`)).status).toBe(404)
    expect((await t.call('GET', `/servers/${id}`)).body.current_operation ?? null).toBeNull()
  }
  await t.app.reconciler.sweep()
  expect(await t.driver.listSnapshots()).toEqual(new Map())
})

test('a snapshot that cannot be made costs nothing, says so, and frees its server', async () => {
  const t = await priced()
  const id = await make(t)
  for (let at = 0; at < 10; at++) t.driver.failNext('snapshot', new DriverError('disk_full', 'full'))
  const { snapshot_id, operation_id } = await begin(t, id)
  await t.finish()
  expect((await t.call('GET', `/operations/${operation_id}`)).body.status).toBe('failed')
  const { body } = await t.call('GET', `/snapshots/${snapshot_id}`)
  expect(body).toMatchObject({ status: 'error', price_month_rub: '0.00', size_gb: null })
  expect((await t.call('GET', `/servers/${id}`)).body.current_operation).toBeNull()
})

test('a snapshot is renamed, and belongs to its account alone', async () => {
  const t = await priced()
  const id = await make(t)
  const snapshot = await take(t, id)
  const named = await t.call('PATCH', `/snapshots/${snapshot}`, { name: 'kept' })
  expect(named).toMatchObject({ status: 200, body: { name: 'kept' } })
  expect(issues((await t.call('POST', '/snapshots', { server_id: NOBODY })).body)).toEqual([
    ['/server_id', 'not_found'],
  ])
})

test('a server is created from a snapshot, or rebuilt to it, as another machine with the same data', async () => {
  const t = await priced()
  const source = await make(t)
  await t.driver.writes(source, 'golden')
  const before = await details(t, source)
  const snapshot_id = await take(t, source)
  const { template_id: _, ...order } = await orderOf(t.call, { snapshot_id })
  expect((await t.call('POST', '/pricing/quote', order)).body).toMatchObject({ can_create: true })
  const { body: made } = await t.call('POST', '/servers', order)
  const kept = await t.call('DELETE', `/snapshots/${snapshot_id}`)
  expect(kept).toMatchObject({ status: 409, body: { code: 'snapshot_in_use' } })
  await t.finish()
  const clone = await details(t, made.server_id)
  expect(clone).toMatchObject({ status: 'running', template_id: before.template_id })
  expect(clone.ssh.host_key_fingerprints).not.toEqual(before.ssh.host_key_fingerprints)
  expect(clone.ssh.password).not.toBe(before.ssh.password)
  expect(t.driver.dataOf(made.server_id)).toBe('golden')

  const other = await make(t)
  await t.call('POST', `/servers/${other}/rebuild`, { snapshot_id })
  await t.finish()
  expect(t.driver.dataOf(other)).toBe('golden')
  expect((await details(t, other)).ssh.host_key_fingerprints).not.toEqual(before.ssh.host_key_fingerprints)
  expect((await t.call('DELETE', `/snapshots/${snapshot_id}`)).status).toBe(204)

  const gone = await t.call('POST', '/servers', order)
  expect(issues(gone.body)).toEqual([['/snapshot_id', 'not_found']])
  const both = await t.call('POST', '/servers', { ...order, template: 'micro' })
  expect(issues(both.body)).toEqual([['/template', 'mutually_exclusive']])
})
