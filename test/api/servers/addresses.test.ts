import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { issues, make, NOBODY, order } from '../harness/ordering.ts'

const HOUR = 3600_000

/** A zone with addresses, at 73 rubles a month: 10 kopecks an hour; and one more, with two addresses. */
function publicCatalog(ranges = '[203.0.113.0/28, 198.51.100.7/32]', price = '73.00') {
  const text = catalogText
    .replace(/\n( +)overcommit: (.*)\n/, (line, indent: string) => {
      const second = `\n  - zone_slug: far-1\n    title: Far\n    city: Far\n    country_code: ZZ\n    cpu_types: [amd]\n    public_ipv4: [192.0.2.8/31]\n    overcommit: { cpu: 8, ram: 1, disk: 1 }\n`
      return `\n${indent}public_ipv4: ${ranges}\n${indent}public_ipv6: 2001:db8:7::/48${line}${second}`
    })
    .replaceAll('disk_gb_month_rub: "6.00",', `disk_gb_month_rub: "6.00",\n      ipv4_month_rub: "${price}",`)
    .replace(
      '\nprices:\n',
      '\nprices:\n  - { active_from: 2026-01-01, zone_slug: far-1, cpu_type: amd, cpu_month_rub: "1.00", ram_gb_month_rub: "1.00", disk_gb_month_rub: "1.00" }\n',
    )
  return parseCatalog(text, 'catalog.yaml')
}

const publicApp = (catalog = publicCatalog()) => testApp({ catalog })

function reserve(t: TestApp, more: object = {}) {
  return t.call('POST', '/addresses', { zone_slug: 'local-1', family: 'ipv4', ...more })
}

const serverOf = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body

test('a server of a zone with addresses has one of each family, and SSH by its own', async () => {
  const t = await publicApp()
  const id = await make(t)
  const server = await serverOf(t, id)
  expect(server).toMatchObject({
    ipv4: expect.stringMatching(/^(203\.0\.113\.\d+|198\.51\.100\.7)$/),
    ipv6: expect.stringMatching(/^2001:db8:7:.*::2$|^2001:db8:7::2$/),
    ssh: { host: server.ipv4, port: 22 },
  })
  const details = (await t.call('GET', `/servers/${id}/details`)).body
  expect(details.ssh.command).toBe(`ssh ${server.ssh.username}@${server.ipv4}`)
  const network = server.ipv6.replace(/2$/, '/64')
  expect(t.driver.networkOf(id)?.public).toEqual({ ipv4: server.ipv4, ipv6: network })
  const { items } = (await t.call('GET', '/addresses')).body
  expect(items).toMatchObject([
    { family: 'ipv6', address: network, server_id: id, price_month_rub: '0.00' },
    { family: 'ipv4', address: server.ipv4, server_id: id, price_month_rub: '73.00', reverse_dns: null },
  ])
  expect((await t.call('GET', '/account/me')).body.quotas.addresses).toEqual({ limit: 10, used: 0 })
})

test('a server ordered without public addresses has none, and is reached by a port', async () => {
  const t = await publicApp()
  const id = await make(t, { enable_ipv4: false, enable_ipv6: false })
  expect(await serverOf(t, id)).toMatchObject({ ipv4: null, ipv6: null, ssh: { host: '127.0.0.1' } })
  expect(t.driver.networkOf(id)?.public).toEqual({ ipv4: null, ipv6: null })
  expect((await t.call('GET', '/addresses')).body.total).toBe(0)
})

