import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('images are made from snapshots, shown, renamed and deleted, and servers are created from them', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await expectSession(t, 'image', [
    'snapshot create web-1 --name before --wait -o name',
    'image create golden --snapshot before --wait',
    'image create second --snapshot before --no-wait -o json',
    'image create third --snapshot none',
    'image list',
    'image list -o json',
    'image list --sort color',
    'image show golden',
    'image show golden -o json',
    'image show none',
    'image update golden --name silver',
    'image update silver --name golden -o json',
    'image update golden',
    'server create web-2 --image golden --preset nano --no-ssh-key --wait -o name',
    'server rebuild web-1 --image golden --yes --wait',
    'server rebuild web-1 --image none --yes',
    'image delete golden',
    'image delete golden',
  ])
})
