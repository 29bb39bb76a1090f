import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { systemsOfCopies } from '../../../api/snapshots/queries.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { issues, make, order } from '../harness/ordering.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR

/** An installation where copies take ten seconds, backups cost a fifth, and a GB of a snapshot has a price. */
function priced(): Promise<TestApp> {
  const price = 'disk_gb_month_rub: "6.00",'
  const text = catalogText.replaceAll(price, `${price} snapshot_gb_month_rub: "30.00", backups_percent: 20,`)
  return testApp({ simulator: { copyMs: 10_000 }, catalog: parseCatalog(text, 'catalog.yaml') })
}

/** Turns the clock to the next hour of the day, and carries out what is due then. */
async function night(t: TestApp, hour: number): Promise<void> {
  const now = t.clock.now()
  const today = now - (now % DAY) + hour * HOUR
  t.clock.advance((today > now ? today : today + DAY) - now)
  await due(t)
}

/** Carries out all backups that are due. */
async function due(t: TestApp): Promise<void> {
  for (;;) {
    await t.app.backups.look()
    if ((await t.app.engine.nextDueAt()) === null) return
    await t.finish()
  }
}

const backups = async (t: TestApp, id: string) =>
  (await t.call('GET', `/backups?server_id=${id}`)).body.items as Record<string, unknown>[]
const server = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body

test('a server is backed up every day in the hour that its customer chose, and the last seven are kept', async () => {
  const t = await priced()
  const id = await make(t, { backups_enabled: true, backup_window: 3 })
  expect(await server(t, id)).toMatchObject({ backups_enabled: true, backup_window: 3 })
  await due(t)
  expect(await backups(t, id)).toEqual([])
  for (let day = 0; day < 9; day++) {
    await night(t, 3)
    const [newest] = await backups(t, id)
    expect(newest).toMatchObject({ status: 'available', expires_at: null, size_gb: expect.any(Number) })
    expect(new Date(String(newest?.created_at)).getUTCHours()).toBe(3)
  }
  const kept = await backups(t, id)
  expect(kept).toHaveLength(7)
  expect((await t.call('GET', `/servers/${id}/backups`)).body.items).toEqual(kept)
  expect((await t.call('GET', '/snapshots')).body.items).toEqual([])
  expect(await server(t, id)).toMatchObject({ status: 'running', current_operation: null })
})

test('after an outage of days there is one backup, not one for each day', async () => {
  const t = await priced()
  const id = await make(t, { backups_enabled: true, backup_window: 3 })
  t.clock.advance(4 * DAY)
  await due(t)
  expect(await backups(t, id)).toHaveLength(1)
})

test('one server of a host is backed up at a time, and looks at once never begin a backup twice', async () => {
  const t = await priced()
  const ids = [await make(t, backupsAt(3)), await make(t, backupsAt(3)), await make(t, backupsAt(3))]
  const now = t.clock.now()
  t.clock.advance(DAY - (now % DAY) + 3 * HOUR)
  await Promise.all([t.app.backups.look(), t.app.backups.look(), t.app.backups.look()])
  const busy = await Promise.all(ids.map(async (id) => (await server(t, id)).current_operation))
  expect(busy.filter((operation) => operation?.type === 'backup')).toHaveLength(1)
  await due(t)
  for (const id of ids) expect(await backups(t, id)).toHaveLength(1)
})

const backupsAt = (hour: number) => ({ backups_enabled: true, backup_window: hour })

test('a server in rescue, which can not be backed up, holds up no other server of its host', async () => {
  const t = await priced()
  const [rescued, other] = [await make(t, backupsAt(3)), await make(t, backupsAt(3))]
  await t.call('POST', `/servers/${rescued}/rescue`)
  await t.finish()
  await night(t, 3)
  expect(await backups(t, rescued)).toEqual([])
  expect(await backups(t, other)).toHaveLength(1)
  await t.call('POST', `/servers/${rescued}/unrescue`)
  await t.finish()
  await due(t)
  expect(await backups(t, rescued)).toHaveLength(1)
})

