import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import { parseMoney } from '../../../api/money.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { ManualClock } from '../../harness/clock.ts'
import { make, order } from '../harness/ordering.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR
const CUSTOM = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }

async function until(t: TestApp, iso: string) {
  t.clock.advance(Date.parse(iso) - t.clock.now())
  await t.app.billing.look()
}

async function charges(t: TestApp, serverId?: string) {
  const { items } = (await t.call('GET', '/account/transactions?limit=200')).body
  return items
    .filter((item: { type: string; server_id: string }) => item.type === 'charge')
    .filter((item: { server_id: string }) => !serverId || item.server_id === serverId)
    .map((item: { amount: string; description: string }) => `${item.amount} ${item.description}`)
    .reverse()
}

const balance = async (t: TestApp) => (await t.call('GET', '/account/balance')).body.balance
const server = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body

test('each hour is charged when it is over, from the second in which the machine was turned on', async () => {
  const t = await testApp()
  t.clock.advance(20 * 60_000)
  const id = await make(t, CUSTOM)
  expect((await server(t, id)).price_hour_rub).toBe('0.4110')
  const began = Date.parse((await t.call('GET', `/servers/${id}/details`)).body.billing.billed_since)
  await until(t, '2026-11-20T12:59:59Z')
  expect(await charges(t)).toEqual([])
  await until(t, '2026-11-20T13:00:00Z')
  const seconds = (Date.parse('2026-11-20T13:00:00Z') - (began - (began % 1000))) / 1000
  const parts = [`${Math.floor(seconds / 60)} min`, ...(seconds % 60 ? [`${seconds % 60} s`] : [])]
  expect(await charges(t)).toEqual([`-0.27 2026-11-20 12:00 UTC, ${parts.join(' ')}`])
  await until(t, '2026-11-20T15:30:00Z')
  // Whole kopecks that add up to the cost, however often it is looked: 0.2740, 0.6850, 1.0960.
  expect((await charges(t)).slice(1)).toEqual(['-0.83 2026-11-20 13:00 UTC, 2 h'])
  await t.app.billing.look()
  expect(await charges(t)).toHaveLength(2)
  expect(await balance(t)).toBe('9998.90')
})

test('a month of 31 days costs the month price that the quote has named, and not a kopeck more', async () => {
  const t = await testApp()
  t.clock.advance(Date.parse('2026-11-30T23:00:00Z') - t.clock.now())
  const quote = (await t.call('POST', '/pricing/quote', await order(t.call))).body
  const id = await make(t)
  await until(t, '2026-12-01T00:00:00Z')
  const before = await balance(t)
  for (let day = 1; day <= 31; day++) await until(t, `2026-12-${String(day).padStart(2, '0')}T12:00:00Z`)
  await until(t, '2027-01-01T00:00:00Z')
  const { items, amount } = (await t.call('GET', '/account/usage?month=2026-12')).body
  expect(amount).toBe(quote.price_month_rub)
  expect(items).toMatchObject([{ server_id: id, hours: 744, amount: quote.price_month_rub }])
  expect(parseMoney(before) - parseMoney(await balance(t))).toBe(parseMoney(quote.price_month_rub))
})

test('a resize is billed from its second on, and the hour it falls in stays one charge', async () => {
  const t = await testApp()
  const id = await make(t, CUSTOM)
  await until(t, '2026-11-20T13:00:00Z')
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  t.clock.advance(Date.parse('2026-11-20T13:30:00Z') - t.clock.now())
  const before = (await server(t, id)).price_hour_rub
  await t.call('PATCH', `/servers/${id}`, { cpu: 2, ram_mb: 1024, disk_gb: 20 })
  await t.finish()
  const after = (await server(t, id)).price_hour_rub
  await until(t, '2026-11-20T14:00:00Z')
  const [, second, ...rest] = await charges(t)
  expect(rest).toEqual([])
  // A stopped server is billed as a running one is: half an hour of each price.
  const halves = (parseMoney(before) + parseMoney(after)) / 2
  expect(Math.abs(parseMoney(second?.split(' ')[0] ?? '') + halves)).toBeLessThanOrEqual(100)
})

