// An account that never paid gets little, and owes nothing.
import { expect, test } from 'vitest'
import { changeQuotas } from '../../../api/accounts/accounts.ts'
import { post } from '../../../api/billing/ledger.ts'
import { quotas } from '../../../api/features.ts'
import { parseMoney } from '../../../api/money.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

const HOUR = 3600_000
/** 0.4110 an hour, 9.86 a day. */
const SMALL = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }

const book = (t: TestApp, rubles: string, type: 'payment' | 'correction' = 'payment') =>
  post(t.db, t.clock, { accountId: t.accountId, type, amount: parseMoney(rubles), description: '' })

/** An account that lives on what the operator gave it. */
async function guest(gift: string): Promise<TestApp> {
  const t = await testApp({ balance: '0' })
  await book(t, gift, 'correction')
  return t
}

async function hours(t: TestApp, count: number): Promise<void> {
  for (let hour = 0; hour < count; hour++) {
    t.clock.advance(HOUR)
    await t.app.billing.look()
  }
  await t.finish()
}

const status = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body.status
const balance = async (t: TestApp) => parseMoney((await t.call('GET', '/account/balance')).body.balance)
const limits = async (t: TestApp) => {
  const { servers, cpu, ram_mb, disk_gb, tokens } = (await t.call('GET', '/account/me')).body.quotas
  return [servers, cpu, ram_mb, disk_gb, tokens].map(({ limit }) => limit)
}

test('servers of an account that never paid are suspended with the charge that uses its balance up', async () => {
  const t = await guest('10')
  const id = await make(t, SMALL)
  await hours(t, 24)
  expect(await status(t, id)).toBe('running')
  await hours(t, 1)
  expect(await status(t, id)).toBe('suspended')
  // It owes no more than the hour in which that was noticed.
  expect(await balance(t)).toBeGreaterThan(parseMoney('-0.42'))
})

test('an account owes no more than it has ever paid, however long its grace would be', async () => {
  const t = await guest('10')
  await book(t, '2')
  const id = await make(t, SMALL)
  await hours(t, 30)
  expect([await status(t, id), (await balance(t)) < 0]).toEqual(['running', true])
  await hours(t, 5)
  expect(await status(t, id)).toBe('suspended')
  expect(await balance(t)).toBeGreaterThan(parseMoney('-2.42'))
})

test('the quotas are smaller until the first payment, and a refusal says so', async () => {
  const t = await guest('1000')
  expect(await limits(t)).toEqual([2, 8, 16_384, 256, 50])
  const body = await order(t.call, SMALL)
  const replies = [1, 2, 3].map(() => t.call('POST', '/servers', body))
  const refused = (await Promise.all(replies)).filter(({ status }) => status !== 202)
  expect(refused).toMatchObject([
    {
      status: 403,
      body: {
        code: 'quota_exceeded',
        detail: expect.stringContaining(
          'its quota is 2. Delete some, or pay: the first payment raises it to 20.',
        ),
        quota: { name: 'servers', limit: 2, used: 2, requested: 1 },
      },
    },
  ])
  await book(t, '0.01')
  expect(await limits(t)).toEqual([20, 64, 262_144, 4096, 50])
  expect((await t.call('POST', '/servers', body)).status).toBe(202)
})

test('limits that the operator gave an account hold whether it has paid or not', async () => {
  const t = await guest('1000')
  const change = { change: { servers: 3, cpu: 4 }, reason: 'a trial' }
  await changeQuotas({ ...t, quotas }, t.accountId, change)
  expect(await limits(t)).toEqual([3, 4, 16_384, 256, 50])
  await book(t, '100')
  expect(await limits(t)).toEqual([3, 4, 262_144, 4096, 50])
})

test('a payment that is charged back does not count', async () => {
  const t = await guest('10')
  await book(t, '500')
  await book(t, '-500')
  expect(await limits(t)).toEqual([2, 8, 16_384, 256, 50])
})