test('a zone says whether it has addresses, and refuses what it does not have', async () => {
  const t = await publicApp()
  const features = async () => {
    const zones = (await t.call('GET', '/zones')).body
    return zones.map(({ features }: { features: string[] }) =>
      features.filter((name) => /public|publish/.test(name)),
    )
  }
  expect(await features()).toEqual([['public_ipv4', 'public_ipv6'], ['public_ipv4']])
  const id = await make(t)
  const port = await t.call('POST', `/servers/${id}/ports`, { protocol: 'tcp', port: 80 })
  expect(port).toMatchObject({ status: 409, body: { code: 'not_supported', feature: 'published_ports' } })
  const plain = await testApp()
  expect((await plain.call('GET', '/zones')).body[0].features).toContain('published_ports')
  for (const reply of [
    await reserve(plain),
    await plain.call('POST', '/servers', await order(plain.call, { enable_ipv4: true })),
  ])
    expect(reply).toMatchObject({ status: 409, body: { code: 'not_supported', feature: 'public_ipv4' } })
  const body = await order(plain.call, { enable_ipv6: true })
  const quote = (await plain.call('POST', '/pricing/quote', body)).body
  expect(quote.blockers).toMatchObject([{ code: 'not_supported' }])
})

test('a driver that cannot route addresses to servers has none to offer', async () => {
  const t = await testApp({
    catalog: publicCatalog(),
    simulator: { host: { features: ['published_ports'] } },
  })
  expect((await t.call('GET', '/zones')).body[0].features).toEqual(['published_ports'])
  expect(await serverOf(t, await make(t))).toMatchObject({ ipv4: null, ipv6: null })
  expect((await reserve(t)).body.code).toBe('not_supported')
})

test('an address is reserved, given to a server, moved to another, taken away and given back, all without a restart', async () => {
  const t = await publicApp()
  const without = { enable_ipv4: false, enable_ipv6: false }
  const [one, two] = [await make(t, without), await make(t, without)]
  const reply = await reserve(t)
  const { address_id, address } = reply.body
  expect(reply).toMatchObject({
    status: 201,
    body: { server_id: null, family: 'ipv4', zone_slug: 'local-1' },
  })
  expect(reply.headers.location).toBe(`/v1/addresses/${address_id}`)
  const give = (server_id: string | null) => t.call('PATCH', `/addresses/${address_id}`, { server_id })
  const has = (id: string) => t.driver.networkOf(id)?.public.ipv4 ?? null
  for (const [taker, ofOne, ofTwo] of [
    [one, address, null],
    [one, address, null],
    [two, null, address],
    [null, null, null],
    [two, null, address],
  ] as const) {
    expect(await give(taker)).toMatchObject({ status: 200, body: { server_id: taker, address } })
    await t.app.connectivity.settled()
    expect([has(one), has(two)]).toEqual([ofOne, ofTwo])
    expect([(await serverOf(t, one)).ipv4, (await serverOf(t, two)).ipv4]).toEqual([ofOne, ofTwo])
  }
  expect(await serverOf(t, two)).toMatchObject({ status: 'running', ssh: { host: address, port: 22 } })
  const refused = await t.call('DELETE', `/addresses/${address_id}`)
  expect(refused).toMatchObject({ status: 409, body: { code: 'address_in_use' } })
  expect((await t.call('DELETE', `/addresses/${address_id}?force=true`)).status).toBe(204)
  await t.app.connectivity.settled()
  expect([has(two), (await serverOf(t, two)).ipv4]).toEqual([null, null])
  expect((await t.call('GET', `/addresses/${address_id}`)).body.code).toBe('address_not_found')
})

test('a server has one address of a family', async () => {
  const t = await publicApp()
  const id = await make(t)
  const { address_id } = (await reserve(t)).body
  const reply = await t.call('PATCH', `/addresses/${address_id}`, { server_id: id })
  expect(reply).toMatchObject({ status: 409, body: { code: 'address_in_use' } })
  expect((await reserve(t, { server_id: id })).body.code).toBe('address_in_use')
  expect((await reserve(t, { family: 'ipv6', server_id: NOBODY })).status).toBe(422)
})

