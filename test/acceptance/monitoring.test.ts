import { expect, test } from 'vitest'
import { act, call, issues, make, makeStopped, NOBODY, settle } from './harness/client.ts'

type Points = [number, number | null][]

const known = (points: Points) => points.filter(([, value]) => value !== null)

test('GET /servers/{server_id}/stats shows what a server has and uses now; what cannot be measured is null', async (t) => {
  const server = await make(t)
  const path = `/servers/${server.server_id}/stats`
  await settle(server)
  await expect.poll(async () => (await call('GET', path)).body.cpu.usage_percent).not.toBeNull()
  const { body, headers } = await call('GET', path)
  expect(body).toMatchObject({
    server_id: server.server_id,
    status: 'running',
    cpu: { cores: server.cpu },
    memory: { total_mb: server.ram_mb },
    disk: { total_gb: server.disk_gb, read_bytes_total: expect.toBeOneOf([expect.any(Number), null]) },
  })
  // A second later than the reply at most, which has no fractions of seconds.
  expect(Date.parse(body.collected_at)).toBeLessThan(Date.parse(headers.date ?? '') + 1_000)
  expect(Date.parse(body.collected_at)).toBeGreaterThan(Date.parse(server.created_at))
  expect(body.uptime_seconds).toBeGreaterThanOrEqual(0)
  expect(body.cpu.usage_percent).toBeLessThanOrEqual(100)
  expect(body.disk.used_gb).toBeLessThanOrEqual(server.disk_gb)
  await act(server.server_id, 'stop', { force: true })
  expect((await call('GET', path)).body).toMatchObject({
    status: 'stopped',
    uptime_seconds: null,
    cpu: { cores: server.cpu, usage_percent: null },
    memory: { total_mb: server.ram_mb, used_mb: null },
    disk: { read_bytes_per_second: null, write_bytes_per_second: null },
    network: { rx_bytes_per_second: null, tx_bytes_per_second: null },
  })
})

test('GET /servers/{server_id}/metrics shows series of points, aligned to the step, with null for gaps', async (t) => {
  const server = await make(t)
  const path = `/servers/${server.server_id}/metrics`
  await settle(server)
  const cpu = async (): Promise<Points> =>
    (await call('GET', `${path}?type=cpu&step=10`)).body.series[0].points
  await expect.poll(async () => known(await cpu()).length).toBeGreaterThan(0)
  const { body } = await call('GET', path)
  expect(body.server_id).toBe(server.server_id)
  expect(Date.parse(body.end) - Date.parse(body.start)).toBe(3_600_000)
  const series: { name: string; type: string; unit: string; points: Points }[] = body.series
  expect(series.map(({ name, type, unit }) => `${name} ${type} ${unit}`)).toEqual([
    'cpu.usage cpu percent',
    'memory.used memory bytes',
    'disk.used disk bytes',
    'disk.read.bandwidth disk bytes_per_second',
    'disk.write.bandwidth disk bytes_per_second',
    'network.rx.bandwidth network bytes_per_second',
    'network.tx.bandwidth network bytes_per_second',
  ])
  for (const { points } of series) {
    expect(points.length).toBeLessThanOrEqual(200)
    expect(points.every(([at]) => at % body.step === 0)).toBe(true)
    expect(points.every(([at], n) => n === 0 || at - (points[n - 1]?.[0] ?? 0) === body.step)).toBe(true)
    // An hour ago there was no such server.
    expect(points[0]?.[1]).toBeNull()
  }
})

test('start, end, step and type of metrics: what they may be, and what they are without', async (t) => {
  const { server_id } = await makeStopped(t)
  const ask = (query: Record<string, string>) =>
    call('GET', `/servers/${server_id}/metrics?${new URLSearchParams(query)}`)
  const now = Date.now()
  const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString()
  const [day, hour] = [86_400, 3_600]
  for (const [query, expected] of [
    [{ start: ago(60), end: ago(60) }, ['/end', 'below_minimum']],
    [{ start: ago(60), end: ago(120) }, ['/end', 'below_minimum']],
    [{ start: ago(31 * day), end: ago(0) }, ['/start', 'below_minimum']],
    [{ start: 'today' }, ['/start', 'invalid_format']],
    [{ end: 'now' }, ['/end', 'invalid_format']],
    [{ step: '9' }, ['/step', 'below_minimum']],
    [{ step: 'minute' }, ['/step', 'wrong_type']],
    [{ type: 'cpu,gpu' }, ['/type', 'not_in_enum']],
  ] as const) {
    const reply = await ask({ ...query })
    expect([query, reply.status, issues(reply)]).toEqual([query, 422, [expected]])
  }
  for (const seconds of [hour, 6 * hour, day, 7 * day, 30 * day - 60]) {
    const { body } = await ask({ start: ago(seconds), type: 'memory' })
    expect([seconds, body.series.length]).toEqual([seconds, 1])
    expect(body.series[0].points.length).toBeGreaterThan(100)
    expect(body.series[0].points.length).toBeLessThanOrEqual(200)
  }
  const { body } = await ask({ start: '2026-01-01T12:00:00+03:00', end: '2026-01-01T10:00:00Z', step: '60' })
  expect([body.start, body.end]).toEqual(['2026-01-01T09:00:00.000Z', '2026-01-01T10:00:00.000Z'])
  expect(body.step).toBeGreaterThanOrEqual(60)
  const wide = (await ask({ start: ago(30 * day - 60), step: '10', type: 'cpu' })).body
  expect([wide.step > 10, wide.series[0].points.length <= 2_000]).toEqual([true, true])
  for (const what of ['stats', 'metrics'])
    expect(await call('GET', `/servers/${NOBODY}/${what}`)).toMatchObject({
      status: 404,
      body: { code: 'server_not_found' },
    })
})