test('a request never waits for a backup: it takes its place, and the backup is made later', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  const ways = [
    () => t.call('POST', `/servers/${id}/reboot`),
    () => t.call('POST', `/servers/${id}/stop`),
    () => t.call('PATCH', `/servers/${id}`, { cpu: 2 }),
    () => t.call('POST', `/servers/${id}/start`),
    () => t.call('POST', '/snapshots', { server_id: id }),
    () => t.call('POST', `/servers/${id}/rebuild`, { template: 'micro' }),
  ]
  for (const way of ways) {
    const now = t.clock.now()
    t.clock.advance(DAY - (now % DAY) + 3 * HOUR)
    await t.app.backups.look()
    await t.app.engine.tick()
    const { operation_id, type } = (await server(t, id)).current_operation
    expect(type).toBe('backup')
    expect((await t.call('GET', `/servers/${id}/details`)).body.allowed_actions).toContain('snapshot')
    const before = await backups(t, id)
    expect(before[0]).toMatchObject({ status: 'creating' })
    expect((await way()).status).toBe(202)
    expect((await t.call('GET', `/operations/${operation_id}`)).body.status).toBe('canceled')
    await t.finish()
    expect((await backups(t, id)).every(({ status }) => status === 'available')).toBe(true)
    await due(t)
    expect((await backups(t, id))[0]).toMatchObject({ status: 'available' })
  }
})

test('the limits of custom plans name the prices of snapshots and backups', async () => {
  const t = await priced()
  const { body } = await t.call('GET', '/pricing/limits?zone_slug=local-1&cpu_type=amd')
  expect(body).toMatchObject({ snapshot_gb_month_rub: '30.00', backups_percent: 20 })
})

test('the catalogue knows the template of a backup whose server is deleted', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  const { template_id, zone_slug } = await server(t, id)
  await night(t, 3)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect(await systemsOfCopies(t.db).execute()).toEqual([{ zone_slug, template_id }])
})

test('backups cost a share of the price of their server, while it is billed, in a line of their own', async () => {
  const t = await priced()
  const quoted = (await t.call('POST', '/pricing/quote', await order(t.call, backupsAt(3)))).body
  const plain = (await t.call('POST', '/pricing/quote', await order(t.call))).body
  const share = quoted.items.at(-1)
  expect(share).toMatchObject({ code: 'backups', quantity: 1, unit: 'server' })
  expect(Number(share.price_month_rub)).toBeCloseTo(Number(plain.price_month_rub) / 5, 2)
  expect(Number(quoted.price_month_rub)).toBeCloseTo(Number(plain.price_month_rub) * 1.2, 2)

  const cost = async () => Number((await t.call('GET', '/account/balance')).body.cost_month_rub)
  const id = await make(t, backupsAt(3))
  expect(await cost()).toBe(Number(quoted.price_month_rub))
  t.clock.advance(2 * HOUR)
  await t.app.billing.look()
  const { items } = (await t.call('GET', '/account/usage')).body
  expect(items.map(({ item_type }: { item_type: string }) => item_type).sort()).toEqual(['backup', 'server'])
  await t.call('PATCH', `/servers/${id}`, { backups_enabled: false })
  expect(await cost()).toBe(Number(plain.price_month_rub))
  await t.call('PATCH', `/servers/${id}`, { backups_enabled: true })
  expect(await cost()).toBe(Number(quoted.price_month_rub))
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  await t.call('PATCH', `/servers/${id}`, { cpu: 2 })
  await t.finish()
  const grown = await server(t, id)
  expect(await cost()).toBeCloseTo(Number(grown.price_month_rub) * 1.2, 2)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect(await cost()).toBe(0)
})

