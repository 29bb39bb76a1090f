import { expect, test } from 'vitest'
import { type Reply, type TestApp, testApp } from '../../harness/app.ts'
import { brokenAlways, brokenAtRest } from '../../process/harness/invariants.ts'
import { make, order } from '../harness/ordering.ts'

const ports = { first: 22000, last: 22999 }

async function sums(t: TestApp): Promise<string[]> {
  return brokenAlways({ db: t.db, machines: await t.driver.list(), ports })
}

async function rest(t: TestApp): Promise<string[]> {
  await t.finish()
  return brokenAtRest({ db: t.db, machines: await t.driver.list(), ports })
}

const times = <T>(count: number, one: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => one(at)))

/** How many replies had which status and code. */
function tally(replies: readonly Reply[]): Record<string, number> {
  const kinds = replies.map(({ status, body }) => (status < 300 ? `${status}` : `${status} ${body.code}`))
  return Object.fromEntries(
    [...Map.groupBy(kinds, (kind) => kind)].map(([kind, list]) => [kind, list.length]),
  )
}

test.each([
  ['servers', 5],
  ['cpu', 5],
  ['ram_mb', 5 * 512 + 511],
  ['disk_gb', 59],
])('creates at the same instant never pass the quota of %s', async (name, limit) => {
  const t = await testApp()
  await t.db
    .updateTable('accounts')
    .set({ quotas: JSON.stringify({ [name]: limit }) })
    .execute()
  const body = await order(t.call)
  expect(tally(await times(16, () => t.call('POST', '/servers', body)))).toEqual({
    202: 5,
    '403 quota_exceeded': 11,
  })
  expect(await sums(t)).toEqual([])
  expect(await rest(t)).toEqual([])
})

test('creates of many accounts at the same instant never pass what the host has', async () => {
  const t = await testApp({ simulator: { host: { cores: 1, ramMb: 5 * 512 + 100, diskGb: 1_000 } } })
  const callOf = await accounts(t, 4)
  const body = await order(t.call)
  const replies = await times(16, (at) => callOf(at % 4)('POST', '/servers', body))
  expect(tally(replies)).toEqual({ 202: 5, '409 capacity_unavailable': 11 })
  expect(await rest(t)).toEqual([])
})

/** Callers of as many accounts, whose orders wait for nobody else's. */
async function accounts(t: TestApp, count: number) {
  const calls = await times(count, async () =>
    t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() })),
  )
  return (at: number) => calls[at] ?? t.call
}

test('ports are never given twice, and a range that is used up says so', async () => {
  const t = await testApp({ sshPorts: { first: 22000, last: 22004 } })
  const body = await order(t.call)
  const callOf = await accounts(t, 8)
  const replies = await times(8, (at) => callOf(at)('POST', '/servers', body))
  expect(tally(replies)).toEqual({ 202: 5, '409 capacity_unavailable': 3 })
  expect(await rest(t)).toEqual([])
  const owner = replies.findIndex(({ status }) => status === 202)
  await callOf(owner)('DELETE', `/servers/${replies[owner]?.body.server_id}`)
  await t.finish()
  expect((await t.call('POST', '/servers', body)).status).toBe(202)
})

test.each(['stop', 'reboot'])('of many simultaneous requests to %s, one is accepted', async (action) => {
  const t = await testApp()
  const id = await make(t)
  const replies = await times(8, () => t.call('POST', `/servers/${id}/${action}`))
  expect(tally(replies)).toEqual({ 202: 1, '409 operation_in_progress': 7 })
  const accepted = replies.find((reply) => reply.status === 202)?.body.operation_id
  for (const { status, body } of replies) if (status === 409) expect(body.operation_id).toBe(accepted)
  expect(await rest(t)).toEqual([])
})

test('two different power actions at once: one is taken', async () => {
  const t = await testApp()
  const id = await make(t)
  const replies = await Promise.all([
    t.call('POST', `/servers/${id}/stop`),
    t.call('POST', `/servers/${id}/reboot`),
  ])
  expect(tally(replies)).toEqual({ 202: 1, '409 operation_in_progress': 1 })
  expect(await rest(t)).toEqual([])
})

