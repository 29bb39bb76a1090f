// Background work passes rows that fail each time, however many they are.
import { v7 as uuid } from 'uuid'
import { expect, test } from 'vitest'
import { charge, post } from '../../../api/billing/ledger.ts'
import { rollUpDue } from '../../../api/billing/rollup.ts'
import { expireDue, grant } from '../../../api/credits/credits.ts'
import { changeEach } from '../../../api/database/database.ts'
import { MailLoop } from '../../../api/people/letters/mail-loop.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { Secrets } from '../../../api/secrets.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { refuse } from '../harness/faults.ts'
import { make } from '../harness/ordering.ts'
import { withMethod } from '../payments/harness/payments.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR
const silent = { error() {} } as never // the loop logs nothing else

test('a server that cannot be suspended keeps no other from it', async () => {
  const t = await testApp({ balance: '20' })
  const [broken, other] = [await make(t), await make(t)]
  await refuse(t.db, 'UPDATE OF status ON servers', `OLD.server_id = '${broken}'`)
  t.clock.advance(10 * DAY)
  await t.app.billing.look()
  await t.app.billing.look()
  await t.finish()
  const statusOf = async (id: string) => (await t.call('GET', `/servers/${id}`)).body.status
  expect([await statusOf(broken), await statusOf(other)]).toEqual(['running', 'suspended'])
})

test('mails that cannot be created keep no other from being sent', async () => {
  const t = await testApp()
  const due = Array.from({ length: 120 }, (_, number) => number)
  const mailed: number[] = []
  const mailing = { ...t, log: silent, peers: noPeers(), secrets: new Secrets(Buffer.alloc(32)) }
  const loop = new MailLoop<number>(
    { ...mailing, siteUrl: () => 'http://localhost', mailed: () => {} },
    {
      about: 'tests',
      due: async (_now, atMost) => due.filter((one) => !mailed.includes(one)).slice(0, atMost),
      mail: async (_tx, one) => {
        if (one < 110) throw new Error('broken')
        mailed.push(one)
      },
    },
  )
  for (let looks = 0; looks < 4; looks++) await loop.look().catch(() => {})
  expect(mailed).toEqual(due.slice(110))
})

async function give(t: TestApp, accountId: string, days: number): Promise<string> {
  const given = { accountId, amount: 100, days, promoCodeId: null, description: 'gift' }
  const credit = await t.db.transaction().execute((tx) => grant(tx, t.clock, given))
  return credit?.credit_id ?? ''
}

test('credits whose end cannot be booked keep no others from ending', async () => {
  const t = await testApp()
  for (let number = 0; number < 50; number++) {
    const reference = `credit:${await give(t, t.accountId, 1)}:expired`
    await post(t.db, t.clock, {
      ...{ accountId: t.accountId, type: 'correction', amount: 1 },
      description: '',
      reference,
    })
  }
  const other = await t.makeAccount('0')
  await give(t, other, 2)
  t.clock.advance(3 * DAY)
  const faults: string[] = []
  for (let looks = 0; looks < 2; looks++)
    await expireDue({ ...t, onFault: (accountId) => void faults.push(accountId) }).catch(() => {})
  const left = await t.db.selectFrom('credits').select('account_id').where('ended_at', 'is', null).execute()
  expect([...new Set(left.map(({ account_id }) => account_id))]).toEqual([t.accountId])
  expect(faults).toEqual([t.accountId])
})

test('accounts whose charges cannot be rolled up keep no other from it', async () => {
  const t = await testApp()
  const { project_id } = (await t.call('GET', '/account/projects')).body.items[0]
  const accountIds = [...(await Promise.all(Array.from({ length: 20 }, () => t.makeAccount()))), t.accountId]
  const begin = Date.UTC(2026, 11, 1)
  for (const accountId of accountIds) {
    const item_id = uuid()
    for (let hour = begin; hour < begin + 3 * HOUR; hour += HOUR) {
      const charged = { item_type: 'server', item_id, project_id, hour, seconds: 3600, bytes: null } as const
      const entry = { accountId, type: 'charge', amount: -1, description: '', charged } as const
      await t.db.transaction().execute((tx) => charge(tx, [entry], hour + HOUR))
    }
  }
  await t.db.updateTable('ledgers').set({ rolled_until: 1 }).where('account_id', '=', t.accountId).execute()
  await refuse(t.db, 'DELETE ON transactions', `OLD.account_id <> '${t.accountId}'`)
  t.clock.advance(begin + 200 * DAY - t.clock.now())
  let failedBefore = 0
  for (let rounds = 0; rounds < 2; rounds++)
    failedBefore = await rollUpDue({ ...t, keepMs: 92 * DAY, hasDocuments: false, failedBefore })
  expect(failedBefore).toBe(20)
  const own = t.db.selectFrom('transactions').selectAll().where('account_id', '=', t.accountId)
  expect(await own.where('type', '=', 'charge').execute()).toHaveLength(1)
})

