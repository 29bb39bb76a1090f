// Charges for traffic beyond what a server's plan includes.
import { expect, test } from 'vitest'
import { chargeBatch } from '../../../api/billing/metering.ts'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import { dryRun } from '../../../api/database/database.ts'
import { addTraffic } from '../../../api/monitoring/traffic.ts'
import { billedItems } from '../../../api/servers/queries.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

const HOUR = 3600_000
const GB = 1_000_000_000

/** A catalogue in which a nano may send so much a month, at this price for each TB more. */
const sold = (gb: number, tb: string, more = '', mbit = 200) =>
  parseCatalog(
    catalogText
      .replace('slug: nano,', `slug: nano, traffic_gb: ${gb}, bandwidth_mbit: ${mbit},`)
      .replace('cpu_type: amd,', `cpu_type: amd, traffic_tb_rub: "${tb}",`)
      .replace('prices:\n', `prices:\n${more}`)
      .replace('limits:\n', 'limits:\n  traffic_gb: 50\n'),
    'catalog.yaml',
  )

function sends(t: TestApp, server_id: string, gb: number) {
  const now = new Date(t.clock.now())
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
  const row = { server_id, account_id: t.accountId, month, in_bytes: GB, out_bytes: gb * GB }
  return addTraffic(t.db, [row])
}

/** The clock goes on, and billing looks. */
async function pass(t: TestApp, ms: number): Promise<void> {
  t.clock.advance(ms)
  await t.app.billing.look()
}

