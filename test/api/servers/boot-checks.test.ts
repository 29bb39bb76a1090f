import pino from 'pino'
import { expect, test } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
import { Drivers } from '../../../api/drivers/drivers.ts'
import { BootChecks } from '../../../api/servers/backups/boot-checks.ts'
import { countBoots } from '../../../api/snapshots/boot-checks.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** An installation where a machine boots for two minutes. */
const booting = () => testApp({ simulator: { bootMs: 2 * MINUTE } })

function turnTo(t: TestApp, hour: number): void {
  const now = t.clock.now()
  const today = now - (now % DAY) + hour * HOUR
  t.clock.advance((today > now ? today : today + DAY) - now)
}

/** Makes the day's backups, in the night's fourth hour. */
async function backUp(t: TestApp): Promise<void> {
  turnTo(t, 3)
  for (;;) {
    await t.app.backups.look()
    if ((await t.app.engine.nextDueAt()) === null) return
    await t.finish()
  }
}

const backedUp = { backups_enabled: true, backup_window: 3 }

/** Boots what is due, to the end of the boot. */
async function boot(t: TestApp): Promise<void> {
  await t.app.backups.bootNewest()
  t.clock.advance(2 * MINUTE)
  await t.app.backups.bootNewest()
}

const newest = async (t: TestApp, id: string) => {
  const { items } = (await t.call('GET', `/servers/${id}/backups`)).body
  return items[0] as Record<string, unknown> & { backup_id: string }
}

async function eventsOf(t: TestApp, type: string) {
  await t.app.events.relay()
  const { items } = (await t.call('GET', '/events?limit=200')).body
  return (items as { type: string; data: unknown }[]).filter((event) => event.type === type)
}

test('the newest backup of a server is booted once a week, and is then verified by its boot', async () => {
  const t = await booting()
  const id = await make(t, backedUp)
  const booted: string[] = []
  for (let day = 0; day < 15; day++) {
    await backUp(t)
    const before = await newest(t, id)
    expect(before).toMatchObject({ boot_checked_at: null, boot_result: null })
    await boot(t)
    expect(t.driver.trial).toBeNull()
    const after = await newest(t, id)
    if (after.boot_result === null) continue
    booted.push(String(after.boot_checked_at))
    const at = new Date(t.clock.now()).toISOString()
    expect(after).toMatchObject({ boot_result: 'agent', verified_by: 'boot', verified_at: at })
  }
  expect(booted).toHaveLength(3)
  const gaps = booted.slice(1).map((at, index) => Date.parse(at) - Date.parse(String(booted[index])))
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(7 * DAY - MINUTE)
  expect(await eventsOf(t, 'backup.verified')).toHaveLength(3)
  expect(await eventsOf(t, 'backup.boot_failed')).toEqual([])
  // The hash of the bytes that started says no less than their boot did.
  t.clock.advance(DAY)
  await t.app.backups.verify()
  expect(await newest(t, id)).toMatchObject({ verified_by: 'boot' })
})

test('a backup that does not start stays, and its customer and the operator learn of it', async () => {
  const t = await booting()
  const id = await make(t, backedUp)
  await backUp(t)
  const { backup_id } = await newest(t, id)
  await t.driver.boots(backup_id, { state: 'failed', message: 'Its console shows a panic' })
  await boot(t)
  const failed = { status: 'available', boot_result: 'failed', verified_by: null }
  expect(await newest(t, id)).toMatchObject(failed)
  expect(await eventsOf(t, 'backup.boot_failed')).toMatchObject([{ data: { backup_id, ...failed } }])
  expect(await countBoots(t.db)).toEqual([{ result: 'failed', total: 1 }])
  expect(t.driver.trial).toBeNull()
})

test('a kernel that shows nothing of its init proves nothing, and is no failure', async () => {
  const t = await booting()
  const id = await make(t, backedUp)
  await backUp(t)
  await t.driver.boots((await newest(t, id)).backup_id, { state: 'unproven' })
  await boot(t)
  expect(await newest(t, id)).toMatchObject({ boot_result: 'unproven', verified_by: null })
  expect(await eventsOf(t, 'backup.boot_failed')).toEqual([])
})

test('backups boot at night, one at a time, none while a machine boots, and no list or bill has them', async () => {
  const t = await booting()
  const ids = [await make(t, backedUp), await make(t, backedUp)]
  await backUp(t)
  turnTo(t, 12)
  await t.app.backups.bootNewest()
  expect(t.driver.trial).toBeNull()
  turnTo(t, 1)
  await t.call('POST', `/servers/${ids[0]}/reboot`)
  await t.work()
  await t.app.backups.bootNewest()
  expect(t.driver.trial).toBeNull()
  await t.finish()
  const cost = async () => (await t.call('GET', '/account/balance')).body.cost_month_rub
  const before = { cost: await cost(), machines: [...(await t.driver.list()).keys()].sort() }
  await t.app.backups.bootNewest()
  const first = t.driver.trial
  expect(first).not.toBeNull()
  await t.app.backups.bootNewest()
  expect(t.driver.trial).toBe(first)
  expect({ cost: await cost(), machines: [...(await t.driver.list()).keys()].sort() }).toEqual(before)
  t.clock.advance(2 * MINUTE)
  await t.app.backups.bootNewest()
  await boot(t)
  for (const id of ids) expect(await newest(t, id)).toMatchObject({ boot_result: 'agent' })
})

test('a host that can not boot a backup says nothing about the backup, and tries again', async () => {
  const t = await booting()
  const id = await make(t, backedUp)
  await backUp(t)
  t.driver.failNext('trySnapshot', new DriverError('disk_full', 'The disk is full.'))
  await boot(t)
  expect(await newest(t, id)).toMatchObject({ status: 'available', boot_result: null })
  t.clock.advance(HOUR)
  await boot(t)
  expect(await newest(t, id)).toMatchObject({ boot_result: 'agent' })
})

test('a backup that is deleted while it boots leaves no trial, and one of a deleted server is not booted', async () => {
  const t = await booting()
  const [id, other] = [await make(t, backedUp), await make(t, backedUp)]
  await backUp(t)
  await t.call('DELETE', `/servers/${other}`)
  await t.finish()
  await t.app.backups.bootNewest()
  const { backup_id } = await newest(t, id)
  expect(t.driver.trial).toBe(backup_id)
  await t.call('DELETE', `/backups/${backup_id}`)
  await t.app.reconciler.sweep()
  await boot(t)
  expect(t.driver.trial).toBeNull()
  await boot(t)
  const { items } = (await t.call('GET', '/backups')).body
  expect(items).toMatchObject([{ server_id: other, boot_result: null }])
})

test('a backup whose boot ended with its process is booted again a day later, not at once', async () => {
  const t = await booting()
  const id = await make(t, backedUp)
  await backUp(t)
  await t.app.backups.bootNewest()
  const { backup_id } = await newest(t, id)
  expect(t.driver.trial).toBe(backup_id)
  // A driver that starts ends what the killed one left.
  await t.driver.endTrial(backup_id)
  const drivers = new Drivers('simulator', { simulator: t.driver })
  const next = new BootChecks({ db: t.db, clock: t.clock, drivers, log: pino({ level: 'silent' }) })
  t.clock.advance(HOUR)
  await next.look()
  expect(t.driver.trial).toBeNull()
  t.clock.advance(23 * HOUR)
  await next.look()
  expect(t.driver.trial).toBe(backup_id)
  t.clock.advance(2 * MINUTE)
  await next.look()
  expect(await newest(t, id)).toMatchObject({ boot_result: 'agent' })
})
