import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { parseMoney } from '../../../api/money.ts'
import { Telemetry, type TelemetrySources } from '../../../api/telemetry.ts'
import { testApp } from '../../harness/app.ts'
import { endpoint, hook, LOOPBACK, project, verifiedHook } from '../harness/endpoint.ts'
import { make, NOBODY } from '../harness/ordering.ts'

function sourcesOf(t: Awaited<ReturnType<typeof testApp>>, images: TelemetrySources['images']) {
  const backedUpAt = async () => Number.NEGATIVE_INFINITY
  const faults = () =>
    new Map([
      ['mail', true],
      ['disk', false],
    ])
  const is = { isCatalogInvalid: () => false, isDiskFull: () => false, faults }
  return { db: t.db, clock: t.clock, ...t.app, images, dataDir: tmpdir(), backedUpAt, ...is }
}

/** The value of the first line that starts like this; NaN where there is none. */
function valueIn(text: string, start: string): number {
  const line = text.split('\n').find((each) => each.startsWith(start))
  return Number(line?.split(' ').at(-1))
}

test('Prometheus reads requests, operations, servers, room, queue and the lag of the ledger', async () => {
  const telemetry = new Telemetry()
  const t = await testApp({ telemetry })
  const images = async () => [
    { template: 'micro', bytes: 5_000, isFailed: false },
    { template: 'debian-12', bytes: null, isFailed: true },
  ]
  telemetry.watch(sourcesOf(t, images))
  const id = await make(t)
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  await t.call('POST', `/servers/${id}/start`)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const other = await make(t, { start_on_create: false })
  await t.call('GET', `/servers/${NOBODY}`)
  await t.callAs(null)('GET', '/nowhere')
  const { address, close } = await telemetry.listen('127.0.0.1', 0)
  onTestFinished(close)
  const reply = await fetch(address)
  expect(reply.headers.get('content-type')).toContain('text/plain; version=0.0.4')
  const text = await reply.text()
  const value = (start: string) => valueIn(text, start)
  const count = 'berth_http_request_duration_seconds_count'
  expect(value(`${count}{method="POST",route="/v1/servers",status="202"}`)).toBe(2)
  expect(value(`${count}{method="GET",route="/v1/servers/:server_id",status="404"}`)).toBe(1)
  expect(value(`${count}{method="GET",route="none",status="404"}`)).toBe(1)
  // No id, no token and no address of a customer is a label.
  for (const name of [id, other, t.accountId]) expect(text).not.toContain(name)
  expect(value('berth_operation_duration_seconds_count{type="create",outcome="succeeded"}')).toBe(2)
  expect(value('berth_operation_duration_seconds_count{type="stop",outcome="succeeded"}')).toBe(1)
  expect(value('berth_operation_duration_seconds_count{type="start",outcome="canceled"}')).toBe(1)
  expect(value('berth_servers{status="stopped",zone="local-1"}')).toBe(1)
  expect(value('berth_operations_queued')).toBe(0)
  expect(value('berth_ledger_lag_seconds')).toBe(0)
  expect(value('berth_doctor{check="mail"}')).toBe(0)
  expect(value('berth_doctor{check="disk"}')).toBe(1)
  expect(value('berth_capacity_largest_cpu{zone="local-1",cpu_type="amd"}')).toBeGreaterThan(0)
  expect(value('berth_capacity_offered{pool="simulator",resource="cores"}')).toBeGreaterThan(0)
  expect(value('berth_capacity_used{pool="simulator",resource="disk_bytes"}')).toBe(10 * 2 ** 30)
  expect(value('berth_image_bytes{template="micro"}')).toBe(5_000)
  expect(value('berth_image_failed{template="micro"}')).toBe(0)
  expect(value('berth_image_failed{template="debian-12"}')).toBe(1)
  expect(value('berth_data_free_bytes')).toBeGreaterThan(0)
  expect(value('berth_data_size_bytes')).toBeGreaterThanOrEqual(value('berth_data_free_bytes'))
  expect(text).toMatch(/^berth_build_info\{version="\d+\.\d+\.\d+",node="v24\..*"\} 1$/m)
  expect(value('berth_database_ping_seconds')).toBeGreaterThan(0)
  expect(text).toContain('nodejs_eventloop_lag_seconds')
  expect((await fetch(address.replace('/metrics', '/'))).status).toBe(404)
  t.clock.advance(3 * 3600_000)
  expect(await telemetry.text()).toMatch(/^berth_ledger_lag_seconds \d{4,}$/m)
  await t.app.billing.look()
  expect(await telemetry.text()).toMatch(/^berth_ledger_lag_seconds 0$/m)
})

