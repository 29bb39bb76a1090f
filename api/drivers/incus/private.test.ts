import { afterAll, beforeAll, expect, test } from 'vitest'
import { OUTSIDE, UPLINK } from '../../../test/cluster/harness/ovn.ts'
import { IncusWorld, PROJECT } from '../../../test/cluster/harness/world.ts'
import type { PrivateCard } from '../driver.ts'
import { prefixFor } from './cards.ts'
import { Networks } from './networks.ts'

let world: IncusWorld
beforeAll(async () => {
  world = await IncusWorld.open(1, { hasOvn: true })
})
afterAll(() => world?.close())

const card = (network: number, host: number, net = '10.1.0'): PrivateCard => ({
  ...{ network, mac: `52:54:0a:00:0${network}:0${host}`, address: `${net}.${host}`, prefixLength: 24 },
})

function connect(id: string, cards: readonly PrivateCard[], more = {}): Promise<void> {
  return world.driver.connect(new Map([[id, { ...world.network(id), cards, ...more }]]))
}

async function started(id: string, cards: readonly PrivateCard[] = []): Promise<void> {
  await world.driver.define(world.spec(id))
  await connect(id, cards)
  await world.driver.start(id)
  await ready(id)
}

const ready = (id: string) =>
  world.until('the guest is ready', async () => (await world.driver.ready(id)) !== null)

/** What a guest is asked to do while it runs. */
function configure(id: string, { mac, address, prefixLength }: PrivateCard): Promise<string> {
  const set = `ip addr add ${address}/${prefixLength} dev \${n##*/}; ip link set \${n##*/} up`
  return world.root(id, `for n in /sys/class/net/*; do grep -q ${mac} $n/address || continue; ${set}; done`)
}

/** Whether a guest's ssh answers another's question, by TCP. */
const asks = async (id: string, address: string) =>
  (await world.root(id, `timeout 3 nc -w 2 ${address} 22 < /dev/null | head -c 4; true`)) === 'SSH-'
const answers = (id: string, address: string) =>
  world.until(`${address} answers ${id}`, () => asks(id, address))

test('guests meet by cards that come while they run, keep them over a restart, and lose them again', async () => {
  expect((await world.driver.host()).features).toEqual(['published_ports', 'private_networks', 'console'])
  const [ann, bob] = [card(5, 2), card(5, 3)]
  await started('ann')
  await started('bob', [bob])
  await connect('ann', [ann])
  await connect('ann', [ann])
  await configure('ann', ann)
  await answers('ann', bob.address)
  await answers('bob', ann.address)

  // The service comes and goes; a guest that is started anew finds its card in its seed.
  await world.restart()
  await world.driver.powerOff('ann')
  await world.driver.start('ann')
  await ready('ann')
  await answers('ann', bob.address)

  await connect('bob', [])
  expect(await asks('ann', bob.address)).toBe(false)
  expect(await world.root('bob', 'cat /sys/class/net/*/address')).not.toContain(bob.mac)
  await connect('bob', [bob])
  await configure('bob', bob)
  await answers('ann', bob.address)
  await connect('bob', [bob], { isCut: true })
  await connect('bob', [bob])
  await configure('bob', bob)
  await answers('ann', bob.address)
  for (const id of ['ann', 'bob']) await world.driver.destroy(id)
})

test('networks with one range are strangers, and nothing but their IPv4 gets through', async () => {
  const cards = { ann: card(5, 2), bob: card(5, 3), eve: card(6, 3), mal: card(6, 2) }
  for (const [id, own] of Object.entries(cards)) await started(id, [own])
  await answers('ann', '10.1.0.3')
  await answers('mal', '10.1.0.3')
  // Its own pair is gone: nobody is left at that address, though a stranger has it.
  await world.driver.powerOff('bob')
  expect(await asks('ann', '10.1.0.3')).toBe(false)
  await answers('mal', '10.1.0.3')

  const add = (id: string, address: string) => world.root(id, `ip addr add ${address} dev eth1`)
  await add('mal', '10.2.0.2/24')
  await add('eve', '10.2.0.3/24')
  expect(await asks('mal', '10.2.0.3')).toBe(false)
  // Several, as an address of IPv6 is no one's for the first second.
  const ping = (address: string) =>
    world.root('mal', `ping -c 4 -W 1 ${address} > /dev/null && echo yes || echo no`)
  await add('mal', 'fd00::2/64')
  await add('eve', 'fd00::3/64')
  expect(await ping('fd00::3')).toBe('no')
  await world.root('mal', `ip route add ${OUTSIDE} via 10.1.0.1`)
  expect(await ping(OUTSIDE)).toBe('no')
  expect(await ping('10.1.0.3')).toBe('yes')
  expect(await asks('mal', '10.1.0.3')).toBe(true)
  for (const id of Object.keys(cards)) await world.driver.destroy(id)
})

test('a machine has as many cards as there may be, and what has no users is deleted in time', async () => {
  const eight = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => card(number, 2, `10.${number}.0`))
  await started('many', eight)
  const count = async () =>
    (await world.root('many', 'cat /sys/class/net/*/address')).match(/52:54:0a/g)?.length
  expect(await count()).toBe(8)
  await connect('many', [...eight.slice(1), card(9, 2, '10.9.0')])
  expect(await count()).toBe(8)
  await world.driver.destroy('many')
  expect(await world.cluster.networks()).not.toEqual([])
  const client = world.cluster.client()
  const around = { listen: '', uplink: UPLINK, project: PROJECT, prefix: prefixFor(PROJECT) }
  const networks = new Networks(client, around, console)
  // What was found unused twice: networks, then their rules.
  for (let look = 0; look < 3; look++) await networks.sweep()
  networks.close()
  expect(await world.cluster.networks()).toEqual([])
  expect(await client.get('/1.0/network-acls')).toEqual([])
  client.close()
})
