import { test } from 'vitest'
import { catalogWith } from '../harness/addresses.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

test('public addresses are reserved, assigned to servers, named and released', async () => {
  const catalog = catalogWith('public_ipv4: [203.0.113.7/32]')
  const t = await loggedIn({ catalog, sshPorts: { first: 22741, last: 22741 } })
  await expectSession(t, 'address', [
    'server create web-1 --template micro --preset nano --no-ssh-key --no-ipv4 --no-ipv6 --wait',
    'address create --server none',
    'address create',
    'address create',
    'address create --family ipv6',
    'address list',
    'address list -o json',
    'address list --columns color',
    'address show 203.0.113.7',
    'address show 203.0.113.7 -o json',
    'address show 203.0.113.8',
    'address assign 203.0.113.7 web-1',
    'server list --columns name,ipv4',
    'address delete 203.0.113.7',
    'address assign 203.0.113.7 none',
    'address unassign 203.0.113.7',
    'address unassign 203.0.113.7 -o json',
    'address unassign 203.0.113.8',
    'address update 203.0.113.7 --reverse-dns web.example.com',
    'address update 203.0.113.7 --no-reverse-dns -o json',
    'address update 203.0.113.7',
    'address assign 203.0.113.7 web-1 -o json',
    'address delete 203.0.113.7 --force',
    'address create --server web-1 -o json',
    'address list --columns address,server',
  ])
})
