import { setImmediate as breathe } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Telemetry } from '../../../api/telemetry.ts'
import { testApp } from '../../harness/app.ts'
import { make, NOBODY } from '../harness/ordering.ts'

test('Prometheus reads requests, operations, servers, room, queue and the lag of the ledger', async () => {
  const telemetry = new Telemetry()
  const t = await testApp({ telemetry })
  const images = async () => [
    { template: 'micro', bytes: 5_000 },
    { template: 'debian-12', bytes: null },
  ]
  telemetry.watch({ db: t.db, clock: t.clock, capacity: t.app.capacity, servers: t.app.servers, images })
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
  const value = (line: string) =>
    Number(
      text
        .split('\n')
        .find((each) => each.startsWith(line))
        ?.split(' ')
        .at(-1),
    )
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
  expect(value('berth_capacity_largest_cpu{zone="local-1",cpu_type="amd"}')).toBeGreaterThan(0)
  expect(value('berth_image_bytes{template="micro"}')).toBe(5_000)
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

test('a gauge that can’t be read does not take the others with it', async () => {
  const telemetry = new Telemetry()
  const t = await testApp({ telemetry })
  const images = () => Promise.reject(new Error('the disk is gone'))
  telemetry.watch({ db: t.db, clock: t.clock, capacity: t.app.capacity, servers: t.app.servers, images })
  await telemetry.text()
  const text = await telemetry.text()
  expect(text).toContain('berth_operations_queued 0')
  expect(text).not.toMatch(/^berth_image_bytes\{/m)
  expect(text).toMatch(/^berth_metrics_unreadable_total\{gauge="berth_image_bytes"\} [12]$/m)
})

test('health says whether the process answers, and readiness which part does not, without a token or a limit', async () => {
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

test('a crowd that asks whether the service is ready makes no crowd of looks at what runs the servers', async () => {
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