test('an address goes to servers of its account and zone alone', async () => {
  const t = await publicApp()
  const stranger = t.callAs(
    await t.makeToken(['servers:read', 'servers:write'], { accountId: await t.makeAccount() }),
  )
  const { address_id } = (await reserve(t)).body
  for (const [method, body] of [['GET'], ['PATCH', { reverse_dns: null }], ['DELETE']] as const)
    expect((await stranger(method, `/addresses/${address_id}`, body)).status).toBe(404)
  expect((await stranger('GET', '/addresses')).body.total).toBe(0)
  const theirs = (await stranger('POST', '/servers', await order(stranger, { enable_ipv4: false }))).body
    .server_id
  const far = await make(t, { zone_slug: 'far-1', enable_ipv4: false })
  for (const server_id of [NOBODY, theirs, far]) {
    const reply = await t.call('PATCH', `/addresses/${address_id}`, { server_id })
    expect([reply.status, issues(reply.body)]).toEqual([422, [['/server_id', 'not_found']]])
  }
})

test('an address goes to a server in every status but deleting, also one that is off', async () => {
  const t = await publicApp()
  const id = await make(t, { enable_ipv4: false, start_on_create: false })
  const { address_id, address } = (await reserve(t, { server_id: id })).body
  expect((await serverOf(t, id)).ipv4).toBe(address)
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  expect(t.driver.networkOf(id)?.public.ipv4).toBe(address)
  await t.call('DELETE', `/servers/${id}`)
  expect((await t.call('GET', `/addresses/${address_id}`)).body.server_id).toBeNull()
  const late = await t.call('PATCH', `/addresses/${address_id}`, { server_id: id })
  expect(late).toMatchObject({ status: 409, body: { code: 'operation_in_progress' } })
})

test('addresses that came with a server are released with it; reserved and moved ones stay', async () => {
  const t = await publicApp()
  const [one, two] = [await make(t), await make(t, { enable_ipv4: false })]
  const { items } = (await t.call('GET', '/addresses')).body
  const moved = items.find(
    (row: { server_id: string; family: string }) => row.server_id === one && row.family === 'ipv4',
  )
  await t.call('PATCH', `/addresses/${moved.address_id}`, { server_id: two })
  await t.call('DELETE', `/servers/${one}`)
  await t.call('DELETE', `/servers/${two}`)
  await t.finish()
  const left = (await t.call('GET', '/addresses')).body
  expect(left).toMatchObject({ total: 1, items: [{ address: moved.address, server_id: null }] })
  expect((await t.call('GET', '/account/me')).body.quotas.addresses.used).toBe(1)
})

test('a reverse DNS name is kept, and must be valid', async () => {
  const t = await publicApp()
  const { address_id } = (await reserve(t)).body
  const name = (reverse_dns: string | null) => t.call('PATCH', `/addresses/${address_id}`, { reverse_dns })
  expect((await name('mail.example.com')).body.reverse_dns).toBe('mail.example.com')
  expect((await t.call('GET', `/addresses/${address_id}`)).body.reverse_dns).toBe('mail.example.com')
  for (const wrong of [
    'mail',
    '-a.example.com',
    'a-.example.com',
    'a b.example.com',
    'x.\nIN PTR y.',
    `${'a'.repeat(64)}.com`,
  ])
    expect((await name(wrong)).status).toBe(422)
  expect((await name(null)).body.reverse_dns).toBeNull()
})

test('no address is given out twice, however many ask at once, and an empty zone says where there are some', async () => {
  const t = await publicApp()
  const callers = [t.call]
  for (let more = 0; more < 3; more++)
    callers.push(
      t.callAs(await t.makeToken(['servers:read', 'servers:write'], { accountId: await t.makeAccount() })),
    )
  const wanted = { zone_slug: 'local-1', family: 'ipv4' }
  const asked = Array.from({ length: 24 }, (_, at) => callers[at % 4]?.('POST', '/addresses', wanted))
  const replies = (await Promise.all(asked)).flatMap((reply) => reply ?? [])
  const made = replies.filter(({ status }) => status === 201).map(({ body }) => body.address)
  // 14 of the /28, without its first and last, and the one that stands alone.
  expect([made.length, new Set(made).size]).toEqual([15, 15])
  const refused = replies.find(({ status }) => status !== 201)
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'address_unavailable', alternatives: ['far-1'] },
  })
  const body = await order(t.call)
  const quote = (await t.call('POST', '/pricing/quote', body)).body
  expect(quote).toMatchObject({ can_create: false, blockers: [{ code: 'address_unavailable' }] })
  expect((await t.call('POST', '/servers', body)).body.code).toBe('address_unavailable')
  expect((await t.call('POST', '/servers', { ...body, enable_ipv4: false })).status).toBe(202)
})

