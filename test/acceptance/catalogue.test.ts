import { expect, test } from 'vitest'
import type { Reply } from '../harness/app.ts'
import { call, issues, make, makeStopped, NOBODY, order, remove } from './harness/client.ts'

const query = (params: Record<string, string>) => new URLSearchParams(params).toString()
const cents = (rubles: string) => Math.round(Number(rubles) * 100)

test('GET /zones lists zones with their CPU types', async () => {
  const { body } = await call('GET', '/zones')
  expect(body.length).toBeGreaterThan(0)
  for (const zone of body) {
    expect(zone).toMatchObject({
      zone_slug: expect.any(String),
      country_code: expect.stringMatching(/^[A-Z]{2}$/),
    })
    for (const type of zone.cpu_types) expect(['amd', 'intel']).toContain(type)
    for (const feature of zone.features) expect(feature).toMatch(/^[a-z0-9_]+$/)
  }
})

test('GET /templates lists template_id, slug, title, os_family and min_disk_gb', async () => {
  const { body } = await call('GET', '/templates')
  expect(body.length).toBeGreaterThan(0)
  for (const template of body)
    expect(Object.keys(template).sort()).toEqual(
      ['template_id', 'slug', 'title', 'os_family', 'min_disk_gb', 'default_username'].sort(),
    )
})

test('GET /pricing/presets lists presets with monthly prices as strings, and whether each can be ordered', async () => {
  for (const { zone_slug, cpu_types } of (await call('GET', '/zones')).body)
    for (const cpu_type of cpu_types) {
      const { body } = await call('GET', `/pricing/presets?${query({ zone_slug, cpu_type })}`)
      expect(body.length).toBeGreaterThan(0)
      for (const preset of body)
        expect(preset).toMatchObject({
          price_month_rub: expect.stringMatching(/^\d+\.\d\d$/),
          price_hour_rub: expect.stringMatching(/^\d+\.\d{4}$/),
          is_available: expect.any(Boolean),
        })
    }
})

test('GET /pricing/limits returns the allowed configuration ranges for a given zone and CPU type', async () => {
  const { zone_slug, cpu_type } = await order()
  const { body } = await call('GET', `/pricing/limits?${query({ zone_slug, cpu_type })}`)
  expect(body).toMatchObject({ zone_slug, cpu_type })
  for (const { min, max, step } of [body.cpu, body.ram_mb, body.disk_gb]) {
    expect(min).toBeLessThanOrEqual(max)
    expect(step).toBeGreaterThan(0)
  }
})

test('presets and limits need a zone_slug and a cpu_type that are there', async () => {
  const { zone_slug } = await order()
  for (const path of ['/pricing/presets', '/pricing/limits']) {
    const wrong = async (params: Record<string, string>) => {
      const reply = await call('GET', `${path}?${query(params)}`)
      return [reply.status, ...issues(reply).map(([pointer, code]) => `${pointer} ${code}`)]
    }
    expect(await wrong({})).toEqual([422, '/zone_slug required', '/cpu_type required'])
    expect(await wrong({ zone_slug })).toEqual([422, '/cpu_type required'])
    expect(await wrong({ cpu_type: 'amd' })).toEqual([422, '/zone_slug required'])
    expect(await wrong({ zone_slug, cpu_type: 'arm' })).toEqual([422, '/cpu_type not_in_enum'])
    expect(await wrong({ zone_slug: 'atlantis', cpu_type: 'amd' })).toEqual([422, '/zone_slug not_found'])
  }
})

test('GET /pricing/capacity has one row for each zone and CPU type, and filters by both', async () => {
  const { zone_slug, cpu_type } = await order()
  const { body } = await call('GET', '/pricing/capacity')
  const pairs = body.map((row: Reply['body']) => `${row.zone_slug} ${row.cpu_type}`)
  expect(new Set(pairs).size).toBe(pairs.length)
  for (const row of body) expect(row.is_available).toBe(row.level !== 'none')
  const one = await call('GET', `/pricing/capacity?${query({ zone_slug, cpu_type })}`)
  expect(one.body).toHaveLength(1)
  expect((await call('GET', '/pricing/capacity?zone_slug=atlantis')).body).toEqual([])
  expect((await call('GET', '/pricing/capacity?cpu_type=arm')).status).toBe(422)
})

test('a quote of a preset costs what the preset costs, and is available when it is', async () => {
  const { zone_slug, cpu_type } = await order()
  const presets = (await call('GET', `/pricing/presets?${query({ zone_slug, cpu_type })}`)).body
  for (const { preset_id, cpu, ram_mb, disk_gb, price_month_rub, price_hour_rub, is_available } of presets) {
    const body = { zone_slug, cpu_type, plan_type: 'preset', preset_id }
    expect((await call('POST', '/pricing/quote', body)).body).toMatchObject({
      ...body,
      ...{ cpu, ram_mb, disk_gb, price_month_rub, price_hour_rub, is_available },
      currency: 'RUB',
    })
  }
})

