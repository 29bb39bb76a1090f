import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { announced, FILE, send, uploaded } from '../harness/isos.ts'
import { issues, make, order as orderOf } from '../harness/ordering.ts'

const LOOPBACK = { address: '127.0.0.1', prefix: 32, family: 'ipv4' as const }

const iso = async (t: TestApp, id: string) => (await t.call('GET', `/isos/${id}`)).body
const server = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body
const drive = (t: TestApp, id: string, iso_id: string | null, more = {}) =>
  t.call('PATCH', `/servers/${id}`, { iso_id, ...more })

test('an ISO that is uploaded in parts is put into the drive of a server, and taken out', async () => {
  const t = await testApp()
  const id = await announced(t)
  // The simulator looks at the first part alone.
  const half = 40_960
  expect(await send(t, id, FILE.subarray(0, half))).toBe(200)
  expect((await t.call('POST', `/isos/${id}/import`, {})).body.code).toBe('upload_offset')
  expect(await send(t, id, FILE.subarray(half), half)).toBe(200)
  const begun = await t.call('POST', `/isos/${id}/import`, {})
  await t.finish()
  const operation = await t.call('GET', `/operations/${begun.body.operation_id}`)
  expect(operation.body).toMatchObject({ status: 'succeeded', type: 'import', subject_type: 'iso' })
  expect(await iso(t, id)).toMatchObject({ status: 'available', size_gb: 1, uploaded_bytes: FILE.length })
  const web = await make(t, { name: 'web-1' })
  const inserted = await drive(t, web, id)
  expect(inserted).toMatchObject({
    status: 202,
    body: { iso_id: id, status: 'running', current_operation: { type: 'insert_iso', status: 'pending' } },
  })
  expect((await drive(t, web, null)).body.code).toBe('operation_in_progress')
  await t.finish()
  expect(t.driver.isoOf(web)).toBe(id)
  expect((await drive(t, web, id)).status).toBe(200)
  const used = await t.call('DELETE', `/isos/${id}`)
  expect(used).toMatchObject({ status: 409, body: { code: 'iso_in_use' } })
  expect(used.body.detail).toContain('in the drive of web-1. Take it out first')
  expect((await drive(t, web, null)).body).toMatchObject({ iso_id: null, status: 'running' })
  await t.finish()
  expect(t.driver.isoOf(web)).toBeNull()
  expect((await t.call('DELETE', `/isos/${id}`)).status).toBe(204)
  await t.app.reconciler.sweep()
  expect(await t.driver.listSnapshots()).toEqual(new Map())
  const { items } = (await t.call('GET', '/events?limit=100')).body
  const types = items.map(({ type }: { type: string }) => type)
  expect(types).toEqual(expect.arrayContaining(['iso.created', 'iso.updated', 'iso.deleted']))
})

test('a server starts with its ISO without SSH, keeps it through a rebuild, and frees it when it is deleted', async () => {
  const t = await testApp()
  const id = await uploaded(t)
  const web = await make(t, { name: 'web-1', start_on_create: false })
  expect((await drive(t, web, id)).status).toBe(202)
  await t.finish()
  // The guest never answers, as an installer would not.
  t.driver.ready = async () => null
  expect((await t.call('POST', `/servers/${web}/start`, {})).status).toBe(202)
  await t.finish()
  expect(await server(t, web)).toMatchObject({ status: 'running', status_reason: null, iso_id: id })
  const { template_id } = await server(t, web)
  expect((await t.call('POST', `/servers/${web}/rebuild`, { template_id })).status).toBe(202)
  await t.finish()
  expect(await server(t, web)).toMatchObject({ status: 'running', iso_id: id })
  expect(t.driver.isoOf(web)).toBe(id)
  await t.call('DELETE', `/servers/${web}`)
  await t.finish()
  expect((await t.call('DELETE', `/isos/${id}`)).status).toBe(204)
})

test('a drive that can not be changed keeps its ISO, and one that is lost fails the start with advice', async () => {
  const t = await testApp()
  const id = await uploaded(t)
  const web = await make(t, { name: 'web-1' })
  t.driver.failNext('insertIso', new DriverError('unsupported', 'no drive'))
  const { current_operation } = (await drive(t, web, id)).body
  await t.finish()
  const failed = (await t.call('GET', `/operations/${current_operation.operation_id}`)).body
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'not_supported' } })
  expect(await server(t, web)).toMatchObject({ status: 'running', iso_id: null })
  await drive(t, web, id)
  await t.finish()
  await t.call('POST', `/servers/${web}/stop`, {})
  await t.finish()
  await t.driver.removeSnapshot(id)
  const { body } = await t.call('POST', `/servers/${web}/start`, {})
  await t.finish()
  const start = (await t.call('GET', `/operations/${body.operation_id}`)).body
  expect(start).toMatchObject({ status: 'failed', error: { code: 'iso_lost' } })
  expect((await drive(t, web, null)).status).toBe(202)
  await t.finish()
  await t.call('POST', `/servers/${web}/start`, {})
  await t.finish()
  expect(await server(t, web)).toMatchObject({ status: 'running', iso_id: null })
})

