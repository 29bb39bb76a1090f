import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { PLAIN_NETWORK } from '../../../api/drivers/driver.ts'
import type { Measurement } from '../../../api/drivers/measurement.ts'
import { Sampler } from '../../../api/monitoring/sampler.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { pooledServers, poweredServers } from '../../../api/servers/queries.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { issues, make } from '../harness/ordering.ts'

const HOUR = 3_600
const DAY = 24 * HOUR

/** Turns the clock by one interval and measures, so many times. */
async function sample(t: TestApp, rounds: number, seconds = 10): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    t.clock.advance(seconds * 1000)
    await t.app.sampler.round()
  }
}

async function measure(t: TestApp, id: string): Promise<Measurement> {
  const measurement = (await t.driver.measure([id])).get(id)
  if (!measurement) throw new Error('there is no such machine')
  return measurement
}

const stats = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}/stats`)).body

type Points = [number, number | null][]

async function metrics(t: TestApp, id: string, query: Record<string, string | number> = {}) {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const { status, body } = await t.call('GET', `/servers/${id}/metrics?${search}`)
  const all: { name: string; points: Points }[] = body.series ?? []
  const series = Object.fromEntries(all.map(({ name, points }) => [name, points]))
  return { status, body, series, cpu: series['cpu.usage'] ?? [] }
}

const iso = (t: TestApp, secondsAgo: number) => new Date(t.clock.now() - secondsAgo * 1000).toISOString()
const values = (points: Points | undefined) => (points ?? []).map(([, value]) => value)
const known = (points: Points | undefined) => values(points).filter((value) => value !== null)

test('stats show the machine’s current usage, with rates since the last sample', async () => {
  const t = await testApp()
  const id = await make(t, { plan_type: 'custom', preset_id: undefined, cpu: 2, ram_mb: 1024, disk_gb: 10 })
  await sample(t, 1)
  const before = await measure(t, id)
  t.clock.advance(4_000)
  const now = await measure(t, id)
  const perSecond = (name: 'cpuMs' | 'diskReadBytes' | 'networkTxBytes') =>
    ((now[name] ?? 0) - (before[name] ?? 0)) / 4
  const body = await stats(t, id)
  expect(body).toEqual({
    server_id: id,
    status: 'running',
    collected_at: new Date(t.clock.now()).toISOString(),
    uptime_seconds: 14,
    cpu: { cores: 2, usage_percent: expect.closeTo(perSecond('cpuMs') / 20, 1) },
    memory: { total_mb: 1024, used_mb: expect.closeTo((now.memoryUsedBytes ?? 0) / 2 ** 20, 1) },
    disk: {
      total_gb: 10,
      used_gb: expect.closeTo((now.diskUsedBytes ?? 0) / 2 ** 30, 1),
      read_bytes_total: now.diskReadBytes,
      write_bytes_total: now.diskWriteBytes,
      read_bytes_per_second: expect.closeTo(perSecond('diskReadBytes'), 1),
      write_bytes_per_second: expect.any(Number),
    },
    network: {
      rx_bytes_total: now.networkRxBytes,
      tx_bytes_total: now.networkTxBytes,
      rx_bytes_per_second: expect.any(Number),
      tx_bytes_per_second: expect.closeTo(perSecond('networkTxBytes'), 1),
    },
  })
  expect(body.cpu.usage_percent).toBeGreaterThan(0)
  expect(body.cpu.usage_percent).toBeLessThanOrEqual(100)
})

test('stats have rates at any moment: of the last sample just after it, and from the start before the first', async () => {
  const t = await testApp()
  const id = await make(t)
  expect((await stats(t, id)).cpu.usage_percent).toBeNull()
  t.clock.advance(2_000)
  const early = (await stats(t, id)).cpu.usage_percent
  expect(early).toBeGreaterThan(0)
  await sample(t, 2)
  const atSample = await stats(t, id)
  const latest = known((await metrics(t, id, { step: 10 })).cpu).at(-1)
  expect(atSample.cpu.usage_percent).toBe(latest)
  expect(atSample.disk.read_bytes_per_second).toBeGreaterThan(0)
  t.clock.advance(499)
  expect((await stats(t, id)).cpu.usage_percent).toBe(latest)
  // The sampler stood still for long: a rate over all that time would not be one of now.
  t.clock.advance(10 * 60_000)
  expect((await stats(t, id)).cpu.usage_percent).toBeNull()
})

test('metrics that a stopped server can’t have are null, with status 200', async () => {
  const t = await testApp()
  const id = await make(t, { start_on_create: false })
  await sample(t, 2)
  const reply = await t.call('GET', `/servers/${id}/stats`)
  expect(reply.status).toBe(200)
  expect(reply.body).toMatchObject({
    status: 'stopped',
    uptime_seconds: null,
    cpu: { cores: 1, usage_percent: null },
    memory: { total_mb: expect.any(Number), used_mb: null },
    disk: { used_gb: expect.any(Number), read_bytes_total: null, write_bytes_per_second: null },
    network: { rx_bytes_total: null, tx_bytes_total: null, rx_bytes_per_second: null },
  })
  expect(known((await metrics(t, id)).cpu)).toEqual([])
  await t.driver.destroy(id)
  expect((await stats(t, id)).disk.used_gb).toBeNull()
})

test('metrics have a point for each step of the span, aligned to it, and null where nothing was measured', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 6)
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  await sample(t, 3)
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  await sample(t, 3)
  const { status, body, series, cpu } = await metrics(t, id, { start: iso(t, 130), step: 10 })
  expect([status, body.server_id, body.step]).toEqual([200, id, 10])
  expect([body.start, body.end]).toEqual([iso(t, 130), iso(t, 0)])
  const first = t.clock.now() / 1000 - 130
  for (const points of Object.values(series))
    expect(points.map(([at]) => at)).toEqual(Array.from({ length: 13 }, (_, at) => first + at * 10))
  const isKnown = values(cpu).map((value) => value !== null)
  expect(isKnown).toEqual([false, ...Array(6).fill(true), ...Array(3).fill(false), ...Array(3).fill(true)])
  for (const value of known(cpu)) expect(value).toBeGreaterThan(0)
  for (const value of known(cpu)) expect(value).toBeLessThanOrEqual(100)
  expect(body.series.map(({ name, type, unit }: Record<string, string>) => [name, type, unit])).toEqual([
    ['cpu.usage', 'cpu', 'percent'],
    ['memory.used', 'memory', 'bytes'],
    ['disk.used', 'disk', 'bytes'],
    ['disk.read.bandwidth', 'disk', 'bytes_per_second'],
    ['disk.write.bandwidth', 'disk', 'bytes_per_second'],
    ['network.rx.bandwidth', 'network', 'bytes_per_second'],
    ['network.tx.bandwidth', 'network', 'bytes_per_second'],
  ])
})

test('a longer step has the means of its samples', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 12)
  const fine = await metrics(t, id, { start: iso(t, 120), step: 10 })
  const coarse = await metrics(t, id, { start: iso(t, 120), step: 60 })
  for (const name of Object.keys(fine.series)) {
    const [a, b] = [values(fine.series[name]).slice(0, 6), values(fine.series[name]).slice(6)]
    const mean = (some: (number | null)[]) => some.reduce<number>((sum, value) => sum + (value ?? 0), 0) / 6
    expect(values(coarse.series[name])).toEqual([expect.closeTo(mean(a), 1), expect.closeTo(mean(b), 1)])
  }
})

test('only the requested types are shown', async () => {
  const t = await testApp()
  const id = await make(t)
  const names = async (type: string) => Object.keys((await metrics(t, id, { type })).series)
  expect(await names('cpu')).toEqual(['cpu.usage'])
  expect(await names('network,cpu')).toEqual(['cpu.usage', 'network.rx.bandwidth', 'network.tx.bandwidth'])
  expect(await names('memory,memory')).toEqual(['memory.used'])
})

test('an impossible range of metrics is a 422 that names the parameter', async () => {
  const t = await testApp()
  const id = await make(t)
  const now = iso(t, 0)
  for (const [query, expected] of [
    [{ start: now, end: now }, [['/end', 'below_minimum']]],
    [{ start: now, end: iso(t, 60) }, [['/end', 'below_minimum']]],
    [{ start: iso(t, -60) }, [['/end', 'below_minimum']]],
    [{ start: iso(t, 30 * DAY + 1) }, [['/start', 'below_minimum']]],
    [{ start: iso(t, 30 * DAY), end: iso(t, -1) }, [['/start', 'below_minimum']]],
    [{ start: 'yesterday' }, [['/start', 'invalid_format']]],
    [{ end: '1795172400' }, [['/end', 'invalid_format']]],
    [{ start: '2026-13-01T00:00:00Z' }, [['/start', 'invalid_format']]],
    [{ start: '2016-12-31T23:59:60Z' }, [['/start', 'invalid_format']]],
    [{ end: '2016-12-31T23:59:60Z' }, [['/end', 'invalid_format']]],
    [{ end: '9999-12-31T23:59:59-01:00' }, [['/end', 'invalid_format']]],
    [{ end: '0000-01-01T00:30:00Z' }, [['/start', 'invalid_format']]],
    [{ step: 9 }, [['/step', 'below_minimum']]],
    [{ step: 30 * DAY + 1 }, [['/step', 'above_maximum']]],
    [{ step: '1e30' }, [['/step', 'above_maximum']]],
    [{ step: 0 }, [['/step', 'below_minimum']]],
    [{ step: '1m' }, [['/step', 'wrong_type']]],
    [{ step: 10.5 }, [['/step', 'wrong_type']]],
    [{ type: 'gpu' }, [['/type', 'not_in_enum']]],
    [{ type: 'cpu,' }, [['/type', 'not_in_enum']]],
    [{ type: '' }, [['/type', 'not_in_enum']]],
    [
      { start: now, end: now, type: 'CPU' },
      [
        ['/end', 'below_minimum'],
        ['/type', 'not_in_enum'],
      ],
    ],
  ] as const) {
    const { status, body } = await metrics(t, id, query)
    expect([query, status, issues(body)]).toEqual([query, 422, expected])
  }
  for (const end of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2026-11-20t12:00:00z'])
    expect([end, (await metrics(t, id, { end })).status]).toEqual([end, 200])
  expect((await metrics(t, id, { start: iso(t, 30 * DAY) })).status).toBe(200)
  expect((await metrics(t, id, { start: '2026-11-20T14:30:00+03:00' })).body.start).toBe(
    '2026-11-20T11:30:00.000Z',
  )
})

describe('the step', () => {
  test('makes at most 200 points where none is asked for, and the last hour is the span', async () => {
    const t = await testApp()
    const id = await make(t)
    for (const [seconds, step] of [
      [30, 10],
      [2_000, 10],
      [2_001, 20],
      [HOUR, 20],
      [6 * HOUR, 120],
      [DAY, 600],
      [7 * DAY, HOUR],
      [30 * DAY, 4 * HOUR],
    ] as const) {
      const { body, cpu } = await metrics(t, id, { start: iso(t, seconds) })
      expect([seconds, body.step]).toEqual([seconds, step])
      expect(cpu.length).toBeLessThanOrEqual(200)
      expect(cpu.length).toBeGreaterThan(0)
      for (const [at] of cpu) expect(at % step).toBe(0)
    }
    const { body, cpu } = await metrics(t, id)
    expect([body.start, body.end, cpu.length]).toEqual([iso(t, HOUR), iso(t, 0), 180])
    const { body: earlier } = await metrics(t, id, { end: iso(t, DAY) })
    expect(earlier.start).toBe(iso(t, DAY + HOUR))
  })

  test('is the one that is asked for, unless samples are kept more coarsely or there were too many points', async () => {
    const t = await testApp()
    const id = await make(t)
    for (const [start, end, asked, used] of [
      [HOUR, 0, 10, 10],
      [HOUR, 0, 45, 45],
      [HOUR, 0, 7_200, 7_200],
      [DAY, 0, 10, 60],
      [2 * DAY, 2 * DAY - HOUR, 10, 60],
      [8 * DAY, 8 * DAY - HOUR, 10, 300],
      [30 * DAY, 0, 10, 1_800],
      [30 * DAY, 0, 30 * DAY, 30 * DAY],
    ] as const) {
      const { body, cpu } = await metrics(t, id, { start: iso(t, start), end: iso(t, end), step: asked })
      expect([start, asked, body.step]).toEqual([start, asked, used])
      expect(cpu.length).toBeLessThanOrEqual(2_000)
    }
  })
})

test('a chart has no gaps where samples are taken less often than its step would be', async () => {
  for (const seconds of [15, 60]) {
    const t = await testApp({ sampleSeconds: seconds })
    const id = await make(t)
    await sample(t, 60, seconds)
    for (const [query, step] of [
      [{}, seconds === 15 ? 20 : 60],
      [{ step: 10 }, seconds === 15 ? 20 : 60],
      [{ step: seconds }, seconds],
      [{ step: 90 }, 90],
    ] as const) {
      const { body, cpu } = await metrics(t, id, { start: iso(t, 14 * 60), ...query })
      expect([query, body.step, known(cpu).length]).toEqual([query, step, cpu.length])
    }
  }
})

test('totals and rates continue over stop, start, reset and a restart of the service, without a spike', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 3)
  const first = await stats(t, id)
  const peak = Math.max(...known((await metrics(t, id, { step: 10 })).series['disk.read.bandwidth']))
  const act = async (action: string, body = {}) => {
    await t.call('POST', `/servers/${id}/${action}`, body)
    await t.finish()
  }
  await act('stop')
  const off = await stats(t, id)
  expect(off.disk).toMatchObject({
    read_bytes_total: first.disk.read_bytes_total,
    read_bytes_per_second: null,
  })
  await sample(t, 2)
  await act('start')
  await sample(t, 2)
  await act('reboot', { force: true })
  await sample(t, 2)
  // The service was down for a while; what is remembered is in the database.
  t.clock.advance(5 * 60_000)
  await sample(t, 4)
  const last = await stats(t, id)
  expect(last.disk.read_bytes_total).toBeGreaterThan(first.disk.read_bytes_total)
  const points = (await metrics(t, id, { step: 10 })).series['disk.read.bandwidth']
  // Three, then off, two, two, then a pause that ends with a look to which there is nothing to compare, and three.
  expect(known(points)).toHaveLength(3 + 2 + 2 + 3)
  for (const value of known(points)) expect(value).toBeLessThanOrEqual(peak * 1.5)
})

test('a total never decreases when the server is stopped before the next sample', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 2)
  const shown: number[] = []
  const look = async () => shown.push((await stats(t, id)).disk.read_bytes_total)
  t.clock.advance(9_000)
  await look()
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  await look()
  await sample(t, 1)
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  await look()
  await sample(t, 1)
  await look()
  expect(shown).toEqual([...shown].sort((a, b) => a - b))
  const bandwidth = known((await metrics(t, id, { step: 10 })).series['disk.read.bandwidth'])
  expect(Math.max(...bandwidth)).toBeLessThan(Math.min(...bandwidth) * 1.5)
})

test('samples become coarser with age, and are deleted after 30 days', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 360)
  const begun = t.clock.now() / 1000 - HOUR
  const span = { start: new Date(begun * 1000).toISOString(), end: iso(t, 0) }
  const fresh = await metrics(t, id, { ...span, step: 300 })
  const counts = async () => {
    const rows = await t.db
      .selectFrom('samples')
      .select(['resolution', (eb) => eb.fn.countAll<number>().as('n')])
      .groupBy('resolution')
      .orderBy('resolution')
      .execute()
    return rows.map(({ resolution, n }) => [resolution, Number(n)])
  }
  expect(await counts()).toEqual([
    [10, 360],
    [60, 60],
    [300, 12],
  ])
  expect(known(fresh.cpu)).toHaveLength(12)
  // The machine is off from here on, so that there is nothing but what is old.
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  for (const [days, left] of [
    [
      2,
      [
        [60, 60],
        [300, 12],
      ],
    ],
    [6, [[300, 12]]],
  ] as const) {
    t.clock.advance(days * DAY * 1000)
    await t.app.sampler.round()
    expect(await counts()).toEqual(left)
    const old = await metrics(t, id, { ...span, step: 300 })
    expect(old.body.step).toBe(300)
    for (const [at, value] of values(old.cpu).entries()) expect(value).toBeCloseTo(fresh.cpu[at]?.[1] ?? 0, 1)
    expect(known((await metrics(t, id, { start: iso(t, 20 * DAY) })).cpu)).toHaveLength(1)
  }
  t.clock.advance(23 * DAY * 1000)
  await t.app.sampler.round()
  expect(await counts()).toEqual([])
})

test('the newest end of a long span is shown at once, from finer samples', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 400)
  const at = (seconds: number) => metrics(t, id, { start: iso(t, seconds), step: 300 })
  const [fine, long] = [await at(2 * HOUR), await at(20 * DAY)]
  const newest = (points: Points) => points.filter(([, value]) => value !== null)
  expect([long.body.step, newest(fine.cpu).length]).toEqual([900, 14])
  expect(newest(long.cpu).at(-1)?.[0]).toBeGreaterThan(t.clock.now() / 1000 - 900)
  const days = await at(2 * DAY)
  expect(days.body.step).toBe(300)
  for (const [n, [time, value]] of newest(days.cpu).entries())
    expect([time, value]).toEqual([
      newest(fine.cpu)[n]?.[0],
      expect.closeTo(newest(fine.cpu)[n]?.[1] ?? 0, 1),
    ])
})

test('a step of finer and coarser samples has their mean by time, however often samples are taken', async () => {
  const t = await testApp({ sampleSeconds: 60 })
  const id = await make(t)
  await sample(t, 60, 60)
  for (let round = 0; round < 15; round++) {
    await sample(t, 1, 60)
    await t.db.updateTable('samples').set({ cpu: sql`at % 1000` }).execute()
    const newest = async (seconds: number) =>
      known((await metrics(t, id, { start: iso(t, seconds), step: 900 })).cpu).slice(-2)
    expect(await newest(2 * DAY)).toEqual(await newest(HOUR))
  }
})

test('a service that was down while slots ended rolls them up when it starts', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 33)
  t.clock.advance(DAY * 1000)
  await sample(t, 1)
  const { cpu } = await metrics(t, id, { start: iso(t, DAY + 400), end: iso(t, DAY - 100), step: 60 })
  expect(known(cpu)).toHaveLength(6)
})

test('a service that dies between a sample and its roll-up loses neither', async () => {
  const t = await testApp()
  const id = await make(t)
  await sample(t, 59)
  // The round that would make the minutes: all that it has done is in the database, but for those.
  await sample(t, 1)
  await t.db.deleteFrom('samples').where('resolution', '=', 60).execute()
  const servers = { powered: poweredServers, present: pooledServers }
  const next = new Sampler({ ...t, log: t.app.http.log, servers, peers: noPeers(), everySeconds: 10 })
  t.clock.advance(10_000)
  await next.round()
  const minutes = t.db.selectFrom('samples').select('at').where('resolution', '=', 60)
  expect(await minutes.execute()).toHaveLength(10)
  expect(known((await metrics(t, id, { start: iso(t, 2 * DAY), step: 60 })).cpu).length).toBeGreaterThan(0)
})

test('no metrics of a deleted server are kept', async () => {
  const t = await testApp()
  const [id, other] = [await make(t), await make(t)]
  await sample(t, 12)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect((await t.call('GET', `/servers/${id}/metrics`)).status).toBe(404)
  expect((await t.call('GET', `/servers/${id}/stats`)).status).toBe(404)
  await sample(t, 1)
  const left = await t.db.selectFrom('meters').select(['server_id', 'series']).execute()
  expect(left.map(({ server_id }) => server_id)).toEqual([other])
  const rows = await t.db.selectFrom('samples').select('series').distinct().execute()
  expect(rows.map(({ series }) => series)).toEqual([left[0]?.series])
  expect(known((await metrics(t, other)).cpu).length).toBeGreaterThan(0)
})

test('a driver that fails costs a round, and the service continues', async () => {
  const t = await testApp()
  const id = await make(t)
  t.app.sampler.start()
  t.driver.failNext('measure', new Error('no machine can be measured'))
  const points = async () => known((await metrics(t, id, { step: 10 })).cpu).length
  await expect
    .poll(async () => {
      t.clock.advance(10_000)
      return points()
    })
    .toBeGreaterThan(2)
  expect((await stats(t, id)).cpu.usage_percent).toBeGreaterThan(0)
})

test('more servers than one batch are measured together, each with figures of its own', async () => {
  const t = await testApp()
  const id = await make(t)
  const row = await t.db.selectFrom('servers').selectAll().executeTakeFirstOrThrow()
  const ids = Array.from(
    { length: 1_100 },
    (_, at) => `00000000-0000-7000-8000-${String(at).padStart(12, '0')}`,
  )
  for (const server_id of ids) {
    await t.db
      .insertInto('servers')
      .values({ ...row, server_id, ssh_port: null, number: null })
      .execute()
    await t.driver.define({ ...specOf(server_id), cpu: 1, ramMb: 512, diskGb: 5 })
    await t.driver.connect(new Map([[server_id, { ...PLAIN_NETWORK, number: 1 }]]))
    await t.driver.start(server_id)
  }
  await sample(t, 7)
  const meters = await t.db.selectFrom('meters').select('series').execute()
  expect(new Set(meters.map(({ series }) => series)).size).toBe(ids.length + 1)
  for (const one of [id, ids[0] ?? '', ids.at(-1) ?? '']) {
    expect(known((await metrics(t, one, { step: 10 })).cpu)).toHaveLength(7)
    const [mean] = known((await metrics(t, one, { start: iso(t, 2 * DAY) })).cpu)
    expect(mean).toBeGreaterThan(0)
  }
})

function specOf(serverId: string) {
  return {
    serverId,
    hostname: 'x',
    cpuType: 'amd' as const,
    image: { slug: 'micro', sources: [] },
    diskId: 'first',
    instanceId: serverId,
    username: 'berth',
    sshPublicKeys: [],
    password: null,
    userData: null,
    interfaces: [{ mac: '52:54:00:00:00:01', addresses: [] }],
    owner: 'x',
  }
}

test('usage has the account’s own traffic of each month, across restarts and regardless of reads in between', async () => {
  const t = await testApp()
  const id = await make(t, { name: 'web-1' })
  const traffic = async (month: string) => (await t.call('GET', `/account/usage?month=${month}`)).body.traffic
  const total = async () => {
    const { network } = await stats(t, id)
    return { in_bytes: network.rx_bytes_total, out_bytes: network.tx_bytes_total }
  }
  await sample(t, 2)
  t.clock.advance(3_000)
  await stats(t, id)
  await t.call('POST', `/servers/${id}/reboot`)
  await t.finish()
  await sample(t, 2)
  const november = await total()
  expect(await traffic('2026-11')).toEqual([{ server_id: id, server_name: 'web-1', ...november }])
  t.clock.advance(Date.parse('2026-12-01T00:00:05Z') - t.clock.now())
  await sample(t, 1)
  const both = await total()
  expect(await traffic('2026-12')).toEqual([
    {
      server_id: id,
      server_name: 'web-1',
      in_bytes: both.in_bytes - november.in_bytes,
      out_bytes: both.out_bytes - november.out_bytes,
    },
  ])
  const stranger = t.callAs(await t.makeToken(['read'], { accountId: await t.makeAccount() }))
  expect((await stranger('GET', '/account/usage?month=2026-11')).body.traffic).toEqual([])

  t.clock.advance(401 * DAY * 1000)
  await t.app.retention.look()
  expect(await traffic('2026-11')).toEqual([])
})
