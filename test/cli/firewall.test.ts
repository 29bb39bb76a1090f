import { expect, test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('a firewall is created, given rules, attached, detached and deleted by its name', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  await expectSession(t, 'firewall', [
    'firewall create web --template web --from 203.0.113.0/24',
    'firewall create office --template ssh --from 203.0.113.7 -o json',
    'firewall create prod --selector env=prod',
    'firewall create ssh --from 203.0.113.7',
    'firewall list',
    'firewall list -o json',
    'firewall attach web web-1',
    'firewall attach web web-1 -o json',
    'firewall list --server web-1',
    'firewall list --server none',
    'firewall rule add web 8000-9000 --cidr 2001:db8::/32 --description proxy',
    'firewall rule add web udp --out -o json',
    'firewall rule add web 53/udp --cidr 10.1.2.3/8',
    'firewall rule add web http',
    'firewall rule delete web 6',
    'firewall rule delete web 6 -o json',
    'firewall rule delete web 6',
    'firewall show web',
    'firewall show web -o json',
    'firewall show none',
    'firewall update prod --name production --selector env=prod,!open',
    "firewall update production --selector '' -o json",
    'firewall update production',
    'firewall attach web none',
    'firewall delete web',
    'firewall detach web web-1',
    'firewall detach web web-1',
    'firewall delete web',
    'server create web-2 --template micro --preset nano --no-start --wait --firewall office -o name',
    'firewall list --server web-2 -o name',
    'server create web-3 --template micro --preset nano --no-start --firewall office --firewall none',
  ])
})

test('simultaneous changes of one firewall lose no added rule, and delete no other rule', async () => {
  const t = await loggedIn()
  await t.run('firewall create web')
  const ports = ['80', '443', '8080', '9000']
  const added = await Promise.all(ports.map((port) => t.run(`firewall rule add web ${port}`)))
  expect(added.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  const { rules } = JSON.parse((await t.run('firewall show web -o json')).out)
  expect(rules.map((rule: { ports: string }) => rule.ports).sort()).toEqual([...ports].sort())
  const deleted = await Promise.all(['1', '1'].map((number) => t.run(`firewall rule delete web ${number}`)))
  expect(deleted.map(({ code }) => code).sort()).toEqual([0, 4])
})
