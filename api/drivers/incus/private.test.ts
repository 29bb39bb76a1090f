import { afterAll, beforeAll, expect, test } from 'vitest'
import { OUTSIDE, UPLINK } from '../../../test/cluster/harness/ovn.ts'
import { IncusWorld, PROJECT } from '../../../test/cluster/harness/world.ts'
import type { PrivateCard } from '../driver.ts'
import { networkName, prefixFor } from './cards.ts'
import type { Instance } from './instance.ts'
import { Networks } from './networks.ts'
import { Operations } from './operations.ts'

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

/** Configures a running guest's card. */
function configure(id: string, { mac, address, prefixLength }: PrivateCard): Promise<string> {
  const set = `ip addr add ${address}/${prefixLength} dev \${n##*/}; ip link set \${n##*/} up`
  return world.root(id, `for n in /sys/class/net/*; do grep -q ${mac} $n/address || continue; ${set}; done`)
}

/** True if a guest's ssh answers another's question, by TCP. */
const asks = async (id: string, address: string) =>
  (await world.root(id, `timeout 3 nc -w 2 ${address} 22 < /dev/null | head -c 4; true`)) === 'SSH-'
const answers = (id: string, address: string) =>
  world.until(`${address} answers ${id}`, () => asks(id, address))

const around = { listen: '', uplink: UPLINK, project: PROJECT, prefix: prefixFor(PROJECT) }

/** Lists the internal switches of private networks in OVN. */
const switches = async () => (await world.cluster.networks()).filter((name) => name.endsWith('-ls-int'))

async function nothingIsLeft(): Promise<void> {
  expect(await world.cluster.networks()).toEqual([])
  const client = world.cluster.client()
  expect(await client.get('/1.0/network-acls')).toEqual([])
  client.close()
}

test('guests meet by cards that come while they run, keep them over a restart, and lose them again', async () => {
  expect((await world.driver.host()).features).toEqual([
    'published_ports',
    'private_networks',
    'console',
    'snapshots',
    'reset_password',
    'volumes',
  ])
  const [ann, bob] = [card(5, 2), card(5, 3)]
  await started('ann')
  await started('bob', [bob])
  await connect('ann', [ann])
  await connect('ann', [ann])
  await configure('ann', ann)
  await answers('ann', bob.address)
  await answers('bob', ann.address)

  // The service restarts; then the guest restarts and finds its card in its seed.
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

test('networks with the same range are isolated from each other, and carry nothing but IPv4', async () => {
  const cards = { ann: card(5, 2), bob: card(5, 3), eve: card(6, 3), mal: card(6, 2) }
  for (const [id, own] of Object.entries(cards)) await started(id, [own])
  await answers('ann', '10.1.0.3')
  await answers('mal', '10.1.0.3')
  // The peer in ann's network is off, so nobody answers at its address, which a server elsewhere also has.
  await world.driver.powerOff('bob')
  expect(await asks('ann', '10.1.0.3')).toBe(false)
  await answers('mal', '10.1.0.3')

  const add = (id: string, address: string) => world.root(id, `ip addr add ${address} dev eth1`)
  await add('mal', '10.2.0.2/24')
  await add('eve', '10.2.0.3/24')
  expect(await asks('mal', '10.2.0.3')).toBe(false)
  // One ping is not enough, because an IPv6 address is tentative for the first second.
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

test('a machine can have the maximum number of cards, and a network is deleted with its last card', async () => {
  const eight = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => card(number, 2, `10.${number}.0`))
  await started('many', eight)
  const count = async () =>
    (await world.root('many', 'cat /sys/class/net/*/address')).match(/52:54:0a/g)?.length
  expect(await count()).toBe(8)
  await connect('many', [...eight.slice(1), card(9, 2, '10.9.0')])
  expect(await count()).toBe(8)
  expect(await switches()).toHaveLength(8)
  await connect('many', eight.slice(0, 1), { isCut: true })
  await nothingIsLeft()
  await connect('many', eight.slice(0, 2))
  expect(await switches()).toHaveLength(2)
  await connect('many', [])
  await nothingIsLeft()
  await connect('many', eight.slice(0, 2))
  await world.driver.destroy('many')
  await nothingIsLeft()
})

test('a card that is added while its network is being deleted never ends up without a network', async () => {
  const [ann, bob] = [card(5, 2), card(5, 3)]
  await started('ann')
  await world.driver.define(world.spec('bob'))
  await connect('bob', [bob])
  const path = `/1.0/networks/${networkName(ann, around.prefix)}`
  const mark = { name: `${networkName(ann, around.prefix)}-going` }
  const client = world.cluster.client()
  const operations = new Operations(client, console, () => {})
  const networks = new Networks(client, around, console)
  const at = `/1.0/instances/b-ann?project=${PROJECT}`
  const held = async () => Object.keys((await client.get<Instance>(at)).devices ?? {})
  /** Attaches the card, with concurrent changes before and after its last write. */
  const attach = async (before: () => Promise<unknown>, after: () => Promise<unknown>) => {
    let isFirst = true
    const network = { ...world.network('ann'), cards: [ann] }
    await networks.connect(await client.get<Instance>(at), network, async (change) => {
      const body = change(await client.get<Instance>(at))
      const isLast = Object.keys((body as Instance | null)?.devices ?? {}).includes('n5')
      if (isLast && isFirst) await before()
      if (body !== null) await operations.run('PUT', at, { body })
      if (isLast && isFirst) await after()
      if (isLast) isFirst = false
    })
  }
  const nothing = async () => {}
  const passing = { refusal: 'offline' }
  const remove = () => connect('bob', [])

  await expect(attach(remove, nothing)).rejects.toMatchObject(passing)
  expect(await held()).not.toContain('n5')
  await nothingIsLeft()
  await connect('bob', [bob])
  // By then another network has the same name.
  await expect(attach(() => remove().then(() => connect('bob', [bob])), nothing)).rejects.toMatchObject(
    passing,
  )
  expect(await held()).not.toContain('n5')
  // Incus is about to delete the network, and has found no users.
  const begin = () => client.call('POST', '/1.0/network-acls', { body: mark })
  await expect(attach(nothing, begin)).rejects.toMatchObject(passing)
  expect(await held()).not.toContain('n5')
  await expect(attach(nothing, nothing)).rejects.toMatchObject(passing)
  await client.call('DELETE', `/1.0/network-acls/${mark.name}`)
  // Once the card is in its place, the network is in use.
  await attach(nothing, remove)
  expect(await held()).toContain('n5')
  expect(await client.get(path)).toMatchObject({ status: 'Created' })
  for (const id of ['ann', 'bob']) await world.driver.destroy(id)
  await nothingIsLeft()
  networks.close()
  operations.close()
  client.close()
})

test('leftovers of a dead process are deleted in time', async () => {
  const client = world.cluster.client()
  const operations = new Operations(client, console, () => {})
  const networks = new Networks(client, around, console)
  await world.driver.define(world.spec('ann'))
  const cards = [card(5, 2), card(6, 2, '10.2.0')]
  await connect('ann', cards)
  await operations.run('DELETE', `/1.0/instances/b-ann?project=${PROJECT}`)
  const names = cards.map((one) => networkName(one, around.prefix))
  const [first, second] = names
  for (const name of [`${first}-going`, `${second}x-going`])
    await client.call('POST', '/1.0/network-acls', { body: { name } })
  await networks.sweep()
  expect(await switches()).toHaveLength(2)
  await networks.sweep()
  await nothingIsLeft()
  networks.close()
  operations.close()
  client.close()
})
