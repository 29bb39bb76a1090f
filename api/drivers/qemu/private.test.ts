import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PrivateCard, ServerNetwork } from '../driver.ts'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
beforeAll(async () => {
  world = await QemuWorld.open()
})
afterAll(() => world?.close())

const CARDS: Record<string, PrivateCard> = {
  ann: { network: 5, mac: '52:54:0a:00:00:01', address: '10.1.0.2', prefixLength: 24 },
  bob: { network: 5, mac: '52:54:0a:00:00:02', address: '10.1.0.3', prefixLength: 24 },
}
const cardOf = (id: string) => CARDS[id] as PrivateCard // of the two

function connect(id: string, cards: readonly PrivateCard[]): Promise<void> {
  const network: ServerNetwork = { ...world.network(id), cards }
  return world.driver.connect(new Map([[id, network]]))
}

/** The commands that a guest runs if its system does not detect new cards. */
function configure(id: string): Promise<string> {
  const { mac, address, prefixLength } = cardOf(id)
  return world.ssh(
    id,
    `sudo -n sh -c 'for n in /sys/class/net/*; do grep -q ${mac} $n/address || continue;
    ip addr add ${address}/${prefixLength} dev \${n##*/}; ip link set \${n##*/} up; done'`,
  )
}

const isSet = (id: string) =>
  world.driver.setAddress(id, cardOf(id)).then(
    () => true,
    () => false,
  )

const ping = (id: string, address: string) =>
  world.ssh(id, `sudo -n ping -c 1 -W 2 ${address} >/dev/null 2>&1 && echo answered || echo silence`)
const answers = (id: string, address: string) => expect.poll(() => ping(id, address)).toBe('answered')
const macs = (id: string) => world.ssh(id, 'cat /sys/class/net/*/address')

test('guests meet by cards that come while they run, keep them over a restart, and lose them again', async () => {
  const { features } = await world.driver.host()
  if (!features.includes('private_networks')) return
  for (const id of ['ann', 'bob']) {
    await world.make(id)
    await world.driver.start(id)
    await world.untilReady(id)
    await connect(id, [cardOf(id)])
    await connect(id, [cardOf(id)])
    await world.until('the guest has the card', async () => (await macs(id)).includes(cardOf(id).mac))
    await world.until('the guest has the address', () => isSet(id))
  }
  await answers('ann', '10.1.0.3')
  await answers('bob', '10.1.0.2')

  // The service restarts; then the guest restarts and finds its card in its seed.
  await world.restart()
  await answers('bob', '10.1.0.2')
  await world.driver.powerOff('ann')
  await world.driver.start('ann')
  await world.untilReady('ann')
  await answers('ann', '10.1.0.3')
  await world.driver.reset('bob')
  await world.untilReady('bob')
  await configure('bob')
  await answers('bob', '10.1.0.2')

  await connect('bob', [])
  expect(await ping('ann', '10.1.0.3')).toBe('silence')
  await world.until('the guest has let go', async () => !(await macs('bob')).includes(cardOf('bob').mac))
  await connect('bob', [cardOf('bob')])
  await world.until('it is back', async () => (await macs('bob')).includes(cardOf('bob').mac))
  await configure('bob')
  await answers('ann', '10.1.0.3')
  for (const id of ['ann', 'bob']) {
    await world.driver.destroy(id)
    expect(await world.leftovers(id)).toEqual([])
  }
})

test('a machine can have the maximum number of cards, release any, and get others', async () => {
  const { features } = await world.driver.host()
  if (!features.includes('private_networks')) return
  const card = (network: number) => ({
    network,
    mac: `52:54:0a:00:01:${String(network).padStart(2, '0')}`,
    address: `10.${network}.0.2`,
    prefixLength: 24,
  })
  const eight = [11, 12, 13, 14, 15, 16, 17, 18].map(card)
  await world.make('many')
  await world.driver.start('many')
  await world.untilReady('many')
  await connect('many', eight)
  const count = async () => (await macs('many')).match(/52:54:0a:00:01/g)?.length ?? 0
  await world.until('it has eight', async () => (await count()) === 8)
  await connect('many', eight.slice(0, 7))
  await world.until('it has seven', async () => (await count()) === 7)
  await connect('many', [...eight.slice(0, 7), card(19)])
  await world.until('it has eight again', async () => (await count()) === 8)
  await world.driver.destroy('many')
})