test('an address that was given back is kept from others for a day, and is the first that its account gets again', async () => {
  const t = await publicApp(publicCatalog('[203.0.113.8/31]'))
  const other = t.callAs(await t.makeToken(['servers:write'], { accountId: await t.makeAccount() }))
  const take = (call = t.call) => call('POST', '/addresses', { zone_slug: 'local-1', family: 'ipv4' })
  const first = (await take()).body
  await t.call('DELETE', `/addresses/${first.address_id}`)
  const theirs = (await take(other)).body
  expect(theirs.address).not.toBe(first.address)
  expect((await take(other)).body.code).toBe('address_unavailable')
  const again = (await take()).body
  expect([again.address, again.address_id === first.address_id]).toEqual([first.address, false])
  await t.call('DELETE', `/addresses/${again.address_id}`)
  t.clock.advance(24 * HOUR)
  expect((await take(other)).body.address).toBe(first.address)
})

test('an account reserves as many as its quota says, besides those of its servers', async () => {
  const t = await publicApp(publicCatalog('[203.0.113.0/24]'))
  await make(t)
  for (let count = 0; count < 10; count++) expect((await reserve(t)).status).toBe(201)
  const quota = { name: 'addresses', limit: 10, used: 10, requested: 1 }
  expect((await reserve(t)).body).toMatchObject({ code: 'quota_exceeded', quota })
  const { items } = (await t.call('GET', '/addresses')).body
  const own = items.find((row: { server_id: string | null }) => row.server_id !== null)
  const kept = await t.call('PATCH', `/addresses/${own.address_id}`, { server_id: null })
  expect(kept.body).toMatchObject({ code: 'quota_exceeded', quota })
})

test('an address costs as long as it is reserved, with a server or without', async () => {
  const t = await publicApp()
  const id = await make(t, { enable_ipv4: false, enable_ipv6: false })
  const charged = async () => {
    await t.app.billing.look()
    const { items } = (await t.call('GET', '/account/usage')).body
    return items.filter((row: { server_id: string }) => row.server_id !== id)
  }
  const before = Number((await t.call('GET', '/account/balance')).body.cost_hour_rub)
  const { address_id, address } = (await reserve(t)).body
  expect(Number((await t.call('GET', '/account/balance')).body.cost_hour_rub)).toBeCloseTo(before + 0.1)
  t.clock.advance(2 * HOUR)
  await t.call('PATCH', `/addresses/${address_id}`, { server_id: id })
  t.clock.advance(3 * HOUR)
  expect(await charged()).toMatchObject([{ item_id: address_id, item_name: address, amount: '0.50' }])
  await t.call('PATCH', `/addresses/${address_id}`, { server_id: null })
  t.clock.advance(HOUR)
  await t.call('DELETE', `/addresses/${address_id}`)
  t.clock.advance(5 * HOUR)
  expect(await charged()).toMatchObject([{ amount: '0.60', hours: 6 }])
  expect(Number((await t.call('GET', '/account/balance')).body.cost_hour_rub)).toBeCloseTo(before)
})