const details = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}/details`)).body

async function chargedForTraffic(t: TestApp): Promise<[string, string][]> {
  const { items } = (await t.call('GET', '/account/transactions?limit=200')).body
  return items
    .filter(({ description }: { description: string }) => description.endsWith('of traffic'))
    .map((entry: { amount: string; description: string }) => [entry.amount, entry.description.split(', ')[1]])
    .reverse()
}

test('a plan’s included traffic and the price beyond it are shown before and after an order', async () => {
  const t = await testApp({ catalog: sold(100, '120.00') })
  const terms = { traffic_gb: 100, traffic_tb_rub: '120.00', bandwidth_mbit: 200 }
  const place = 'zone_slug=local-1&cpu_type=amd'
  expect((await t.call('GET', `/pricing/presets?${place}`)).body[0]).toMatchObject(terms)
  expect((await t.call('GET', `/pricing/limits?${place}`)).body).toMatchObject({
    traffic_gb: 50,
    bandwidth_mbit: null,
  })
  expect((await t.call('POST', '/pricing/quote', await order(t.call))).body).toMatchObject(terms)
  const id = await make(t)
  expect((await details(t, id)).traffic).toMatchObject({ ...terms, out_bytes: 0, excess_rub: '0.00' })
  expect(t.driver.networkOf(id)?.bandwidthMbit).toBe(200)
})

test('traffic beyond what is included is charged once, each hour, also if the service dies between', async () => {
  const t = await testApp({ catalog: sold(100, '120.00') })
  // So that the month begins with it.
  t.clock.advance(Date.UTC(2026, 11) - t.clock.now())
  const id = await make(t)
  const included = (await details(t, id)).traffic.included_bytes
  expect(included).toBeGreaterThan(99 * GB)
  await sends(t, id, included / GB)
  await pass(t, HOUR)
  expect(await chargedForTraffic(t)).toEqual([])
  await sends(t, id, 500)
  await dryRun(t.db, async (tx) => void (await chargeBatch(tx, billedItems, t.clock.now() + HOUR)))
  await pass(t, HOUR)
  await t.app.billing.look()
  await pass(t, HOUR)
  expect(await chargedForTraffic(t)).toEqual([['-60.00', '500.000 GB of traffic']])
  expect((await details(t, id)).traffic.excess_rub).toBe('60.00')
  await sends(t, id, 0.02)
  await pass(t, HOUR)
  await sends(t, id, 250)
  await pass(t, 26 * HOUR)
  expect((await chargedForTraffic(t)).slice(1)).toEqual([['-30.00', '250.020 GB of traffic']])
  const usage = (await t.call('GET', '/account/usage')).body
  expect(usage.items).toMatchObject([{ hours: 30, traffic_amount: '90.00' }])
  const { balance } = (await t.call('GET', '/account/balance')).body
  expect(10_000 - Number(usage.amount)).toBeCloseTo(Number(balance), 2)
  // The next month begins with a whole allowance.
  await pass(t, 31 * 24 * HOUR)
  await sends(t, id, 100)
  await pass(t, 2 * HOUR)
  expect(await chargedForTraffic(t)).toHaveLength(2)
})

test('a server that is deleted early has the share of its time, so that replacing it brings no more', async () => {
  const t = await testApp({ catalog: sold(744, '100.00') })
  t.clock.advance(Date.UTC(2026, 11) - t.clock.now())
  const id = await make(t)
  await sends(t, id, 101)
  await pass(t, HOUR)
  expect(await chargedForTraffic(t)).toEqual([])
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  await pass(t, HOUR)
  expect(await chargedForTraffic(t)).toEqual([['-10.00', expect.stringMatching(/^(99|100)\./)]])
  await pass(t, 3 * HOUR)
  expect(await chargedForTraffic(t)).toHaveLength(1)
})

test('servers keep the traffic that they were ordered with, unless the operator says from when not', async () => {
  const catalog = new LiveCatalog(sold(100, '120.00'))
  const t = await testApp({ catalog })
  const id = await make(t)
  const parts = 'cpu_month_rub: "180.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00"'
  const entry = (more: string) =>
    `  - { active_from: 2026-12-01, zone_slug: local-1, cpu_type: amd, ${parts}, traffic_tb_rub: "200.00"${more} }\n`
  catalog.replace(sold(10, '120.00', entry('')))
  t.clock.advance(Date.UTC(2026, 11, 2) - t.clock.now())
  await t.app.billing.look()
  const terms = async () => (await details(t, id)).traffic
  expect(await terms()).toMatchObject({ traffic_gb: 100, traffic_tb_rub: '120.00' })
  catalog.replace(sold(10, '120.00', entry(', existing_from: 2026-12-02')))
  await t.app.billing.look()
  expect(await terms()).toMatchObject({ traffic_gb: 10, traffic_tb_rub: '200.00' })
})

test.each([
  [100, 200],
  [500, 500],
])(
  'where a plan of 200 Mbit/s is sold with %d, servers that are there have %d by new prices',
  async (mbit, has) => {
    const catalog = new LiveCatalog(sold(100, '120.00'))
    const t = await testApp({ catalog })
    const id = await make(t)
    const parts = 'cpu_month_rub: "180.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00"'
    const entry = `  - { active_from: 2026-12-01, existing_from: 2026-12-01, zone_slug: local-1, cpu_type: amd, ${parts} }\n`
    catalog.replace(sold(100, '120.00', entry, mbit))
    t.clock.advance(Date.UTC(2026, 11, 2) - t.clock.now())
    await t.app.billing.look()
    expect((await details(t, id)).traffic.bandwidth_mbit).toBe(has)
  },
)

test('traffic recorded after its month’s last charge is charged with the next month’s first', async () => {
  const t = await testApp({ catalog: sold(0, '100.00') })
  t.clock.advance(Date.UTC(2026, 11) - HOUR - t.clock.now())
  const id = await make(t)
  await pass(t, HOUR)
  // By a sampler that was slow at midnight.
  const november = { server_id: id, account_id: t.accountId, month: Date.UTC(2026, 10) }
  await addTraffic(t.db, [{ ...november, in_bytes: 0, out_bytes: 100 * GB }])
  await sends(t, id, 50)
  await pass(t, HOUR)
  await pass(t, 2 * HOUR)
  expect(await chargedForTraffic(t)).toEqual([['-15.00', '150.000 GB of traffic']])
  expect((await details(t, id)).traffic.excess_rub).toBe('5.00')
})
