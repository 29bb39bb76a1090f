// The deletion of servers that stay suspended.
import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { parseMoney } from '../../../api/money.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

const DAY = 24 * 3600_000
const SMALL = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }

const shown = async (t: TestApp, id: string) => {
  const { status, body } = await t.call('GET', `/servers/${id}`)
  return status === 404 ? 'gone' : { status: body.status, delete_at: body.delete_at }
}
const pay = (t: TestApp, rubles: string) =>
  post(t.db, t.clock, {
    accountId: t.accountId,
    type: 'payment',
    amount: parseMoney(rubles),
    description: '',
  })

async function look(t: TestApp, days: number): Promise<void> {
  t.clock.advance(days * DAY)
  await t.app.billing.look()
  await t.finish()
  await t.app.billing.look()
}

/** A server whose account has used its money up. */
async function unpaid(more: Parameters<typeof testApp>[0]): Promise<{ t: TestApp; id: string }> {
  const t = await testApp({ balance: '15', ...more })
  const id = await make(t, { ...SMALL, delete_protection: true })
  for (const days of [1.5, 1, 1]) await look(t, days)
  return { t, id }
}

test('servers that stay suspended are kept, unless the operator has set a time', async () => {
  const { t, id } = await unpaid({})
  await look(t, 400)
  expect(await shown(t, id)).toEqual({ status: 'suspended', delete_at: null })
  // As if he had, and took it back.
  await t.db.updateTable('servers').set({ delete_at: t.clock.now() }).execute()
  await look(t, 1)
  expect(await shown(t, id)).toEqual({ status: 'suspended', delete_at: null })
})

test('with a time set they are deleted after it, protected or not; it is shown and told from the first day on', async () => {
  const { t, id } = await unpaid({ keepSuspendedMs: 30 * DAY })
  const told = new Date(t.clock.now() + 30 * DAY).toISOString()
  expect(await shown(t, id)).toEqual({ status: 'suspended', delete_at: told })
  await t.app.events.relay()
  const { items } = (await t.call('GET', '/events?order=desc')).body
  expect(items.find(({ type }: { type: string }) => type === 'server.updated')).toMatchObject({
    data: { server_id: id, delete_at: told },
  })
  await look(t, 29.9)
  expect(await shown(t, id)).toEqual({ status: 'suspended', delete_at: told })
  await look(t, 0.1)
  expect(await shown(t, id)).toBe('gone')
  expect(await t.driver.inspect(id)).toEqual({ power: 'absent' })
})

test('a payment in time resumes a server and prevents its deletion; too small a payment does not', async () => {
  const { t, id } = await unpaid({ keepSuspendedMs: 30 * DAY })
  await look(t, 29)
  await pay(t, '1000')
  await look(t, 5)
  expect(await shown(t, id)).toEqual({ status: 'running', delete_at: null })
  const other = await unpaid({ keepSuspendedMs: 7 * DAY })
  await pay(other.t, '1')
  await look(other.t, 7)
  expect(await shown(other.t, other.id)).toBe('gone')
})

test('a payment on the last day, before the service looks, saves a server also after a long outage', async () => {
  const { t, id } = await unpaid({ keepSuspendedMs: 30 * DAY })
  await pay(t, '1000')
  await look(t, 100)
  expect(await shown(t, id)).toEqual({ status: 'running', delete_at: null })
})