test('operations that failed are counted by the code of their error, and say what to do', async () => {
  const telemetry = new Telemetry()
  const t = await testApp({ telemetry })
  const id = await make(t, { start_on_create: false })
  await t.call('POST', `/servers/${id}/start`)
  await t.driver.destroy(id)
  await t.finish()
  const other = await make(t, { start_on_create: false })
  for (let attempt = 0; attempt < 6; attempt++) t.driver.failNext('start', new Error('broken'))
  await t.call('POST', `/servers/${other}/start`)
  await t.finish()
  const { items } = (await t.call('GET', '/operations?status=failed')).body
  const errors = items.map(({ error }: { error: { code: string; message: string } }) => error)
  expect(errors.map(({ code }: { code: string }) => code)).toEqual(['internal_error', 'disk_lost'])
  for (const { message } of errors) expect(message).toMatch(/Contact support with the id of the operation\.$/)
  const text = await telemetry.text()
  for (const { code } of errors)
    expect(text).toContain(`berth_operation_failures_total{type="start",code="${code}"} 1`)
})

test('operations that hang, webhooks that do not arrive and balances that run out show before customers call', async () => {
  const telemetry = new Telemetry()
  const t = await testApp({ telemetry, webhookAllow: LOOPBACK })
  telemetry.watch(sourcesOf(t, async () => []))
  const { url } = await endpoint((_, reply) => reply.writeHead(500).end())
  await verifiedHook(t, url, ['project.created'])
  await hook(t, url, ['project.created'])
  await project(t, 'Shop')
  const id = await make(t)
  await t.app.events.relay()
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  t.clock.advance(90_000)
  const value = (start: string, text: string) => valueIn(text, start)
  const text = await telemetry.text()
  expect(value('berth_webhook_deliveries_pending', text)).toBe(1)
  expect(value('berth_webhook_deliveries_oldest_seconds', text)).toBeGreaterThanOrEqual(90)
  // Webhooks that wait for a challenge's reply are not counted: only the customer can fix them.
  expect(value('berth_webhooks{verification="verified"}', text)).toBe(1)
  expect(value('berth_webhooks{verification="pending"}', text)).toBe(1)
  expect(value('berth_operations_active{type="stop",status="pending"}', text)).toBe(1)
  expect(value('berth_operations_oldest_seconds{type="stop",status="pending"}', text)).toBe(90)
  expect(text).toMatch(/^berth_accounts\{balance="enough"\} \d+$/m)
  expect(value('berth_accounts{balance="depleted"}', text)).toBe(0)
  const { balance } = (await t.call('GET', '/account/balance')).body
  const amount = 100 - parseMoney(balance)
  await post(t.db, t.clock, { accountId: t.accountId, type: 'correction', amount, description: 'spent' })
  t.clock.advance(3 * 3600_000)
  await t.app.billing.look()
  expect(value('berth_accounts{balance="depleted"}', await telemetry.text())).toBe(1)
})

test('the operators’ alerts and dashboard use existing metrics only', async () => {
  const telemetry = new Telemetry()
  const t = await testApp({ telemetry })
  telemetry.watch(sourcesOf(t, async () => []))
  const text = await telemetry.text()
  for (const file of ['alerts.yml', 'dashboard.json']) {
    const names = readFileSync(path.join('deploy', file), 'utf8').match(/\b(berth|nodejs|process)_\w+/g) ?? []
    expect(names.length).toBeGreaterThan(10)
    for (const name of new Set(names))
      expect(text).toContain(`# TYPE ${name.replace(/_(bucket|count)$/, '')} `)
  }
})

