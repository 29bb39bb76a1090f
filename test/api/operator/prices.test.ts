import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import { catalogText, type TestApp } from '../../harness/app.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'
import { DAY_MS, makeOperatorToken, withShop } from './harness/shop.ts'

const HOUR_MS = 3600_000
const CUSTOM = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }
const reason = 'A contract'
const nothing = { price_percent: 0, preset_prices_rub: {}, reason }

const priced = catalogText.replaceAll(
  'cpu_month_rub:',
  'snapshot_gb_month_rub: "3.00", backups_percent: 20, ipv4_month_rub: "150.00", cpu_month_rub:',
)
const parse = (text: string) => parseCatalog(text, 'catalog.yaml')

async function withPrices() {
  const ranges = 'public_ipv4: [203.0.113.0/28]'
  const catalog = new LiveCatalog(parse(priced.replace('overcommit:', `${ranges}\n    overcommit:`)))
  const { t, shop } = await withShop({ catalog })
  const set = async (body: object) => {
    const later = t.callAs((await makeOperatorToken(t, ['operator:money'])).value)
    return later('POST', `/operator/accounts/${t.accountId}/prices`, { reason, ...body })
  }
  return { t, shop, catalog, set }
}

const monthOf = async (t: TestApp, path: string) => (await t.call('GET', path)).body.price_month_rub
const costs = async (t: TestApp) => (await t.call('GET', '/account/balance')).body.cost_month_rub

async function forward(t: TestApp, ms: number): Promise<void> {
  t.clock.advance(ms)
  await t.app.billing.look()
}

test('a discount applies to an account’s objects from that moment, and to its offers, and to nobody else’s', async () => {
  const { t, shop, set } = await withPrices()
  const id = await make(t, { ...CUSTOM, name: 'web-1', backups_enabled: true })
  const { body: volume } = await t.call('POST', '/volumes', { name: 'v', zone_slug: 'local-1', size_gb: 10 })
  const { body: snapshot } = await t.call('POST', '/snapshots', { server_id: id })
  await t.finish()
  const [snapshotPath, volumePath] = [`/snapshots/${snapshot.snapshot_id}`, `/volumes/${volume.volume_id}`]
  const before = await monthOf(t, snapshotPath)
  expect([await monthOf(t, `/servers/${id}`), await monthOf(t, volumePath)]).toEqual(['300.00', '60.00'])
  const list = async (call: TestApp['call']) =>
    (await call('GET', '/pricing/limits?zone_slug=local-1&cpu_type=amd')).body.unit_prices.cpu_month_rub
  const quote = async () =>
    (await t.call('POST', '/pricing/quote', await order(t.call, CUSTOM))).body.price_month_rub
  await forward(t, 2 * HOUR_MS)
  const charged = Number((await t.call('GET', '/account/usage')).body.amount)

  const changed = await set({ price_percent: -50, preset_prices_rub: {} })
  expect(changed).toMatchObject({ status: 200, body: { price_percent: -50, preset_prices_rub: {} } })
  expect((await t.call('GET', '/account/me')).body).toMatchObject({ price_percent: -50 })
  expect(await monthOf(t, `/servers/${id}`)).toBe('150.00')
  expect(await monthOf(t, volumePath)).toBe('30.00')
  expect(Number(await monthOf(t, snapshotPath))).toBe(Number(before) / 2)
  expect([await list(t.call), await quote()]).toEqual(['90.00', '225.00'])
  const other = t.callAs(
    (
      await shop('POST', `/operator/accounts/${await t.makeAccount()}/tokens`, {
        name: 'other',
        scopes: ['read'],
      })
    ).body.token,
  )
  expect(await list(other)).toBe('180.00')
  // The server, its backups at a fifth of it, its address, the volume and the snapshot.
  expect(Number(await costs(t))).toBe(150 + 30 + 75 + 30 + Number(before) / 2)
  await forward(t, 2 * HOUR_MS)
  const later = Number((await t.call('GET', '/account/usage')).body.amount)
  expect(Math.abs(later - charged - charged / 2)).toBeLessThan(0.1)

  await set(nothing)
  expect([await monthOf(t, `/servers/${id}`), await quote()]).toEqual(['300.00', '450.00'])
  const { items } = (await t.call('GET', '/account/audit')).body
  expect(items[0].action).toContain("setAccountPrices, by the operator's token shop")
  const events = (await t.call('GET', '/events?limit=100')).body.items
  const told = events.filter(({ type }: { type: string }) => type === 'account.updated')
  expect(told.at(-1).data).toMatchObject({ reason, price_percent: 0, preset_prices_rub: {} })
  expect((await shop('GET', `/operator/accounts/${t.accountId}`)).body.price_percent).toBe(0)
})