test('the parts of a quote add up to its price, a month of 730 hours', async () => {
  const { zone_slug, cpu_type } = await order()
  const limits = (await call('GET', `/pricing/limits?${query({ zone_slug, cpu_type })}`)).body
  const largest = { cpu: limits.cpu.max, ram_mb: limits.ram_mb.max, disk_gb: limits.disk_gb.max }
  for (const size of [{ cpu: 3, ram_mb: 1280, disk_gb: 35 }, largest]) {
    const body = { zone_slug, cpu_type, plan_type: 'custom', ...size }
    const quote = (await call('POST', '/pricing/quote', body)).body
    const items: Reply['body'][] = quote.items
    const parts = items.reduce((sum, item) => sum + cents(item.price_month_rub), 0)
    expect(parts).toBe(cents(quote.price_month_rub))
    expect(Number(quote.price_hour_rub)).toBeCloseTo(Number(quote.price_month_rub) / 730, 3)
    expect(items.map(({ code, quantity }) => [code, quantity])).toEqual([
      ['cpu', size.cpu],
      ['ram', size.ram_mb / 1024],
      ['disk', size.disk_gb],
    ])
  }
})

test('a quote takes the body of POST /servers, requires only the plan, and creates nothing', async (t) => {
  const before = (await call('GET', '/servers')).body.total
  const body = await order({ name: 'quoted', labels: { a: 'b' } })
  const quote = await call('POST', '/pricing/quote', body)
  expect(quote).toMatchObject({ status: 200, body: { can_create: true, blockers: [], is_available: true } })
  const { template_id: _, ...plan } = await order()
  expect((await call('POST', '/pricing/quote', plan)).status).toBe(200)
  expect((await call('GET', '/servers')).body.total).toBe(before)
  const server = await make(t, { name: 'quoted', labels: { a: 'b' }, start_on_create: false })
  expect([server.price_month_rub, server.price_hour_rub]).toEqual([
    quote.body.price_month_rub,
    quote.body.price_hour_rub,
  ])
})

test('a quote refuses what create refuses, with the same words', async () => {
  const good = await order()
  for (const more of [
    { zone_slug: 'atlantis' },
    { cpu_type: 'arm' },
    { plan_type: 'other' },
    { cpu: 0 },
    { ram_mb: 100_000_000 },
    { disk_gb: 7 },
    { preset_id: NOBODY },
    { project_id: NOBODY },
    { ssh_key_ids: [NOBODY] },
    { template_id: NOBODY },
    { colour: 'blue' },
  ]) {
    const [quote, create] = await Promise.all(
      ['/pricing/quote', '/servers'].map((path) => call('POST', path, { ...good, ...more })),
    )
    expect([more, create?.status, create?.body.errors]).toEqual([more, 422, quote?.body.errors])
  }
})

test('a quota that is used up is 403 quota_exceeded, and the same blocker in the quote', async (t) => {
  const { zone_slug, cpu_type } = await order()
  const limits = (await call('GET', `/pricing/limits?${query({ zone_slug, cpu_type })}`)).body
  const large = { cpu: limits.cpu.max, start_on_create: false }
  const made: string[] = []
  for (;;) {
    const { quotas } = (await call('GET', '/account/me')).body
    if (quotas.cpu.used + large.cpu > quotas.cpu.limit) break
    if (made.length > 5) return t.skip('the quota of CPUs is too large to use up')
    made.push((await makeStopped(t, large)).server_id)
  }
  const { quotas } = (await call('GET', '/account/me')).body
  const refused = await call('POST', '/servers', await order(large))
  expect(refused).toMatchObject({
    status: 403,
    body: { code: 'quota_exceeded', quota: { name: 'cpu', ...quotas.cpu, requested: large.cpu } },
  })
  expect((await call('POST', '/pricing/quote', await order(large))).body).toMatchObject({
    can_create: false,
    blockers: [{ code: 'quota_exceeded', detail: refused.body.detail }],
  })
  for (const id of made) await remove(id)
  expect((await call('POST', '/pricing/quote', await order(large))).body.can_create).toBe(true)
})

test('a size is within the limits, on their steps', async () => {
  const { zone_slug, cpu_type } = await order()
  const limits = (await call('GET', `/pricing/limits?${query({ zone_slug, cpu_type })}`)).body
  for (const part of ['cpu', 'ram_mb', 'disk_gb'] as const) {
    const { min, max, step } = limits[part]
    const quote = async (value: number) => {
      const reply = await call('POST', '/pricing/quote', await order({ [part]: value }))
      return issues(reply).map(([pointer, code]) => `${pointer} ${code}`)[0] ?? reply.status
    }
    expect([await quote(min), await quote(max)]).toEqual([200, 200])
    expect([await quote(min - 1), await quote(max + 1)]).toEqual([
      `/${part} below_minimum`,
      `/${part} above_maximum`,
    ])
    if (step > 1) expect(await quote(min + 1)).toBe(`/${part} not_a_step`)
    expect(await quote(min + 0.5)).toBe(`/${part} wrong_type`)
  }
})

test('a disk below the min_disk_gb of the template is disk_too_small', async (t) => {
  const templates: Reply['body'][] = (await call('GET', '/templates')).body
  const small = (await order()).disk_gb
  const large = templates.find((template) => template.min_disk_gb > small)
  if (!large) return t.skip('every template fits on the smallest disk')
  for (const path of ['/pricing/quote', '/servers']) {
    const reply = await call('POST', path, await order({ template_id: large.template_id, disk_gb: small }))
    expect([reply.status, issues(reply)]).toEqual([422, [['/disk_gb', 'disk_too_small']]])
  }
})