test('a quote has the address in its price, and an order must be covered with it', async () => {
  const t = await publicApp(publicCatalog('[203.0.113.0/24]', '730.00'))
  const body = await order(t.call)
  const quote = (await t.call('POST', '/pricing/quote', body)).body
  const plain = (await t.call('POST', '/pricing/quote', { ...body, enable_ipv4: false })).body
  expect(quote.items.at(-1)).toEqual({
    code: 'ipv4',
    quantity: 1,
    unit: 'address',
    price_unit_month_rub: '730.00',
    price_month_rub: '730.00',
  })
  expect(Number(quote.price_month_rub)).toBeCloseTo(Number(plain.price_month_rub) + 730)
  expect(Number(quote.price_hour_rub)).toBeCloseTo(Number(plain.price_hour_rub) + 1)
  const poor = await t.makeAccount('20')
  const call = t.callAs(await t.makeToken(ALL, { accountId: poor }))
  const mine = await order(call)
  expect((await call('POST', '/servers', mine)).body.code).toBe('insufficient_balance')
  expect((await call('POST', '/addresses', { zone_slug: 'local-1', family: 'ipv4' })).body.code).toBe(
    'insufficient_balance',
  )
  expect((await call('POST', '/addresses', { zone_slug: 'local-1', family: 'ipv6' })).status).toBe(201)
  expect((await call('POST', '/servers', { ...mine, enable_ipv4: false })).status).toBe(202)
})

test('a free address leaves nothing in the ledger, and nothing at all once it was given back', async () => {
  const t = await publicApp(publicCatalog('[203.0.113.0/24]', '0.00'))
  const { address_id } = (await reserve(t)).body
  t.clock.advance(3 * HOUR)
  await t.app.billing.look()
  expect((await t.call('GET', '/account/usage')).body.items).toEqual([])
  await t.call('DELETE', `/addresses/${address_id}`)
  t.clock.advance(91 * 24 * HOUR)
  await t.app.retention.look()
  expect(await t.db.selectFrom('addresses').select('address_id').execute()).toEqual([])
})

const ALL = ['servers:read', 'servers:write', 'account:read', 'account:write'] as const

test('an address keeps its price, also where it had none, until the operator says from when not', async () => {
  const text = catalogText.replace(/\n( +)overcommit: /, '\n$1public_ipv4: [203.0.113.0/28]\n$1overcommit: ')
  const parts = 'cpu_month_rub: "180.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00"'
  const at = (more: string) =>
    parseCatalog(
      text.replace(
        'prices:\n',
        `prices:\n  - { active_from: 2026-12-01, zone_slug: local-1, cpu_type: amd, ${parts}, ipv4_month_rub: "73.00"${more} }\n`,
      ),
      'catalog.yaml',
    )
  const catalog = new LiveCatalog(at(''))
  const t = await testApp({ catalog })
  const { address_id } = (await reserve(t)).body
  const price = async () => (await t.call('GET', `/addresses/${address_id}`)).body.price_month_rub
  t.clock.advance(Date.UTC(2026, 11, 2) - t.clock.now())
  await t.app.billing.look()
  expect(await price()).toBe('0.00')
  catalog.replace(at(', existing_from: 2026-12-02'))
  await t.app.billing.look()
  expect(await price()).toBe('73.00')
  t.clock.advance(10 * HOUR)
  await t.app.billing.look()
  expect((await t.call('GET', '/account/usage?month=2026-12')).body).toMatchObject({ amount: '1.00' })
  await t.call('DELETE', `/addresses/${address_id}`)
  t.clock.advance(10 * HOUR)
  await t.app.billing.look()
  expect((await t.call('GET', '/account/usage?month=2026-12')).body).toMatchObject({ amount: '1.00' })
})

test('addresses are listed by the server that has them', async () => {
  const t = await publicApp()
  const id = await make(t)
  await reserve(t)
  const { body } = await t.call('GET', `/addresses?server_id=${id}`)
  expect(body).toMatchObject({ total: 2, items: [{ server_id: id }, { server_id: id }] })
  expect((await t.call('GET', `/addresses?server_id=${NOBODY}`)).body.total).toBe(0)
})