test('an account’s own preset prices are those that the operator set, and an address gets the discount', async () => {
  const { t, set } = await withPrices()
  const id = await make(t, { name: 'web-1', enable_ipv4: true })
  const { items } = (await t.call('GET', '/addresses')).body
  const own = { price_percent: 20, preset_prices_rub: { nano: '99.50' } }
  expect((await set(own)).body).toMatchObject(own)
  expect(await monthOf(t, `/servers/${id}`)).toBe('99.50')
  expect(await monthOf(t, `/addresses/${items[0].address_id}`)).toBe('180.00')
  const presets = (await t.call('GET', '/pricing/presets?zone_slug=local-1&cpu_type=amd')).body
  const prices = presets.map((one: { slug: string; price_month_rub: string }) => [
    one.slug,
    one.price_month_rub,
  ])
  expect(Object.fromEntries(prices)).toMatchObject({ nano: '99.50', micro: expect.not.stringMatching(/^99/) })
  const second = await make(t, { name: 'web-2', enable_ipv4: true })
  expect(await monthOf(t, `/servers/${second}`)).toBe('99.50')
  expect(await costs(t)).toBe('559.00')
  await set({ price_percent: -100, preset_prices_rub: {} })
  expect(await costs(t)).toBe('0.00')
})

test('a server keeps the day of its prices when its account’s prices change, and follows both afterwards', async () => {
  const { t, catalog, set } = await withPrices()
  const id = await make(t, { ...CUSTOM, name: 'web-1' })
  const entry = (from: string, rest = '') =>
    `  - { active_from: ${from}, zone_slug: local-1, cpu_type: amd, cpu_month_rub: "280.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00"${rest} }\n`
  const add = (line: string) => catalog.replace(parse(priced.replace('prices:\n', `prices:\n${line}`)))
  add(entry('2026-11-21'))
  await forward(t, 2 * DAY_MS)
  await set({ price_percent: -10, preset_prices_rub: {} })
  expect(await monthOf(t, `/servers/${id}`)).toBe('270.00')
  add(entry('2026-11-21', ', existing_from: 2026-11-24'))
  await forward(t, 2 * DAY_MS)
  expect(await monthOf(t, `/servers/${id}`)).toBe('360.00')
})

test('orders at earlier prices move to the account’s prices at the next check, and the checks end', async () => {
  const { t, set } = await withPrices()
  const id = await make(t, { ...CUSTOM, name: 'web-1' })
  await set({ price_percent: -10, preset_prices_rub: {} })
  // As an order leaves it that read the prices before the change and was written after it.
  await t.db.updateTable('servers').set({ price_month: 3_000_000 }).execute()
  await forward(t, 4_000)
  expect(await monthOf(t, `/servers/${id}`)).toBe('270.00')
  const due = () => t.db.selectFrom('accounts').select('repriced_since').execute()
  expect(await due()).toContainEqual({ repriced_since: expect.any(Number) })
  await forward(t, 2 * HOUR_MS)
  expect((await due()).every(({ repriced_since }) => repriced_since === null)).toBe(true)
})

test('processes that reprice an account’s objects at the same time report each change once', async () => {
  const { t, set } = await withPrices()
  await make(t, { ...CUSTOM, name: 'web-1', enable_ipv4: true })
  await t.call('POST', '/volumes', { name: 'v', zone_slug: 'local-1', size_gb: 10 })
  await set({ price_percent: -10, preset_prices_rub: {} })
  // As orders leave them that read the prices before the change and were written after it.
  await t.db.updateTable('volumes').set({ price_month: 3_000_000 }).execute()
  await t.db.updateTable('addresses').set({ price_month: 3_000_000 }).execute()
  const told = async () => {
    const events = t.db.selectFrom('events').select('type').orderBy('type')
    const rows = await events.where('type', 'in', ['address.updated', 'volume.updated']).execute()
    return rows.map(({ type }) => type)
  }
  await t.db.deleteFrom('events').execute()
  await Promise.all([1, 2, 3].map(() => t.app.billing.look()))
  expect(await told()).toEqual(['address.updated', 'volume.updated'])
})

test('prices that make no sense are refused, and only a token for money sets any', async () => {
  const { t, shop, set } = await withPrices()
  const wrong = [
    { price_percent: -101, preset_prices_rub: {} },
    { price_percent: 101, preset_prices_rub: {} },
    { price_percent: 0.5, preset_prices_rub: {} },
    { price_percent: 0, preset_prices_rub: { nano: '-1' } },
    { price_percent: 0, preset_prices_rub: { nano: '1.005' } },
    { price_percent: 0, preset_prices_rub: { giant: '1.00' } },
    { price_percent: 0 },
  ]
  for (const body of wrong) expect([body, (await set(body)).status]).toEqual([body, 422])
  expect((await shop('POST', `/operator/accounts/${NOBODY}/prices`, nothing)).status).toBe(404)
  const writer = t.callAs((await makeOperatorToken(t, ['operator:write'])).value)
  const refused = await writer('POST', `/operator/accounts/${t.accountId}/prices`, nothing)
  expect(refused).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
})
