// The servers of closed accounts, and the time in which closing can be undone.
import { expect, test } from 'vitest'
import { changeStatus } from '../../../api/accounts/accounts.ts'
import { quotas } from '../../../api/features.ts'
import { reprieveAll, suspendAndResume } from '../../../api/servers/suspension.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { beforeNextTransaction } from '../harness/faults.ts'
import { make } from '../harness/ordering.ts'

const DAY = 24 * 3600_000

const shown = async (t: TestApp, id: string) => {
  const { status, body } = await t.call('GET', `/servers/${id}`)
  return status === 404 ? 'gone' : { status: body.status, delete_at: body.delete_at }
}

async function look(t: TestApp, days: number): Promise<void> {
  t.clock.advance(days * DAY)
  await t.app.billing.look()
  await t.finish()
  await t.app.billing.look()
}

const close = (t: TestApp) =>
  changeStatus({ db: t.db, clock: t.clock, quotas }, t.accountId, {
    from: ['active'],
    to: 'closed',
    reason: 'a test',
  })

/** As `berthd account resume` does. */
const reopen = (t: TestApp) =>
  t.db.transaction().execute(async (tx) => {
    const change = { from: ['closed'], to: 'active', reason: 'a mistake' } as const
    await changeStatus({ db: tx, clock: t.clock, quotas }, t.accountId, change)
    await reprieveAll(tx, t.accountId, t.clock.now())
  })

test.each([null, 30 * DAY])(
  'the servers of a closed account stop at once, and are deleted after a week',
  async (keepSuspendedMs) => {
    const t = await testApp({ balance: '1000', keepSuspendedMs })
    const id = await make(t, { delete_protection: true })
    await close(t)
    await look(t, 0)
    const told = new Date(t.clock.now() + 7 * DAY).toISOString()
    expect(await shown(t, id)).toEqual({ status: 'suspended', delete_at: told })
    await look(t, 6.9)
    expect(await shown(t, id)).toEqual({ status: 'suspended', delete_at: told })
    await look(t, 0.1)
    expect(await shown(t, id)).toBe('gone')
    expect(await t.driver.inspect(id)).toEqual({ power: 'absent' })
  },
)

test('within the week a closed account can be reopened with its servers running and nothing lost', async () => {
  const t = await testApp({ balance: '1000' })
  const id = await make(t)
  await close(t)
  await look(t, 6.9)
  await reopen(t)
  await look(t, 1)
  expect(await shown(t, id)).toEqual({ status: 'running', delete_at: null })
})

test('the servers of a reopened account without money are not deleted at the time of its closing', async () => {
  const t = await testApp({ balance: '15', keepSuspendedMs: 30 * DAY })
  const id = await make(t, { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 })
  for (const days of [1.5, 1, 1]) await look(t, days)
  await t.db.updateTable('servers').set({ delete_at: null }).execute()
  await close(t)
  await look(t, 6)
  await reopen(t)
  await look(t, 2)
  const told = new Date(t.clock.now() + 30 * DAY).toISOString()
  expect(await shown(t, id)).toEqual({ status: 'suspended', delete_at: told })
})

test('a snapshot stays if its account is reopened while the snapshots of closed accounts are deleted', async () => {
  const t = await testApp()
  const server_id = await make(t)
  const { snapshot_id } = (await t.call('POST', '/snapshots', { server_id })).body
  await t.finish()
  await t.call('DELETE', `/servers/${server_id}`)
  await t.finish()
  await close(t)
  t.clock.advance(8 * DAY)
  beforeNextTransaction(t.db, () => reopen(t))
  await suspendAndResume({ ...t, engine: t.app.engine, graceMs: 0, keepSuspendedMs: null })
  expect((await t.call('GET', `/snapshots/${snapshot_id}`)).body.status).toBe('available')
})
