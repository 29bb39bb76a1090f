import { expect, test } from 'vitest'
import { type Catalog, parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import type { ImageSpec } from '../../../api/drivers/images.ts'
import { catalogText, testApp } from '../../harness/app.ts'
import { uploaded } from '../harness/isos.ts'
import { issues, make } from '../harness/ordering.ts'

const SHA = 'ab'.repeat(32)
const DEBIAN = `{ slug: debian-13-netinst, title: Debian 13, url: "https://example.com/debian.iso", sha256: "${SHA}" }`
const ALPINE = '{ slug: alpine, title: Alpine, file: /srv/alpine.iso }'
const offering = (...isos: string[]): Catalog =>
  parseCatalog(`${catalogText}\nisos: [${isos.join(', ')}]\n`, 'catalog.yaml')

async function offered(...isos: string[]) {
  const catalog = new LiveCatalog(offering(...isos))
  const t = await testApp({ catalog })
  const list = async (query = '') => (await t.call('GET', `/isos${query}`)).body
  const [first] = (await list()).items.filter(({ type }: { type: string }) => type === 'public')
  const drive = (id: string, iso_id: string | null) => t.call('PATCH', `/servers/${id}`, { iso_id })
  return { ...t, catalog, list, id: first?.iso_id as string, drive }
}

test("the operator's ISOs are listed after one's own, free, for every zone and in pages", async () => {
  const t = await offered(DEBIAN, ALPINE)
  const own = await uploaded(t)
  const all = await t.list()
  expect(all.total).toBe(3)
  expect(all.items.map(({ type, slug, name }: Record<string, string>) => [type, slug, name])).toEqual([
    ['private', null, 'installer'],
    ['public', 'debian-13-netinst', 'Debian 13'],
    ['public', 'alpine', 'Alpine'],
  ])
  expect(all.items[1]).toMatchObject({ status: 'available', zone_slug: null, price_month_rub: '0.00' })
  for (const [at, item] of all.items.entries())
    expect(await t.list(`?limit=1&offset=${at}`)).toEqual({ total: 3, items: [item] })
  expect((await t.list('?offset=3')).items).toEqual([])
  expect((await t.call('GET', `/isos/${t.id}`)).body).toEqual(all.items[1])
  expect((await t.call('GET', `/isos/${own}`)).body).toEqual(all.items[0])
  expect((await t.call('GET', '/account/me')).body.quotas.isos).toEqual({ limit: 10, used: 1 })
  const stranger = t.callAs(await t.makeToken(['servers:read'], { accountId: await t.makeAccount() }))
  expect((await stranger('GET', '/isos')).body.items).toEqual(all.items.slice(1))
})

test('any server can insert a public ISO, whose file is prepared first, like the image of a template', async () => {
  const t = await offered(DEBIAN)
  const web = await make(t, { name: 'web-1' })
  let isFetching = true
  const { image } = t.driver
  const wanted: ImageSpec[] = []
  t.driver.image = async (spec, options) => {
    if (!spec.isIso) return image.call(t.driver, spec, options)
    wanted.push(spec)
    return isFetching ? { state: 'preparing', progress: 0, detail: '' } : image.call(t.driver, spec, options)
  }
  const begun = await t.drive(web, t.id)
  expect(begun).toMatchObject({ status: 202, body: { iso_id: t.id, status: 'running' } })
  await t.work()
  t.clock.advance(20 * 60_000)
  await t.work()
  expect(t.driver.isoOf(web)).toBeNull()
  // The sources are the catalogue's alone.
  expect(wanted[0]).toEqual(t.catalog.isos[0]?.image)
  isFetching = false
  await t.finish()
  const { operation_id } = begun.body.current_operation
  expect((await t.call('GET', `/operations/${operation_id}`)).body.status).toBe('succeeded')
  expect(t.driver.isoOf(web)).toBe('debian-13-netinst')
  await t.call('POST', `/servers/${web}/reboot`, { force: true })
  await t.finish()
  expect(t.driver.isoOf(web)).toBe('debian-13-netinst')
  expect((await t.drive(web, null)).status).toBe(202)
  await t.finish()
  expect(t.driver.isoOf(web)).toBeNull()
})

test('a public ISO that cannot be prepared fails the insertion, and leaves the drive unchanged', async () => {
  const t = await offered(DEBIAN)
  const web = await make(t, { name: 'web-1' })
  t.driver.image = async () => ({ state: 'failed', message: 'example.com answered 404.' })
  const { body } = await t.drive(web, t.id)
  await t.finish()
  const operation = (await t.call('GET', `/operations/${body.current_operation.operation_id}`)).body
  expect(operation).toMatchObject({ status: 'failed', error: { code: 'image_unavailable' } })
  // The operator's sources are none of a customer's business.
  expect(JSON.stringify(operation)).not.toContain('example.com')
  expect((await t.call('GET', `/servers/${web}`)).body.iso_id).toBeNull()
})

test('no customer changes or deletes a public ISO, sends it a file, or creates a disk from it', async () => {
  const t = await offered(DEBIAN)
  const refused = [
    await t.call('PATCH', `/isos/${t.id}`, { name: 'mine' }),
    await t.call('DELETE', `/isos/${t.id}`),
    await t.call('POST', `/isos/${t.id}/import`, {}),
  ]
  for (const { status, body } of refused) expect([status, body.code]).toEqual([409, 'iso_is_public'])
  const part = await t.app.http.inject({
    ...{ method: 'PATCH', url: `/v1/isos/${t.id}/content`, payload: Buffer.alloc(10) },
    headers: {
      authorization: `Bearer ${t.token}`,
      'content-type': 'application/octet-stream',
      'upload-offset': '0',
    },
  })
  expect([part.statusCode, part.json().code]).toEqual([409, 'iso_is_public'])
  const { zone_slug } = t.catalog.zones[0] ?? {}
  for (const field of ['template_id', 'image_id', 'snapshot_id']) {
    const order = { plan_type: 'preset', preset: 'nano', zone_slug, cpu_type: 'amd', [field]: t.id }
    expect((await t.call('POST', '/servers', order)).status).toBe(422)
  }
  expect((await t.list()).items).toHaveLength(1)
})

test('a retired public ISO stays in the drives that have it, and is neither listed nor inserted elsewhere', async () => {
  const t = await offered(DEBIAN)
  const web = await make(t, { name: 'web-1', start_on_create: false })
  await t.drive(web, t.id)
  await t.finish()
  t.catalog.replace(offering(DEBIAN.replace(' }', ', retired: true }')))
  expect((await t.list()).items).toEqual([])
  expect((await t.call('GET', `/isos/${t.id}`)).body.slug).toBe('debian-13-netinst')
  const other = await make(t, { name: 'web-2', start_on_create: false })
  expect(issues((await t.drive(other, t.id)).body)).toEqual([['/iso_id', 'not_found']])
  await t.call('POST', `/servers/${web}/start`, {})
  await t.finish()
  expect(t.driver.isoOf(web)).toBe('debian-13-netinst')
  // The catalogue refuses to lose one in use; a start after it was lost anyway says what to do.
  t.catalog.replace(offering())
  await t.call('POST', `/servers/${web}/stop`, {})
  await t.finish()
  const { body } = await t.call('POST', `/servers/${web}/start`, {})
  await t.finish()
  const start = (await t.call('GET', `/operations/${body.operation_id}`)).body
  expect(start).toMatchObject({ status: 'failed', error: { code: 'iso_lost' } })
  expect((await t.call('GET', `/isos/${t.id}`)).status).toBe(404)
})