test('backups stay for a week after their server is deleted, or its backups are turned off', async () => {
  const t = await priced()
  const [gone, off] = [await make(t, backupsAt(3)), await make(t, backupsAt(3))]
  await night(t, 3)
  await t.call('DELETE', `/servers/${gone}`)
  await t.finish()
  await t.call('PATCH', `/servers/${off}`, { backups_enabled: false })
  const until = t.clock.now() + 7 * DAY
  for (const id of [gone, off]) {
    const [backup] = await backups(t, id)
    expect(Math.abs(Date.parse(String(backup?.expires_at)) - until)).toBeLessThan(HOUR)
  }
  t.clock.advance(6 * DAY)
  await due(t)
  for (const id of [gone, off]) expect(await backups(t, id)).toHaveLength(1)
  // Turned on again, they stay.
  await t.call('PATCH', `/servers/${off}`, { backups_enabled: true, backup_window: 3 })
  t.clock.advance(2 * DAY)
  await due(t)
  expect(await backups(t, gone)).toEqual([])
  expect(await backups(t, off)).toHaveLength(2)
  await t.app.reconciler.sweep()
  expect((await t.driver.listSnapshots()).size).toBe(2)
})

test('a server is restored from a backup, and a new one made from that of a deleted server', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  await t.driver.writes(id, 'before')
  await night(t, 3)
  const [backup] = await backups(t, id)
  await t.driver.writes(id, 'after')
  const { backup_id } = backup ?? {}
  const restored = await t.call('POST', `/servers/${id}/restore`, { backup_id })
  expect(restored).toMatchObject({ status: 202, body: { type: 'restore' } })
  await t.finish()
  expect(t.driver.dataOf(id)).toBe('before')
  const none = await t.call('POST', `/servers/${id}/restore`, {})
  expect(none.status).toBe(422)
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const { template_id: _, ...rest } = await order(t.call, { snapshot_id: backup_id })
  const { body: made } = await t.call('POST', '/servers', rest)
  const used = await t.call('DELETE', `/backups/${backup_id}`)
  expect(used).toMatchObject({ status: 409, body: { code: 'snapshot_in_use' } })
  await t.finish()
  expect(t.driver.dataOf(made.server_id)).toBe('before')
  expect((await t.call('DELETE', `/backups/${backup_id}`)).status).toBe(204)
})

test('a backup becomes a snapshot of the same id, which stays and is billed', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  await night(t, 3)
  const [backup] = await backups(t, id)
  const path = `/backups/${backup?.backup_id}/snapshot`
  const headers = { 'idempotency-key': 'keep' }
  const kept = await t.call('POST', path, { name: 'for good' }, headers)
  expect(kept).toMatchObject({ status: 201, body: { snapshot_id: backup?.backup_id, name: 'for good' } })
  expect(Number(kept.body.price_month_rub)).toBe(30 * Number(backup?.size_gb))
  expect((await t.call('POST', path, { name: 'for good' }, headers)).body).toEqual(kept.body)
  expect(await t.call('POST', path, {})).toMatchObject({ status: 404, body: { code: 'backup_not_found' } })
  expect(await backups(t, id)).toEqual([])
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  t.clock.advance(30 * DAY)
  await due(t)
  expect((await t.call('GET', `/snapshots/${backup?.backup_id}`)).status).toBe(200)
})

test('a backup that fails is an event, leaves nothing, and is made the next day', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  for (let at = 0; at < 10; at++) t.driver.failNext('snapshot', new DriverError('disk_full', 'full'))
  await night(t, 3)
  await t.app.events.relay()
  expect(await backups(t, id)).toEqual([])
  const types = async () =>
    (await t.call('GET', '/events')).body.items.map(({ type }: { type: string }) => type) as string[]
  expect(await types()).toContain('backup.failed')
  expect((await server(t, id)).current_operation).toBeNull()
  await night(t, 3)
  await t.app.events.relay()
  expect(await backups(t, id)).toHaveLength(1)
  expect(await types()).toContain('backup.created')
})

