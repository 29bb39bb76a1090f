import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import { catalogText, testApp } from '../../harness/app.ts'
import { issues, make, order } from '../harness/ordering.ts'

test('zones, templates and presets are plain lists with ids that outlive a reinstall', async () => {
  const [one, other] = [await testApp(), await testApp()]
  for (const path of [
    '/zones',
    '/templates',
    '/pricing/presets?zone_slug=local-1&cpu_type=amd',
    '/pricing/capacity',
  ]) {
    const reply = await one.call('GET', path)
    expect([path, reply.status, Array.isArray(reply.body)]).toEqual([path, 200, true])
    expect(reply.headers['cache-control']).toBe(
      path.startsWith('/pricing') ? 'no-cache' : 'private, max-age=60',
    )
    expect((await other.call('GET', path)).body).toEqual(reply.body)
  }
  expect((await one.call('GET', '/zones')).body).toEqual([
    {
      server_type: 'virtual_machine',
      zone_slug: 'local-1',
      title: 'This machine',
      city: 'Local',
      country_code: 'ZZ',
      cpu_types: ['amd', 'intel'],
      features: [
        'published_ports',
        'private_networks',
        'firewalls',
        'console',
        'snapshots',
        'backups',
        'images',
        'reset_password',
        'volumes',
        'rescue',
        'live_resize',
        'screen',
        'isos',
      ],
      volume_gb_month_rub: '6.00',
      is_available: true,
    },
  ])
  for (const template of (await one.call('GET', '/templates')).body)
    expect(Object.keys(template).sort()).toEqual([
      'default_username',
      'min_disk_gb',
      'os_family',
      'slug',
      'template_id',
      'title',
    ])
})

test('a preset costs what its parts cost, for a month and for an hour', async () => {
  const t = await testApp()
  const presets = async (cpu: string) =>
    (await t.call('GET', `/pricing/presets?zone_slug=local-1&cpu_type=${cpu}`)).body
  // 180 + 512/1024 * 120 + 10 * 6, and a 730th of it.
  expect((await presets('amd'))[0]).toMatchObject({
    slug: 'nano',
    cpu: 1,
    ram_mb: 512,
    disk_gb: 10,
    price_month_rub: '300.00',
    price_hour_rub: '0.4110',
    is_available: true,
  })
  expect((await presets('intel'))[0]).toMatchObject({
    slug: 'nano',
    price_month_rub: '310.00',
    price_hour_rub: '0.4247',
  })
})

test('prices require an existing zone and CPU type', async () => {
  const t = await testApp()
  const wrong: [query: string, expected: [string, string][]][] = [
    [
      '',
      [
        ['/zone_slug', 'required'],
        ['/cpu_type', 'required'],
      ],
    ],
    ['zone_slug=local-1', [['/cpu_type', 'required']]],
    ['zone_slug=local-1&cpu_type=arm', [['/cpu_type', 'not_in_enum']]],
    ['zone_slug=local-1&cpu_type=AMD', [['/cpu_type', 'not_in_enum']]],
    ['zone_slug=mars&cpu_type=amd', [['/zone_slug', 'not_found']]],
    ['zone_slug=&cpu_type=amd', [['/zone_slug', 'not_found']]],
    ['zone_slug=local-1&cpu_type=amd&cpu_type=intel', [['/cpu_type', 'not_in_enum']]],
  ]
  for (const [query, expected] of wrong) {
    const reply = await t.call('GET', `/pricing/presets?${query}`)
    expect([query, reply.status, issues(reply.body)]).toEqual([query, 422, expected])
    for (const error of reply.body.errors) expect(error.in).toBe('query')
  }
})

test('a zone whose host does not answer shows its last known features, or none', async () => {
  const t = await testApp()
  const features = async () => {
    t.clock.advance(10_000)
    return (await t.call('GET', '/zones')).body[0].features
  }
  const fail = () => t.driver.failNext('host', new Error('the host is down'))
  fail()
  expect(await features()).toEqual([])
  const known = await features()
  expect(known).toContain('firewalls')
  fail()
  expect(await features()).toEqual(known)
})

