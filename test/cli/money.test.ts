import { expect, test } from 'vitest'
import { post } from '../../api/billing/ledger.ts'
import { parseMoney } from '../../api/money.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

test('payments, charges and the audit log can be read', async () => {
  const t = await loggedIn()
  await expectSession(t, 'usage-empty', ['usage', 'usage -o json'])
  await t.make('web-1')
  t.clock.advance(3 * 3600_000)
  await t.app.billing.look()
  await expectSession(t, 'money', [
    'usage',
    'usage --month 2026-11 -o json',
    'usage --csv',
    'usage --month November',
    'transaction list',
    'transaction list --limit 1 -o json',
    'transaction list --limit 0 --columns type,amount --sort amount',
    'transaction list --limit few',
    'transaction list --limit -1',
    'project create Shop -o name',
    'project update Shop --name Store -o name',
    'audit list',
    'audit list --limit 1 -o json',
    'audit list --limit 2 --columns action,object_type',
    'audit list --limit 0 -o name',
    'audit list --sort when',
  ])
})

test('a customer whose servers are suspended sees how much brings them back', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  expect((await t.run('balance')).out).not.toContain('Top up')
  const chargedBack = { accountId: t.accountId, type: 'payment', amount: parseMoney('-10000') } as const
  await post(t.db, t.clock, { ...chargedBack, description: '' })
  t.clock.advance(3600_000)
  await t.app.billing.look()
  await t.finish()
  expect((await t.run('server show web-1')).out).toContain('suspended')
  const { top_up_to_resume_rub: missing } = JSON.parse((await t.run('balance -o json')).out)
  expect(Number(missing)).toBeGreaterThan(0)
  expect((await t.run('balance')).out).toContain(`Top up to resume:  ${missing} RUB\n`)
})