test('a server that is deleted is charged up to the second of the request', async () => {
  const t = await testApp()
  const id = await make(t)
  await until(t, '2026-11-20T13:00:00Z')
  t.clock.advance(10 * 60_000)
  await t.call('DELETE', `/servers/${id}`)
  expect((await t.call('GET', '/account/balance')).body).toMatchObject({
    cost_hour_rub: '0.0000',
    hours_left: null,
  })
  await t.finish()
  await until(t, '2026-11-20T14:00:00Z')
  expect((await charges(t)).at(-1)).toMatch(/^-0\.0\d 2026-11-20 13:00 UTC, 10 min$/)
  await until(t, '2026-11-22T00:00:00Z')
  expect(await charges(t)).toHaveLength(2)
})

test('a server deleted while charges are late is charged for its last, partial hour too', async () => {
  const t = await testApp()
  const id = await make(t)
  await until(t, '2026-11-20T12:30:00Z')
  t.clock.advance(70 * 60_000)
  await t.call('DELETE', `/servers/${id}`)
  await until(t, '2026-11-20T13:45:00Z')
  await until(t, '2026-11-20T15:00:00Z')
  expect((await charges(t, id)).at(-1)).toMatch(/ 2026-11-20 13:00 UTC, 40 min$/)
})

test('a server whose deletion takes hours is charged until the request for it', async () => {
  const t = await testApp()
  const id = await make(t)
  await until(t, '2026-11-20T13:10:00Z')
  vi.spyOn(t.driver, 'destroy').mockRejectedValue(new Error('broken'))
  await t.call('DELETE', `/servers/${id}`)
  await until(t, '2026-11-20T15:30:00Z')
  expect((await server(t, id)).status).toBe('deleting')
  expect((await charges(t, id)).slice(1)).toEqual([expect.stringContaining('13:00 UTC, 10 min')])
})

