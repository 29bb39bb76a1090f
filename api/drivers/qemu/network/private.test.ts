import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLAIN_NETWORK, type PrivateCard } from '../../driver.ts'
import type { Card } from './cards.ts'
import { placesOf, privateLines } from './private.ts'
import { privateFrames, seen } from './test-frames.ts'
import { type Agent, NetworkWorld } from './test-world.ts'

/** Two networks of two customers who chose the same range. */
const card = (network: number, number: number, host: number): PrivateCard => ({
  network,
  mac: `52:54:0a:00:0${network}:0${number}`,
  address: `10.1.0.${host}`,
  prefixLength: 24,
})
const CARDS: Record<number, PrivateCard> = {
  1: card(5, 1, 2),
  2: card(5, 2, 3),
  3: card(6, 3, 2),
  4: card(6, 4, 3),
}
const [ONE, TWO] = ['10.1.0.2', '10.1.0.3']

const COUNT = `socket(S, 17, 3, 0x0300) or die; my $n = 0; $SIG{ALRM} = sub { print $n; exit };
alarm 600; $| = 1; print "ready\n"; while (1) { recv(S, my $b, 2000, 0); $n++ if $b =~ /MARK-honest-broadcast/ }`
const STORM = `socket(S, 17, 3, 0x0300) or die; my ($i, $f) = @ARGV;
my $to = pack("SniSCCa8", 17, 3, $i, 1, 0, 6, ""); send(S, pack("H*", $f), 0, $to) for 1 .. 20000`

test('a check of many networks reads each link only a few times, and changes nothing if all is well', () => {
  const many = Array.from({ length: 4_000 }, (_, at) => {
    const hex = at.toString(16).padStart(4, '0')
    const cards = [1, 2, 3, 4, 5, 6, 7, 8].map((network) => ({
      network,
      mac: `52:54:0a:${hex.slice(0, 2)}:${hex.slice(2)}:0${network}`,
      address: '10.1.0.2',
      prefixLength: 16,
    }))
    return { uid: 0, network: { ...PLAIN_NETWORK, number: at + 1, cards } }
  })
  const places = many.flatMap(placesOf)
  const info_slave_data = { learning: false, flood: false }
  let looks = 0
  const links = places.map(({ name, bridge }) => ({
    get ifname() {
      looks += 1
      return name
    },
    ...{ master: bridge, flags: ['UP'] },
    linkinfo: { info_slave_data },
  }))
  const bridges = [...new Set(places.map(({ bridge }) => bridge))].map((ifname) => ({ ifname }))
  const known = places.map(({ name, mac }) => ({ mac, ifname: name, state: 'static' }))
  expect(privateLines(many, [...links, ...bridges], known)).toEqual({ ip: [], bridge: [] })
  // A search of all links for each card would take a billion reads.
  expect(looks).toBeLessThan(4 * links.length)
})