test('an hour without backups is refused, and moving the hour brings no more than one backup in twelve hours', async () => {
  const t = await priced()
  const refused = await t.call('POST', '/servers', await order(t.call, { backup_window: 3 }))
  expect(issues(refused.body)).toEqual([['/backup_window', 'mutually_exclusive']])
  const id = await make(t)
  const off = await t.call('PATCH', `/servers/${id}`, { backup_window: 3 })
  expect(issues(off.body)).toEqual([['/backup_window', 'mutually_exclusive']])
  await t.call('PATCH', `/servers/${id}`, { backups_enabled: true })
  expect((await server(t, id)).backup_window).toBeLessThan(6)
  for (let hour = 0; hour < 24; hour++) {
    await t.call('PATCH', `/servers/${id}`, { backup_window: (hour + 1) % 24 })
    await night(t, hour)
  }
  expect((await backups(t, id)).length).toBeLessThanOrEqual(2)
})

test('backups that are on only while one would be made cost nothing and bring none', async () => {
  const t = await priced()
  const id = await make(t)
  const set = (change: object) => t.call('PATCH', `/servers/${id}`, change)
  for (let day = 0; day < 4; day++) {
    await night(t, 2)
    await set({ backups_enabled: true, backup_window: 3 })
    // Another hour, and back, is no way around.
    if (day % 2 === 1) for (const backup_window of [12, 3]) await set({ backup_window })
    await night(t, 3)
    await set({ backups_enabled: false })
  }
  expect(await backups(t, id)).toHaveLength(1)
  await set({ backups_enabled: true, backup_window: 3 })
  await night(t, 3)
  expect(await backups(t, id)).toHaveLength(2)
})

test('each copy is compared with its hash within a day, and again every week', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  await night(t, 3)
  const { snapshot_id } = (await t.call('POST', '/snapshots', { server_id: id })).body
  await t.finish()
  const found = async () => [
    (await backups(t, id))[0],
    (await t.call('GET', `/snapshots/${snapshot_id}`)).body as Record<string, unknown>,
  ]
  await t.app.backups.verify()
  for (const copy of await found()) expect(copy).toMatchObject({ verified_at: null, verified_by: null })
  for (const waitMs of [20 * HOUR, 7 * DAY]) {
    t.clock.advance(waitMs)
    const now = new Date(t.clock.now()).toISOString()
    await t.app.backups.verify()
    for (const copy of await found()) expect(copy).toMatchObject({ verified_at: now, verified_by: 'hash' })
  }
})

test('a copy that its host can not read keeps no other from being verified', async () => {
  const t = await priced()
  const id = await make(t)
  const made: string[] = []
  for (let copies = 0; copies < 2; copies++) {
    made.push((await t.call('POST', '/snapshots', { server_id: id })).body.snapshot_id)
    await t.finish()
  }
  const { verifySnapshot } = t.driver
  t.driver.verifySnapshot = async (snapshotId) => {
    if (snapshotId === made[0]) throw new DriverError('start_failed', 'a fault of this copy')
    return verifySnapshot.call(t.driver, snapshotId)
  }
  t.clock.advance(DAY)
  await t.app.backups.verify()
  const verified = await Promise.all(
    made.map(async (id) => (await t.call('GET', `/snapshots/${id}`)).body.verified_at),
  )
  expect(verified).toEqual([null, new Date(t.clock.now()).toISOString()])
})

test('a damaged copy costs nothing and can’t be restored, its customer is told, and another backup is made', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  await night(t, 3)
  const [backup] = await backups(t, id)
  const { snapshot_id } = (await t.call('POST', '/snapshots', { server_id: id })).body
  await t.finish()
  const cost = async () => Number((await t.call('GET', '/account/balance')).body.cost_month_rub)
  const before = await cost()
  const { price_month_rub } = (await t.call('GET', `/snapshots/${snapshot_id}`)).body
  for (const copy of [String(backup?.backup_id), snapshot_id]) await t.driver.damages(copy)
  t.clock.advance(20 * HOUR)
  await t.app.backups.verify()
  expect((await t.call('GET', `/snapshots/${snapshot_id}`)).body).toMatchObject({
    status: 'error',
    verified_at: null,
  })
  expect(await cost()).toBe(before - Number(price_month_rub))
  for (const body of [{ snapshot_id }, { backup_id: backup?.backup_id }])
    expect((await t.call('POST', `/servers/${id}/restore`, body)).status).toBe(422)
  await t.app.events.relay()
  const types = (await t.call('GET', '/events')).body.items.map(({ type }: { type: string }) => type)
  expect(types).toContain('backup.failed')
  await due(t)
  expect(await backups(t, id)).toMatchObject([{ status: 'available' }, { status: 'error' }])
  // The operator may still look at the damaged files.
  await t.app.reconciler.sweep()
  expect((await t.driver.listSnapshots()).size).toBe(3)
})

