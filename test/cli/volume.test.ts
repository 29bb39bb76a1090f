import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('volumes are created, grown, moved between servers and deleted', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await t.make('web-2')
  await expectSession(t, 'volume', [
    'volume create data --size 10',
    'volume create media --size 20 --zone local-1 --label env=prod -o json',
    'volume create data',
    'volume create data --size ten',
    'volume attach data web-1 --wait',
    'volume attach data web-2 --wait',
    'volume list',
    'volume list --server web-1 -o json',
    'volume list --label env=prod',
    'volume list --label !!',
    'volume list --sort color',
    'volume update data --size 20 --wait',
    'volume update data --size 15',
    'volume update data --name base -o json',
    'volume update media --label tier=db --remove-label env -o json',
    'volume update base',
    'volume detach base --wait',
    'volume detach base',
    'volume attach base web-2 --wait -o json',
    'volume show base',
    'volume show data',
    'volume show media -o json',
    'volume delete base --yes',
    'volume detach base --wait -o json',
    'volume delete base',
    'volume delete base --yes --wait',
    'volume delete media --yes --wait -o json',
  ])
})