describe.runIf(process.getuid?.() === 0).each(['root', 'user'] as const)(
  'private networks of a service that is %s',
  (as) => {
    let world: NetworkWorld
    const guests: Agent[] = []
    const guest = (number: number) => guests[number - 1] as Agent // beforeAll has made four
    const network = (number: number, more: Partial<Card['network']> = {}) =>
      world.card(number, { cards: [CARDS[number] as PrivateCard], ...more }) // of one to four
    beforeAll(async () => {
      world = await NetworkWorld.open(as)
      for (const number of [1, 2, 3, 4]) {
        guests.push(await world.guest(number))
        await guest(number).tell({ do: 'serve', port: 90 + number })
        await world.plug(network(number))
      }
    })
    afterAll(() => world?.close())

    const within = async (...command: string[]) => {
      const [program = '', ...args] = [...(await world.inside()), ...command]
      return String((await promisify(execFile)(program, args)).stdout)
    }
    const meet = async () => {
      expect(await guest(2).reach('tcp', ONE, 91)).toBe(`tcp from ${TWO}`)
      expect(await guest(1).reach('udp', TWO, 92)).toMatch(`udp from ${ONE}`)
    }

    test('servers of one network meet, and never those of another with the same range', async () => {
      await meet()
      expect(await guest(4).reach('tcp', ONE, 93)).toBe(`tcp from ${TWO}`)
      expect(await guest(2).reach('tcp', ONE, 93)).toBe('ECONNREFUSED')
      expect(await guest(4).reach('tcp', ONE, 91)).toBe('ECONNREFUSED')
      expect(await guest(1).ask('tcp', '10.1.0.1', 80)).not.toMatch(/from/)
    })

    test('a server can send only IPv4 from its own address by its card', async () => {
      const bridge = /link.ether (\S+)/.exec(await within('ip', 'link', 'show', 'n5'))?.[1] ?? ''
      const frames = privateFrames(CARDS[1] as PrivateCard, CARDS[2] as PrivateCard, bridge) // of the four
      const others = [guest(2), guest(3), guest(4), world.internet, world.host]
      const honest = [...frames.keys()].filter((name) => name.startsWith('honest'))
      expect((await seen(guest(1), frames, others, 'c5')).sort()).toEqual(honest.sort())
      expect(await seen(guest(1), frames, [guest(3), guest(4)], 'c5')).toEqual([])
      expect(await within('ip', 'neigh', 'show', 'dev', 'n5')).toBe('')
      await meet()
    })

    test('a broadcast storm of a server is limited before it reaches others', async () => {
      const frames = privateFrames(CARDS[1] as PrivateCard, CARDS[2] as PrivateCard, TWO) // of the four
      const index = /^\d+/.exec(await guest(1).run('ip -o link show c5'))?.[0] ?? ''
      await guest(2).tell({ do: 'watch', program: COUNT })
      const begun = performance.now()
      const storm = ['perl', '-e', STORM, index, frames.get('honest-broadcast') ?? '']
      for (let round = 0; round < 3; round++)
        expect(await guest(1).tell({ do: 'run', command: storm })).toBe('')
      const count = Number(await guest(2).tell<string>({ do: 'watched' }))
      expect(count).toBeGreaterThan(0)
      expect(count).toBeLessThan(400 + (performance.now() - begun) / 10)
      await meet()
    })

    test('a machine is also cut off from private networks, and connected again', async () => {
      await world.service.tell({ do: 'change', card: network(1, { isCut: true }) })
      expect(await guest(2).ask('tcp', ONE, 91)).not.toMatch(/from/)
      expect(await guest(1).ask('udp', TWO, 92)).not.toMatch(/from/)
      await world.service.tell({ do: 'change', card: network(1) })
      await meet()
    })

    test('damage to private networks is repaired at the next check', async () => {
      const harms: [string, string[]][] = [
        ['its private networks', ['ip', 'link', 'delete', 'n5']],
        ['its private networks', ['ip', 'link', 'set', 'p1n5', 'nomaster']],
        ['its private networks', ['bridge', 'link', 'set', 'dev', 'p1n5', 'learning', 'on']],
        // This is the state after something loads the module br_netfilter.
        ['its bridges', ['sh', '-c', 'echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables']],
        ['its private networks', ['bridge', 'fdb', 'del', '52:54:0a:00:05:01', 'dev', 'p1n5', 'master']],
        ['its rules', ['nft', 'flush', 'chain', 'bridge', 'berth', 'early']],
        ['the elements of its rules', ['nft', 'flush', 'set', 'bridge', 'berth', 'own']],
      ]
      for (const [name, harm] of harms) {
        await within(...harm)
        expect((await world.service.tell<string[]>({ do: 'look' })).join()).toContain(name)
        expect(await world.service.tell({ do: 'look' })).toEqual([])
        await meet()
      }
    })

    test('a service that is killed leaves networks as they are, and the next one takes them over', async () => {
      const member = await world.member()
      await world.service.end('SIGKILL')
      await meet()
      const running = [1, 2, 3, 4].map((number) => ({ pid: member, card: network(number) }))
      await world.startService(world.dataDir, running)
      await meet()
      expect(await world.service.tell({ do: 'look' })).toEqual([])
    })

    test('a machine that left a network neither receives nor sends there, and unused networks are removed', async () => {
      await world.service.tell({ do: 'change', card: network(1, { cards: [] }) })
      expect(await guest(2).ask('tcp', ONE, 91)).not.toMatch(/from/)
      expect(await guest(1).ask('udp', TWO, 92)).not.toMatch(/from/)
      await world.service.tell({ do: 'change', card: network(1, { cards: [card(7, 1, 9)] }) })
      expect(await within('ip', 'link')).toMatch(/ n7: .* p1n7: /s)
      await world.service.tell({ do: 'change', card: network(1, { cards: [] }) })
      expect(await within('ip', 'link')).not.toMatch(/n7/)
      expect(await world.service.tell({ do: 'look' })).toEqual([])
    })
  },
)