test('the first backup is full, six differences follow, then there is another full one; each costs what both take', async () => {
  const t = await priced()
  const id = await make(t, { backups_enabled: true, backup_window: 3 })
  const rows = () =>
    t.db
      .selectFrom('snapshots')
      .select(['snapshot_id', 'base_id', 'bytes', 'base_bytes'])
      .where('deleted_at', 'is', null)
      .where('status', '=', 'available')
      .orderBy('snapshot_id')
      .execute()
  for (let day = 0; day < 7; day++) await night(t, 3)
  const [full, ...differences] = await rows()
  expect(full).toMatchObject({ base_id: null, base_bytes: 0 })
  expect(differences).toHaveLength(6)
  for (const row of differences) {
    expect(row.base_id).toBe(full?.snapshot_id)
    expect(Number(row.base_bytes)).toBe(Number(full?.bytes) * 0.75)
  }
  await night(t, 3)
  const next = (await rows()).at(-1)
  expect(next).toMatchObject({ base_id: null, base_bytes: 0 })
  // The full one has gone by now, and its differences are as good as before.
  expect((await rows()).map(({ snapshot_id }) => snapshot_id)).not.toContain(full?.snapshot_id)
  t.clock.advance(8 * HOUR)
  await t.app.backups.verify()
  const [newest] = await backups(t, id)
  await t.call('DELETE', `/backups/${newest?.backup_id}`)
  await night(t, 3)
  expect((await rows()).at(-1)?.base_id).toBeNull()
  const [difference] = await rows()
  const { body } = await t.call('POST', `/servers/${id}/restore`, { backup_id: difference?.snapshot_id })
  await t.finish()
  expect((await t.call('GET', `/operations/${body.operation_id}`)).body.status).toBe('succeeded')
})

test('the backup after a damaged difference is full, since the damage may be in what they share', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  await night(t, 3)
  await night(t, 3)
  const [difference] = await backups(t, id)
  await t.driver.damages(String(difference?.backup_id))
  t.clock.advance(20 * HOUR)
  await t.app.backups.verify()
  await due(t)
  const [newest, damaged] = await t.db
    .selectFrom('snapshots')
    .select(['status', 'base_id'])
    .orderBy('snapshot_id', 'desc')
    .execute()
  expect(damaged).toEqual({ status: 'error', base_id: expect.any(String) })
  expect(newest).toEqual({ status: 'available', base_id: null })
})

test('copies that share a damaged full copy are looked at with it, and the backup that finds it damaged is full', async () => {
  const t = await priced()
  const id = await make(t, backupsAt(3))
  for (let day = 0; day < 3; day++) await night(t, 3)
  t.clock.advance(20 * HOUR)
  await t.app.backups.verify()
  const statuses = async () => (await backups(t, id)).map(({ status }) => status)
  const rotten = (await backups(t, id)).map(({ backup_id }) => String(backup_id))
  for (const copy of rotten) await t.driver.damages(copy)
  // All of them were found intact hours ago, and are due in a week.
  await night(t, 3)
  expect((await backups(t, id))[0]).toMatchObject({ kind: 'full', status: 'available' })
  for (let look = 0; look < 2; look++) await t.app.backups.verify()
  expect(await statuses()).toEqual(['available', 'error', 'error', 'error'])
  await t.app.events.relay()
  const { items } = (await t.call('GET', '/events?limit=100')).body
  expect(items.filter(({ type }: { type: string }) => type === 'backup.failed')).toHaveLength(3)
})