test('OpenMetrics and text are answered as the caller prefers, and HEAD without a body', async () => {
  const telemetry = new Telemetry()
  const { address, close } = await telemetry.listen('127.0.0.1', 0)
  onTestFinished(close)
  const ask = async (accept: string, method = 'GET') => {
    const reply = await fetch(address, { method, headers: { accept } })
    return { type: reply.headers.get('content-type'), text: await reply.text() }
  }
  const prometheus =
    'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  const open = await ask(prometheus)
  expect(open.type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  expect(open.text).toMatch(/^# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total \d/m)
  expect(open.text.endsWith('\n# EOF\n')).toBe(true)
  for (const accept of [
    '*/*',
    'text/plain, application/openmetrics-text;q=0.5',
    'application/openmetrics-text;q=0',
  ]) {
    const { type, text } = await ask(accept)
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(text).toMatch(/^# TYPE process_cpu_seconds_total counter$/m)
    expect(text).not.toContain('EOF')
  }
  expect(await ask(prometheus, 'HEAD')).toEqual({ type: open.type, text: '' })
})

test('Prometheus reads the age of the last backup, infinite if there was none, and a refused catalogue', async () => {
  const t = await testApp()
  const read = async (more: Partial<TelemetrySources> = {}) => {
    const telemetry = new Telemetry()
    telemetry.watch({ ...sourcesOf(t, async () => []), ...more })
    return telemetry.text()
  }
  expect(await read()).toMatch(/^berth_catalog_invalid 0$/m)
  expect(await read()).toMatch(/^berth_payments_held 0$/m)
  expect(await read()).toMatch(/^berth_backup_age_seconds \+Inf$/m)
  const at = t.clock.now() - 90_000
  const text = await read({ backedUpAt: async () => at, isCatalogInvalid: () => true })
  expect(text).toMatch(/^berth_catalog_invalid 1$/m)
  expect(text).toMatch(/^berth_backup_age_seconds 90$/m)
  expect(await read({ backedUpAt: async () => null })).toMatch(/^berth_backup_age_seconds Nan$/im)
})

test('a gauge that can’t be read does not prevent the others', async () => {
  const telemetry = new Telemetry()
  const t = await testApp({ telemetry })
  const images = () => Promise.reject(new Error('the disk is gone'))
  telemetry.watch(sourcesOf(t, images))
  await telemetry.text()
  const text = await telemetry.text()
  expect(text).toContain('berth_operations_queued 0')
  expect(text).not.toMatch(/^berth_image_bytes\{/m)
  expect(text).toMatch(/^berth_metrics_unreadable_total\{gauge="berth_image_bytes"\} [12]$/m)
})

test('health shows if the process answers, and readiness which part does not, without a token or a limit', async () => {
  const t = await testApp({ rateLimits: { reads: 1, writes: 1, anonymous: 1 } })
  const ask = async (path: string) => {
    const { statusCode, body } = await t.app.http.inject({ method: 'GET', url: path })
    return [statusCode, JSON.parse(body)]
  }
  for (let n = 0; n < 5; n++) expect(await ask('/healthz')).toEqual([200, { status: 'ok' }])
  const good = { status: 'ok', checks: { database: 'ok', compute: 'ok' } }
  expect(await ask('/readyz')).toEqual([200, good])
  t.driver.host = () => Promise.reject(new Error('/secret/place is gone'))
  const bad = { status: 'unavailable', checks: { database: 'ok', compute: 'failed' } }
  expect(await ask('/readyz')).toEqual([503, bad])
  expect(await ask('/healthz')).toEqual([200, { status: 'ok' }])
})

test('many simultaneous readiness checks cause one check of the drivers', async () => {
  const t = await testApp()
  const { host } = t.driver
  let looks = 0
  t.driver.host = async () => {
    looks += 1
    await breathe()
    return host.call(t.driver)
  }
  const ask = () => t.app.http.inject({ method: 'GET', url: '/readyz' })
  const replies = await Promise.all(Array.from({ length: 50 }, ask))
  expect(replies.map(({ statusCode }) => statusCode)).toEqual(Array(50).fill(200))
  expect(looks).toBeLessThan(10)
  const before = looks
  await ask()
  expect(looks).toBe(before + 1)
})
