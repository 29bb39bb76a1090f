import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('snapshots are created, shown, renamed, restored and deleted', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await expectSession(t, 'snapshot', [
    'snapshot create web-1 --name before --wait',
    'snapshot create web-1 --name second --no-wait -o json',
    'server wait web-1 -o name',
    'snapshot create none',
    'snapshot list',
    'snapshot list --server web-1 -o json',
    'snapshot list --sort color',
    'snapshot show before',
    'snapshot show before -o json',
    'snapshot show none',
    'snapshot update before --name kept',
    'snapshot update kept --name before -o json',
    'snapshot update before',
    'server restore web-1 before --yes --wait',
    'server restore web-1 before --yes --wait -o json',
    'server restore web-1 none --yes',
    'snapshot delete before',
    'snapshot delete before',
  ])
})