test('a file that is no ISO says so and costs nothing, and an ISO is neither an image nor a snapshot', async () => {
  const t = await testApp()
  const wrong = await iso(t, await uploaded(t, Buffer.alloc(FILE.length)))
  expect(wrong).toMatchObject({ status: 'error', price_month_rub: '0.00', size_gb: null })
  expect(wrong.status_reason).toMatch(/not an ISO image/)
  const id = await uploaded(t)
  const { template_id: _, ...order } = await orderOf(t.call)
  for (const field of ['image_id', 'snapshot_id'])
    expect((await t.call('POST', '/servers', { ...order, [field]: id })).status).toBe(422)
  for (const path of [`/images/${id}`, `/snapshots/${id}`])
    expect((await t.call('GET', path)).status).toBe(404)
})

test('requests for ISOs say what is missing, what excludes each other, and whose they are', async () => {
  const t = await testApp()
  const { zone_slug } = await orderOf(t.call)
  const refused = async (body: object) =>
    issues((await t.call('POST', '/isos', { name: 'installer', zone_slug, ...body })).body).map(
      ([pointer, code]) => `${pointer.slice(1)} ${code}`,
    )
  const url = 'https://example.com/installer.iso'
  expect(await refused({})).toEqual(['upload required'])
  expect(await refused({ url, upload: true })).toEqual(['url mutually_exclusive'])
  expect(await refused({ upload: true })).toEqual(['content_bytes required'])
  expect(await refused({ url, content_bytes: 40_000 })).toEqual(['content_bytes mutually_exclusive'])
  expect(await refused({ url: 'http://127.0.0.1/x' })).toEqual(['url invalid_format'])
  const id = await uploaded(t)
  const wrong = await uploaded(t, Buffer.alloc(FILE.length))
  const web = await make(t, { name: 'web-1' })
  expect(issues((await drive(t, web, id, { cpu: 2 })).body)).toEqual([['/iso_id', 'mutually_exclusive']])
  const stranger = t.callAs(
    await t.makeToken(['servers:read', 'servers:write'], { accountId: await t.makeAccount() }),
  )
  expect((await stranger('GET', `/isos/${id}`)).body.code).toBe('iso_not_found')
  expect(issues((await drive(t, web, wrong)).body)).toEqual([['/iso_id', 'not_found']])
  const { body: renamed } = await t.call('PATCH', `/isos/${id}`, { name: 'debian' })
  expect(renamed.name).toBe('debian')
})

test('an ISO is fetched from an address, and billed by the GB', async () => {
  const price = 'disk_gb_month_rub: "6.00",'
  const text = catalogText.replaceAll(price, `${price} snapshot_gb_month_rub: "30.00",`)
  const t = await testApp({ catalog: parseCatalog(text, 'catalog.yaml'), downloadAllow: [LOOPBACK] })
  const files = createServer((request, response) => {
    const [, from = '0'] = /bytes=(\d+)/.exec(request.headers.range ?? '') ?? []
    const part = FILE.subarray(Number(from))
    response.writeHead(206, {
      etag: '"one"',
      'content-range': `bytes ${from}-${FILE.length - 1}/${FILE.length}`,
    })
    response.end(part)
  })
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void files.close())
  const address = files.address()
  const port = typeof address === 'object' ? address?.port : 0
  const { zone_slug } = await orderOf(t.call)
  const url = `http://127.0.0.1:${port}/installer.iso`
  const { body } = await t.call('POST', '/isos', { name: 'installer', url, zone_slug })
  await t.finish()
  const made = await iso(t, body.iso_id)
  expect(made).toMatchObject({ status: 'available', content_bytes: FILE.length })
  expect(made.price_month_rub).toBe('30.00')
  await t.clock.advance(2 * 3600_000)
  await t.app.billing.look()
  const { items } = (await t.call('GET', '/account/usage')).body
  expect(items).toContainEqual(expect.objectContaining({ item_type: 'iso', item_id: body.iso_id }))
})