test('features that the host lacks are not on offer', async () => {
  const t = await testApp({ simulator: { host: { cpuTypes: ['intel'] } } })
  expect((await t.call('GET', '/zones')).body[0].cpu_types).toEqual(['intel'])
  expect((await t.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')).body).toEqual([])
  const [amd, intel] = (await t.call('GET', '/pricing/capacity')).body
  expect(amd).toMatchObject({
    cpu_type: 'amd',
    is_available: false,
    level: 'none',
    max_server: { cpu: 0, ram_mb: 0, disk_gb: 0 },
  })
  expect(intel).toMatchObject({ cpu_type: 'intel', is_available: true, level: 'high' })
})

test('capacity follows what servers hold, down to none and back', async () => {
  const t = await testApp({ simulator: { host: { cores: 1, ramMb: 1024 + 512, diskGb: 1000 } } })
  const capacity = async (query = '') => (await t.call('GET', `/pricing/capacity${query}`)).body
  expect(await capacity('?cpu_type=amd')).toEqual([
    {
      zone_slug: 'local-1',
      cpu_type: 'amd',
      is_available: true,
      level: 'high',
      max_server: { cpu: 8, ram_mb: 1536, disk_gb: 1000 },
      updated_at: '2026-11-20T12:00:00.000Z',
    },
  ])
  const first = await make(t)
  expect((await capacity())[0]).toMatchObject({
    level: 'high',
    max_server: { cpu: 7, ram_mb: 1024, disk_gb: 990 },
  })
  await make(t)
  await make(t)
  expect((await capacity())[0]).toMatchObject({
    is_available: false,
    level: 'none',
    max_server: { cpu: 0, ram_mb: 0, disk_gb: 0 },
  })
  expect((await t.call('GET', '/zones')).body[0].is_available).toBe(false)
  // Nothing smaller fits either.
  expect((await t.call('POST', '/servers', await order(t.call))).body).toMatchObject({
    code: 'capacity_unavailable',
    detail: 'Not enough memory for this plan. No server fits. Try again later.',
  })
  const presets = (await t.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')).body
  expect(presets.some((preset: { is_available: boolean }) => preset.is_available)).toBe(false)
  await t.call('DELETE', `/servers/${first}`)
  await t.finish()
  expect((await capacity())[0]).toMatchObject({ is_available: true, max_server: { ram_mb: 512 } })
  expect(await capacity('?zone_slug=mars')).toEqual([])
  expect(await capacity('?zone_slug=local-1&cpu_type=intel')).toHaveLength(1)
  expect((await t.call('GET', '/pricing/capacity?cpu_type=arm')).status).toBe(422)
})

test('a retired preset is no longer sold, and its servers continue unchanged', async () => {
  const catalog = new LiveCatalog(parseCatalog(catalogText, 'catalog.yaml'))
  const t = await testApp({ catalog })
  const body = await order(t.call, { ssh_key_ids: [] })
  const id = await make(t)
  const card = async () => (await t.call('GET', `/servers/${id}/details`)).body
  const before = await card()
  const retire = (text: string, at: string) => text.replace(at, `${at}\n    retired: true`)
  const slugs = async (path: string, name = 'slug') =>
    (await t.call('GET', path)).body.map((offer: Record<string, string>) => offer[name])
  const refusals = async () => issues((await t.call('POST', '/servers', body)).body)

  catalog.replace(parseCatalog(retire(catalogText, 'title: Micro Linux'), 'catalog.yaml'))
  expect(await slugs('/templates')).not.toContain('micro')
  expect(await refusals()).toEqual([['/template_id', 'not_found']])
  expect(await card()).toEqual(before)

  const without = catalogText.replace('disk_gb: 10 }', 'disk_gb: 10, retired: true }')
  catalog.replace(parseCatalog(without, 'catalog.yaml'))
  expect(await slugs('/pricing/presets?zone_slug=local-1&cpu_type=amd')).not.toContain('nano')
  expect(await refusals()).toEqual([['/preset_id', 'not_found']])
  expect(await card()).toEqual(before)

  catalog.replace(parseCatalog(retire(catalogText, 'title: This machine'), 'catalog.yaml'))
  expect([await slugs('/zones', 'zone_slug'), await slugs('/pricing/capacity', 'zone_slug')]).toEqual([
    [],
    [],
  ])
  expect(await refusals()).toEqual([['/zone_slug', 'not_found']])
  for (const type of ['stop', 'start']) {
    expect((await t.call('POST', `/servers/${id}/${type}`)).status).toBe(202)
    await t.finish()
  }
  expect(await card()).toMatchObject({ status: 'running', template: before.template })
})
