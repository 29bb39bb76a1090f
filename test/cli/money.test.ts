import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('what was paid, what it went to, and who did what can be read', async () => {
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