test('rows that cannot be deleted keep no others from it', async () => {
  const t = await testApp()
  const token = { scopes: ['servers:read'], name: 'short' }
  const { token_id } = (await t.call('POST', '/account/tokens', token, { 'idempotency-key': 'one' })).body
  await t.call('DELETE', `/account/tokens/${token_id}`)
  await refuse(t.db, 'DELETE ON idempotency_keys', "OLD.key = 'one'")
  t.clock.advance(31 * DAY)
  await expect(t.app.retention.look()).rejects.toThrow('refused')
  const revoked = t.db.selectFrom('tokens').select('token_id').where('token_id', '=', token_id)
  expect(await revoked.execute()).toEqual([])
})

test('a row that cannot be changed keeps no other from it, and is reported at the end', async () => {
  const t = await testApp()
  const left = new Set([1, 2, 3, 4])
  const some = { execute: async () => [...left].slice(0, 2) }
  const changed = changeEach(t.db, some, async (_tx, row) => {
    if (row === 1) throw new Error('broken')
    left.delete(row)
  })
  await expect(changed).rejects.toThrow('broken')
  expect([...left]).toEqual([1])
})

test('accounts whose automatic top-up cannot be begun keep no other from it', async () => {
  const t = await testApp()
  for (let number = 0; number < 17; number++) await t.makeAccount()
  const last = await t.makeAccount()
  const below = t.db.updateTable('ledgers').set({ top_up_below: 10 ** 9, top_up_at: 0 })
  await below.where('account_id', '<>', t.accountId).execute()
  await t.db.updateTable('ledgers').set({ top_up_at: 1 }).where('account_id', '=', last).execute()
  await refuse(t.db, 'UPDATE ON ledgers', `NEW.top_up_at IS NULL AND NEW.account_id <> '${last}'`)
  for (let looks = 0; looks < 3; looks++) await t.app.payments.look().catch(() => {})
  const left = t.db.selectFrom('ledgers').select('top_up_at').where('account_id', '=', last)
  expect(await left.execute()).toEqual([{ top_up_at: null }])
})

test('automatic payments whose results cannot be recorded keep no other from it', async () => {
  const { t, items } = await withMethod('yookassa')
  const { payment_method_id: method_id } = items[0]
  const paid = await t.db.selectFrom('payments').selectAll().executeTakeFirstOrThrow()
  const accountIds = await Promise.all(Array.from({ length: 18 }, () => t.makeAccount()))
  for (const account_id of accountIds) {
    const payment = {
      payment_id: uuid(),
      account_id,
      provider_id: uuid(),
      charge_id: null,
      is_automatic: 1 as const,
    }
    await t.db
      .insertInto('payments')
      .values({ ...paid, ...payment })
      .execute()
    const settings = { account_id, below: 1, amount: 1, monthly_limit: 1, method_id, declines: 0 }
    const { payment_id } = payment
    await t.db
      .insertInto('auto_top_ups')
      .values({ ...settings, payment_id, off_reason: null, updated_at: 0 })
      .execute()
  }
  const last = accountIds.at(-1)
  await refuse(t.db, 'UPDATE ON auto_top_ups', `OLD.account_id <> '${last}'`)
  for (let looks = 0; looks < 2; looks++) await t.app.payments.look().catch(() => {})
  const recorded = t.db.selectFrom('auto_top_ups').select('account_id').where('payment_id', 'is', null)
  expect(await recorded.execute()).toEqual([{ account_id: last }])
})