test('simultaneous deletes are one operation', async () => {
  const t = await testApp()
  const id = await make(t)
  const replies = await times(8, () => t.call('DELETE', `/servers/${id}`))
  expect(tally(replies)).toEqual({ 202: 8 })
  expect(new Set(replies.map(({ body }) => body.operation_id)).size).toBe(1)
  expect(await rest(t)).toEqual([])
})

test('a create that races with the deletion of its project: one of them wins', async () => {
  const t = await testApp()
  for (let round = 0; round < 8; round++) {
    const { project_id } = (await t.call('POST', '/account/projects', { name: 'Short' })).body
    const body = await order(t.call, { project_id })
    const [created, deleted] = await Promise.all([
      t.call('POST', '/servers', body),
      t.call('DELETE', `/account/projects/${project_id}`),
    ])
    expect(['202 409', '422 204']).toContain(`${created.status} ${deleted.status}`)
    expect(await sums(t)).toEqual([])
  }
  expect(await rest(t)).toEqual([])
})

test('servers that move between projects in both directions at once are counted right', async () => {
  const t = await testApp()
  const projects: string[] = []
  for (const name of ['a', 'b'])
    projects.push((await t.call('POST', '/account/projects', { name })).body.project_id)
  const ids: string[] = []
  for (let at = 0; at < 6; at++)
    ids.push(await make(t, { project_id: projects[at % 2], start_on_create: false }))
  for (let round = 1; round <= 4; round++) {
    const replies = await times(6, (at) =>
      t.call('PATCH', `/servers/${ids[at]}`, { project_id: projects[(at + round) % 2] }),
    )
    expect(tally(replies)).toEqual({ 200: 6 })
    expect(await sums(t)).toEqual([])
  }
})

test('everything at once: creates, moves, resizes and deletes while operations end', async () => {
  const t = await testApp()
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'other' })).body
  const { default_project_id } = (await t.call('GET', '/account/me')).body
  const ids: string[] = []
  for (let at = 0; at < 8; at++) ids.push(await make(t, { start_on_create: at % 2 === 0 }))
  const body = await order(t.call, { project_id })
  const replies = await Promise.all([
    ...ids.map((id, at) =>
      t.call('PATCH', `/servers/${id}`, { project_id: at % 3 ? project_id : default_project_id }),
    ),
    ...ids.map((id, at) =>
      at % 2
        ? t.call('PATCH', `/servers/${id}`, { cpu: 2, project_id })
        : t.call('POST', `/servers/${id}/stop`),
    ),
    ...ids.slice(0, 3).map((id) => t.call('DELETE', `/servers/${id}`)),
    ...[1, 2, 3].map(() => t.call('POST', '/servers', body)),
    t.work().then(() => t.call('GET', '/account/me')),
    t.work().then(() => t.call('DELETE', `/servers/${ids[4]}`)),
    ...[1, 2, 3].map(() => t.call('POST', '/servers', body)),
    ...ids.slice(5).map((id) => t.call('DELETE', `/servers/${id}`)),
    t.work().then(() => t.call('GET', '/account/me')),
  ])
  expect(replies.filter(({ status }) => status >= 500).map((reply) => reply.body)).toEqual([])
  expect(await rest(t)).toEqual([])
})

test('only orders on a slow host wait for it', async () => {
  const t = await testApp()
  const size = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 1024, disk_gb: 10 }
  const id = await make(t, { ...size, start_on_create: false })
  const body = await order(t.call)
  const facts = await t.driver.host()
  for (const [method, path, wanted, status] of [
    ['POST', '/servers', body, 202],
    ['POST', '/pricing/quote', body, 200],
    ['PATCH', `/servers/${id}`, { cpu: 2 }, 202],
  ] as const) {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    let asked = 0
    t.driver.host = async () => {
      asked += 1
      await answered
      // The reply may be outdated by the time it arrives.
      t.clock.advance(3_000)
      return facts
    }
    t.clock.advance(3_000)
    const waiting = t.call(method, path, wanted)
    await expect.poll(() => asked).toBe(1)
    expect((await t.call('POST', '/account/projects', { name: `beside ${path}` })).status).toBe(201)
    answer()
    expect([path, (await waiting).status, asked]).toEqual([path, status, 1])
  }
})
