import { expect, test } from 'vitest'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const TURN = 20 * MINUTE
const nightly = { backups_enabled: true, backup_window: 3 }

/** Lets the copies of some servers waste a whole turn. */
function slow(t: TestApp, servers: ReadonlySet<string>): void {
  const { snapshot } = t.driver
  const began = new Map<string, number>()
  t.driver.snapshot = async (serverId, id, baseId) => {
    if (!servers.has(serverId)) return snapshot.call(t.driver, serverId, id, baseId)
    const since = began.get(id) ?? t.clock.now()
    began.set(id, since)
    const age = t.clock.now() - since
    if (age < TURN) return { state: 'copying', progress: age / TURN }
    return { state: 'failed', code: 'slow', message: 'The copy of the disk took too long' }
  }
}

/** Carries out all backups that are due. */
async function due(t: TestApp): Promise<void> {
  for (;;) {
    await t.app.backups.look()
    if ((await t.app.engine.nextDueAt()) === null) return
    await t.finish()
  }
}

/** Four servers of a hostile account, whose copies waste their turns, and four others after them. */
async function contended() {
  const t = await testApp({ simulator: { copyMs: 10_000 } })
  const accountId = await t.makeAccount('5000.00')
  const hostile = t.callAs(await t.makeToken(['servers:read', 'servers:write'], { accountId }))
  const theirs: string[] = []
  for (let count = 0; count < 4; count++) {
    const { body } = await hostile('POST', '/servers', { ...(await order(t.call)), ...nightly })
    theirs.push(body.server_id)
    await t.finish()
  }
  const own: string[] = []
  for (let count = 0; count < 4; count++) own.push(await make(t, nightly))
  slow(t, new Set(theirs))
  const start = t.clock.now() - (t.clock.now() % DAY) + DAY + 3 * HOUR
  t.clock.advance(start - t.clock.now())
  /** How long the other account's backups began after they were due, in minutes. */
  const delays = async (): Promise<number[]> => {
    const made = (await t.call('GET', '/backups')).body.items as { server_id: string; created_at: string }[]
    expect(made.map(({ server_id }) => server_id).sort()).toEqual([...own].sort())
    return made.map(({ created_at }) => (Date.parse(created_at) - start) / MINUTE)
  }
  return { t, hostile, theirs, delays }
}

test('disks that waste their turns delay the backups of other accounts by one turn, and come after them', async () => {
  const { t, hostile, theirs, delays } = await contended()
  await due(t)
  // One turn, and not four of them.
  expect(Math.max(...(await delays()))).toBeLessThan(TURN / MINUTE + 2)
  const failures = async () => (await hostile('GET', '/operations?type=backup&status=failed')).body.items
  expect(await failures()).toMatchObject([{ server_id: theirs[0], error: { code: 'copy_too_slow' } }])
  t.clock.advance(HOUR)
  await due(t)
  expect(await failures()).toHaveLength(2)
})

test('a backup that is canceled late in its turn comes after those of others, too', async () => {
  const { t, hostile, theirs, delays } = await contended()
  await t.app.backups.look()
  await t.work()
  t.clock.advance(TURN - MINUTE)
  expect((await hostile('POST', `/servers/${theirs[0]}/reboot`)).status).toBe(202)
  await t.finish()
  await due(t)
  expect(Math.max(...(await delays()))).toBeLessThan(TURN / MINUTE + 2)
})
