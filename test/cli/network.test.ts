import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('private networks are created, shown, renamed and deleted, and servers are attached and detached', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await t.make('web-2')
  await expectSession(t, 'network', [
    'network create backend --range 10.1.0.0/24',
    'network create wide --range 10.2.0.0/16 --zone local-1 -o json',
    'network create public --range 8.8.8.0/24',
    'network create backend',
    'network list',
    'network list -o json',
    'network list --sort color',
    'network attach backend web-1 --wait',
    'network attach backend web-2 --ipv4 10.1.0.9 --wait -o json',
    'network attach backend web-2 --ipv4 10.1.0.9',
    'network attach none web-2',
    'server create web-3 --template micro --preset nano --no-start --wait --network backend --network wide -o name',
    'network show backend',
    'network show backend -o json',
    'network show none',
    'network update backend --name database',
    'network update database --name backend -o json',
    'network update backend',
    'network delete backend',
    'network detach backend web-1 --wait',
    'network detach backend web-2 --wait -o json',
    'network detach backend web-2',
    'server delete web-3 --yes --wait',
    'network delete backend',
  ])
})