test('a server that can’t be charged does not keep the others from it, and the log names it', async () => {
  const lines: { msg: string; item_type?: string; item_id?: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const t = await testApp({ log })
  const [bad, good] = [await make(t), await make(t)]
  // No program does this: a charge for an hour that was charged already.
  await until(t, '2026-11-20T13:00:00Z')
  const back = Date.parse('2026-11-20T12:30:00Z')
  await t.db.updateTable('billing_meters').set({ charged_until: back }).where('item_id', '=', bad).execute()
  t.clock.advance(HOUR)
  await t.db.updateTable('billing_meters').set({ due_at: t.clock.now() }).execute()
  await t.app.billing.look()
  expect(await charges(t, bad)).toHaveLength(1)
  expect(await charges(t, good)).toHaveLength(2)
  expect(lines).toMatchObject([
    { msg: 'items could not be charged together; charging them one by one' },
    { msg: 'an item could not be charged; trying again in an hour', item_type: 'server', item_id: bad },
  ])
})

test('a running guest is charged, even if it never answers or is deleted while it boots', async () => {
  const t = await testApp({ simulator: { bootMs: 1e9 } })
  const idle = await make(t, { start_on_create: false })
  const started = t.clock.now()
  await t.call('POST', `/servers/${idle}/start`)
  await t.work()
  t.clock.advance(250_000)
  t.driver.turnsOffByItself(idle, 'guest_shutdown')
  await t.finish()
  expect(await server(t, idle)).toMatchObject({ status: 'stopped', status_reason: 'boot_failed' })
  const { billed_since } = (await t.call('GET', `/servers/${idle}/details`)).body.billing
  expect(Math.abs(Date.parse(billed_since) - started)).toBeLessThan(1_000)

  const { body: hasty } = await t.call('POST', '/servers', await order(t.call))
  await t.work()
  t.clock.advance(290_000)
  await t.work()
  await t.call('DELETE', `/servers/${hasty.server_id}`)
  for (let attempt = 0; attempt < 6; attempt++) t.driver.failNext('define', new Error('broken'))
  const { body: failed } = await t.call('POST', '/servers', await order(t.call))
  await t.finish()
  expect((await server(t, failed.server_id)).status).toBe('error')
  await until(t, '2026-11-20T13:00:00Z')
  expect(await charges(t, hasty.server_id)).toEqual([expect.stringMatching(/(4 min 5\d|5 min 0?\d) s$/)])
  // Only a create that fails before its machine is on is free.
  expect(await charges(t, failed.server_id)).toEqual([])
})

test('no action gets around an empty balance: not reboot after reboot, not new passwords, not a reboot out of an error, not a resize', async () => {
  const t = await testApp({ balance: '10' })
  const id = await make(t, CUSTOM)
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  const large = await t.call('PATCH', `/servers/${id}`, { plan_type: 'custom', cpu: 16 })
  expect(large).toMatchObject({ status: 402, body: { code: 'insufficient_balance', available: '10.00' } })
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  t.clock.advance(30 * HOUR)
  await t.app.billing.look()
  // Used up, but within the day of grace: what runs may be rebooted.
  expect((await t.call('POST', `/servers/${id}/reboot`, { force: true })).status).toBe(202)
  await t.finish()
  t.clock.advance(24 * HOUR)
  expect(await t.call('POST', `/servers/${id}/reboot`, { force: true })).toMatchObject({ status: 402 })
  expect(await t.call('POST', `/servers/${id}/reset_password`)).toMatchObject({ status: 402 })
  await t.db.updateTable('servers').set({ status: 'error' }).execute()
  expect(await t.call('POST', `/servers/${id}/reboot`)).toMatchObject({ status: 402 })
})

test('a create that fails before power-on is never billed', async () => {
  const t = await testApp()
  for (let attempt = 0; attempt < 10; attempt++) t.driver.failNext('define', new Error('broken'))
  const failed = (await t.call('POST', '/servers', await order(t.call))).body
  await t.finish()
  expect((await server(t, failed.server_id)).status).toBe('error')
  await until(t, '2026-11-25T00:00:00Z')
  expect(await charges(t)).toEqual([])
})

test('an outage of days is made up for: one charge for each server and month, and the sum is the same', async () => {
  const t = await testApp()
  const id = await make(t)
  await until(t, '2026-12-03T10:15:00Z')
  expect((await charges(t, id)).map((line: string) => line.replace(/^\S+ /, ''))).toEqual([
    expect.stringMatching(/^2026-11-20 12:00 UTC, 25\d h/),
    '2026-12-01 00:00 UTC, 58 h',
  ])
  const december = (await t.call('GET', '/account/usage')).body
  expect(december).toMatchObject({ month: '2026-12', items: [{ hours: 58 }] })
})

test('a clock that is set back charges nothing twice and loses nothing', async () => {
  const t = await testApp()
  const id = await make(t)
  await until(t, '2026-11-20T16:00:00Z')
  const before = await charges(t)
  t.clock.advance(-2 * HOUR - 30 * 60_000)
  await t.app.billing.look()
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  await t.call('PATCH', `/servers/${id}`, { plan_type: 'custom', cpu: 2, ram_mb: 1024, disk_gb: 40 })
  await t.finish()
  await until(t, '2026-11-20T16:00:00Z')
  expect(await charges(t)).toEqual(before)
  await until(t, '2026-11-20T17:00:00Z')
  expect((await charges(t)).slice(before.length)).toEqual([
    expect.stringMatching(/^-\S+ 2026-11-20 16:00 UTC, 1 h$/),
  ])
  // The change does not affect earlier charges: card and ledger still agree.
  const { month_to_date_rub } = (await t.call('GET', `/servers/${id}/details`)).body.billing
  expect(parseMoney(month_to_date_rub)).toBe(parseMoney('10000') - parseMoney(await balance(t)))
})

test('a price change leaves ordered servers at their price, until the operator says from when they pay it', async () => {
  const catalog = new LiveCatalog(parseCatalog(catalogText, 'catalog.yaml'))
  const t = await testApp({ catalog })
  const first = await make(t, CUSTOM)
  const entry = (from: string, cpu: string, rest = '') =>
    `  - { active_from: ${from}, zone_slug: local-1, cpu_type: amd, cpu_month_rub: "${cpu}", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00"${rest} }\n`
  const add = (...lines: string[]) =>
    catalog.replace(
      parseCatalog(catalogText.replace('prices:\n', `prices:\n${lines.join('')}`), 'catalog.yaml'),
    )
  add(entry('2026-11-21', '280.00'))
  await until(t, '2026-11-22T00:00:00Z')
  const second = await make(t, CUSTOM)
  const prices = async () => [
    (await server(t, first)).price_month_rub,
    (await server(t, second)).price_month_rub,
  ]
  expect(await prices()).toEqual(['300.00', '400.00'])
  add(entry('2026-11-21', '280.00', ', existing_from: 2026-11-24'))
  await until(t, '2026-11-23T23:00:00Z')
  expect(await prices()).toEqual(['300.00', '400.00'])
  // The service was down at that midnight: the hours after it cost the new price all the same.
  await until(t, '2026-11-24T05:00:00Z')
  expect(await prices()).toEqual(['400.00', '400.00'])
  const last = (await charges(t, first)).at(-1)
  const expected = (3_000_000 / 730 + (5 * 4_000_000) / 730) / 10_000
  expect(Math.abs(Number(last?.split(' ')[0]) + expected)).toBeLessThan(0.011)
})

test('an order at the moment in which a new price begins gets that price', async () => {
  const days = Array.from({ length: 10 }, (_, day) => DAY * day + Date.parse('2026-11-21T00:00:00Z'))
  const entries = days.map((day, at) => {
    const date = new Date(day).toISOString().slice(0, 10)
    return `  - { active_from: ${date}, existing_from: ${date}, zone_slug: local-1, cpu_type: amd, cpu_month_rub: "${200 + at}.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00" }\n`
  })
  const catalog = parseCatalog(
    catalogText.replace('prices:\n', `prices:\n${entries.join('')}`),
    'catalog.yaml',
  )
  const t = await testApp({ catalog, balance: '1000000' })
  const body = await order(t.call, CUSTOM)
  for (const [at, day] of days.entries()) {
    t.clock.advance(day - 1 - t.clock.now())
    // Midnight comes between two other looks at the clock of each request.
    let looks = 0
    t.clock.now = () => {
      looks += 1
      return looks > at ? day : day - 1
    }
    const id = (await t.call('POST', '/servers', body)).body.server_id
    t.clock.now = ManualClock.prototype.now
    t.clock.advance(1)
    await t.finish()
    await t.app.billing.look()
    expect((await server(t, id)).price_month_rub).toBe(`${320 + at}.00`)
    await t.call('DELETE', `/servers/${id}`)
    await t.finish()
  }
})

test('each of two price changes holds from its day, and an enlarged preset costs existing servers nothing', async () => {
  const catalog = new LiveCatalog(parseCatalog(catalogText, 'catalog.yaml'))
  const t = await testApp({ catalog })
  const [custom, preset] = [await make(t, CUSTOM), await make(t)]
  const entry = (from: string, cpu: string, existing: string) =>
    `  - { active_from: ${from}, zone_slug: local-1, cpu_type: amd, cpu_month_rub: "${cpu}", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00", existing_from: ${existing} }\n`
  const lines = entry('2026-11-22', '280.00', '2026-12-05') + entry('2026-12-01', '380.00', '2026-12-10')
  const text = catalogText
    .replace('prices:\n', `prices:\n${lines}`)
    .replace('slug: nano, cpu: 1, ram_mb: 512', 'slug: nano, cpu: 8, ram_mb: 8192')
  catalog.replace(parseCatalog(text, 'catalog.yaml'))
  const price = async (id: string) => (await server(t, id)).price_month_rub
  await until(t, '2026-12-04T12:00:00Z')
  expect(await price(custom)).toBe('300.00')
  await until(t, '2026-12-06T00:00:00Z')
  expect(await price(custom)).toBe('400.00')
  await until(t, '2026-12-11T00:00:00Z')
  expect([await price(custom), await price(preset)]).toEqual(['500.00', '300.00'])
})

test('an empty balance is announced early, gives a day of grace, and stops the machines; a top-up starts them again', async () => {
  const t = await testApp({ balance: '30' })
  const id = await make(t)
  const off = await make(t)
  await t.call('POST', `/servers/${off}/stop`, { force: true })
  await t.finish()
  const events = async () =>
    (await t.db.selectFrom('events').select('type').orderBy('event_id').execute()).map((row) => row.type)
  await t.db.deleteFrom('events').execute()
  let hours = 0
  while (!(await events()).includes('balance.depleted') && hours++ < 100) {
    t.clock.advance(HOUR)
    await t.app.billing.look()
  }
  expect(await events()).toEqual(['balance.low', 'balance.depleted'])
  t.clock.advance(DAY - HOUR)
  await t.app.billing.look()
  expect((await server(t, id)).status).toBe('running')
  t.clock.advance(HOUR)
  await t.app.billing.look()
  await t.finish()
  expect(await server(t, id)).toMatchObject({
    status: 'suspended',
    status_reason: 'balance_depleted',
    started_at: null,
  })
  expect((await server(t, off)).status).toBe('suspended')
  expect(await t.driver.inspect(id)).toMatchObject({ power: 'stopped' })
  expect(await t.call('POST', `/servers/${id}/start`)).toMatchObject({
    status: 402,
    body: {
      code: 'insufficient_balance',
      required: expect.any(String),
      available: expect.stringMatching(/^-/),
    },
  })
  // Suspended, it costs nothing more.
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  const owed = await balance(t)
  t.clock.advance(30 * DAY)
  await t.app.billing.look()
  expect(await balance(t)).toBe(owed)
  const payment = { accountId: t.accountId, type: 'payment', description: 'top-up', reference: 'p1' } as const
  await post(t.db, t.clock, { ...payment, amount: parseMoney('500') })
  await t.app.billing.look()
  expect((await server(t, id)).status).toBe('starting')
  await t.finish()
  expect((await server(t, id)).status).toBe('running')
  expect((await server(t, off)).status).toBe('stopped')
  expect(await events()).toContain('balance.topped_up')
})

test('usage is the ledger by item and project, as JSON and as CSV', async () => {
  const t = await testApp()
  const id = await make(t)
  const { name } = await server(t, id)
  await until(t, '2026-11-21T00:00:00Z')
  const project = (await t.call('POST', '/account/projects', { name: 'Other' })).body.project_id
  await t.call('PATCH', `/servers/${id}`, { project_id: project })
  await until(t, '2026-11-22T00:00:00Z')
  const { items, amount } = (await t.call('GET', '/account/usage?month=2026-11')).body
  expect(items).toHaveLength(2)
  expect(items.find((item: { project_id: string }) => item.project_id === project)).toMatchObject({
    hours: 24,
  })
  const sum = items.reduce((total: number, item: { amount: string }) => total + parseMoney(item.amount), 0)
  expect(parseMoney(amount)).toBe(sum)
  expect(parseMoney('10000.00') - sum).toBe(parseMoney(await balance(t)))
  const csv = await t.call('GET', '/account/usage.csv?month=2026-11')
  expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8')
  expect(csv.body.trim().split('\r\n')).toEqual([
    'month,item_type,item_id,item_name,server_id,server_name,project_id,hours,amount_rub',
    ...items.map((item: { project_id: string; hours: number; amount: string }) =>
      ['2026-11', 'server', id, name, id, name, item.project_id, item.hours.toFixed(4), item.amount].join(
        ',',
      ),
    ),
  ])
  expect((await t.call('GET', '/account/usage?month=2026-10')).body).toMatchObject({
    amount: '0.00',
    items: [],
  })
  for (const month of ['2026-13', '2026', 'x', '2026-11-01'])
    expect((await t.call('GET', `/account/usage?month=${month}`)).status).toBe(422)
})

test('the database refuses a ledger that does not add up', async () => {
  const t = await testApp()
  await make(t)
  await until(t, '2026-11-21T00:00:00Z')
  const rows = await t.db.selectFrom('transactions').selectAll().orderBy('sequence').execute()
  const [first, last] = [rows[0], rows.at(-1)]
  if (!first || !last) throw new Error('there are no entries')
  const noItem = { item_type: null, item_id: null, server_id: null, project_id: null }
  const entry = { ...last, ...noItem, transaction_id: 'x', hour: null, seconds: null }
  const payment = { ...entry, type: 'payment' as const, amount: 100 }
  const { transactions } = { transactions: t.db.insertInto('transactions') }
  const next = { ...payment, sequence: last.sequence + 1, previous: last.sequence }
  for (const broken of [
    { ...next, balance_before: last.balance_after, balance_after: last.balance_after + 99 },
    { ...next, balance_before: last.balance_after + 1, balance_after: last.balance_after + 101 },
    { ...next, sequence: last.sequence + 2, previous: last.sequence + 1 },
    { ...payment, balance_after: payment.balance_before + 100 },
  ])
    await expect(transactions.values(broken).execute()).rejects.toThrow()
  await expect(
    t.db.updateTable('transactions').set({ amount: 1 }).where('sequence', '=', first.sequence).execute(),
  ).rejects.toThrow()
  await expect(
    t.db.deleteFrom('transactions').where('sequence', '=', last.sequence).execute(),
  ).rejects.toThrow()
  await expect(t.db.updateTable('ledgers').set({ balance: 1 }).execute()).rejects.toThrow()
  await expect(
    transactions
      .values({ ...last, transaction_id: 'y', sequence: last.sequence + 1, previous: last.sequence })
      .execute(),
  ).rejects.toThrow()
})
