import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { RESOLVER } from '../../addresses.ts'
import type { FirewallRule } from '../../driver.ts'
import { isLet } from '../../firewall.ts'
import { askLong } from './test-frames.ts'
import { type Agent, NetworkWorld } from './test-world.ts'

const [FAR, FAR6, HOST] = ['192.0.2.80', '2001:db8:80::80', '198.51.100.2']
const PING = `print scalar Net::Ping->new("icmp", 1)->ping("${FAR}")`
const ANYWHERE = ['0.0.0.0/0', '::/0']
const rule = (more: Partial<FirewallRule>): FirewallRule => ({
  direction: 'in',
  protocol: 'tcp',
  ports: null,
  cidrs: ANYWHERE,
  ...more,
})
const at = (...ports: number[]) => ({ first: Math.min(...ports), last: Math.max(...ports) })
const web = [rule({ ports: at(80) }), rule({ protocol: 'udp', ports: at(80) })]

describe.runIf(process.getuid?.() === 0).each(['root', 'user'] as const)(
  'firewalls of a service that is %s',
  (as) => {
    let world: NetworkWorld
    let one: Agent
    let hasIpv6 = false
    beforeAll(async () => {
      world = await NetworkWorld.open(as)
      one = await world.guest(1)
      await world.guest(2)
      await one.tell({ do: 'serve', port: 22 })
      hasIpv6 = (await one.ask('tcp', FAR6, 80)).includes('from')
    })
    afterAll(() => world?.close())
    beforeEach(() => put(null))

    const ports = (number: number) =>
      (['tcp', 'udp'] as const).flatMap((protocol) =>
        [80, 8080, 22].map((port, index) => ({ protocol, port, hostPort: 24_000 + number + index * 5 })),
      )
    const card = (number: number, firewall: FirewallRule[] | null) =>
      world.card(number, { firewall, ports: ports(number) })
    const put = (firewall: FirewallRule[] | null) =>
      world.service.tell({ do: 'change', card: card(1, firewall) })
    // Debian 12's pasta delays a server that speaks first.
    const ask = (asker: Agent, protocol: 'tcp' | 'udp', host: string, port: number) =>
      asker.ask(protocol, host, port, { isFirst: true })
    const reach = (asker: Agent, protocol: 'tcp' | 'udp', host: string, port: number) =>
      asker.reach(protocol, host, port, { isFirst: true })
    const within = async (...command: string[]) => {
      const [program = '', ...args] = [...(await world.inside()), ...command]
      return (await promisify(execFile)(program, args)).stdout
    }
    const chains = async () => (await within('nft', 'list', 'chains')).match(/chain fw_\w+/g) ?? []

    // An ordinary user's rules know a connection's origin as well: pasta passes it on.
    const sets: [string, FirewallRule[] | null][] = [
      ['none', null],
      ['no rule', []],
      ['one port', [rule({ ports: at(80) })]],
      ['ports, some of them twice', [rule({ ports: at(22, 80) }), rule({ ports: at(80, 8000) }), ...web]],
      ['all of a protocol', [rule({ protocol: 'udp' })]],
      ['pings', [rule({ protocol: 'icmp' })]],
      ['everything from somewhere else', [rule({ protocol: 'any', cidrs: ['203.0.113.0/24', '::/0'] })]],
      ['who asks, within another range', [rule({ cidrs: ['198.51.100.1/32', '198.51.100.0/24'] })]],
      ['what begins in it', [rule({ direction: 'out', ports: at(80), cidrs: [`${FAR}/32`] })]],
      [
        'where it asks for names',
        [rule({ direction: 'out', protocol: 'udp', ports: at(53), cidrs: [`${RESOLVER}/32`] })],
      ],
      ['IPv6', [rule({ direction: 'out', cidrs: ['2001:db8::/32'] })]],
    ]
    test.each(sets)('rules let through what they say: %s', async (_, rules) => {
      await put(rules)
      const into = (['tcp', 'udp'] as const).flatMap((protocol) =>
        ports(1)
          .filter((port) => port.protocol === protocol)
          .map(async ({ port, hostPort }) => {
            const should = isLet(rules, { direction: 'in', protocol, port, address: '198.51.100.1' })
            const answer = await (should ? reach : ask)(world.internet, protocol, HOST, hostPort)
            return [`in ${protocol} ${port}`, answer.includes('from'), should]
          }),
      )
      const out = (['tcp', 'udp'] as const).flatMap((protocol) =>
        (
          [
            [FAR, 80],
            [FAR6, 80],
            [RESOLVER, 53],
          ] as const
        ).map(async ([address, port]) => {
          const isThere = hasIpv6 || address !== FAR6
          const should = isThere && isLet(rules, { direction: 'out', protocol, port, address })
          const answer = await (should
            ? one.reach(protocol, address, port)
            : one.ask(protocol, address, port))
          return [`out ${protocol} ${address}`, answer.includes('from'), should]
        }),
      )
      for (const [name, was, should] of await Promise.all([...into, ...out]))
        expect(`${name}: ${was}`).toBe(`${name}: ${should}`)
    })

    test.runIf(as === 'root')('rules hold at public addresses, for each family by itself', async () => {
      const own = { ipv4: '203.0.113.7', ipv6: '2001:db8:5:7::/64' }
      const answers = async (firewall: FirewallRule[], has80: [boolean, boolean]) => {
        await world.service.tell({ do: 'change', card: world.card(1, { public: own, firewall }) })
        const places = [own.ipv4, '2001:db8:5:7::2'].map(async (place, at) => {
          const open = has80[at] ? reach : ask
          const found = [open(world.internet, 'tcp', place, 80), ask(world.internet, 'tcp', place, 8080)]
          return (await Promise.all(found)).map((answer) => answer.includes('from'))
        })
        return Promise.all(places)
      }
      const [opened, closed] = [
        [true, false],
        [false, false],
      ]
      const port = { ports: at(80) }
      expect(await answers([], [false, false])).toEqual([closed, closed])
      expect(await answers([rule(port)], [true, true])).toEqual([opened, opened])
      const four = [rule({ ...port, cidrs: ['0.0.0.0/0'] })]
      expect(await answers(four, [true, false])).toEqual([opened, closed])
      const six = [rule({ ...port, cidrs: ['2001:db8:ffff::/64'] })]
      expect(await answers(six, [false, true])).toEqual([closed, opened])
    })

    test.runIf(as === 'root')('rules hold for a datagram in pieces, in both directions', async () => {
      const own = { ipv4: '203.0.113.7', ipv6: null }
      const udp = { protocol: 'udp', ports: at(80) } as const
      const firewall = [rule(udp), rule({ ...udp, direction: 'out' })]
      await world.service.tell({ do: 'change', card: world.card(1, { public: own, firewall }) })
      expect(await askLong(world.internet, own.ipv4, 80)).toMatch(/^udp from/)
      expect(await askLong(world.internet, own.ipv4, 8080)).toBe('silence')
      expect(await askLong(one, FAR, 80)).toMatch(/^udp from/)
      expect(await askLong(one, FAR, 587)).not.toMatch(/from/)
    })

    test('refused traffic from outside gets no reply, and a guest’s own is refused at once', async () => {
      await put([rule({ direction: 'out', protocol: 'icmp' })])
      expect(await ask(world.internet, 'tcp', HOST, 24_001)).toBe('silence')
      expect(await one.reach('tcp', FAR, 80)).toBe('EHOSTUNREACH')
      // Debian 12's pasta does not forward pings.
      if (as === 'root') expect(await one.run(`perl -MNet::Ping -e '${PING}'`)).toBe('1')
    })

    test('a change ends what it no longer allows, in both directions, and brings it back', async () => {
      await world.internet.tell({ do: 'talk', name: 'in', host: HOST, port: 24_001 })
      await one.tell({ do: 'talk', name: 'out', host: FAR, port: 80 })
      const both = () =>
        Promise.all([world.internet.tell({ do: 'say', name: 'in' }), one.tell({ do: 'say', name: 'out' })])
      await expect.poll(both).toEqual([true, true])
      await put(web)
      await expect.poll(both).toEqual([true, true])
      await put([])
      await expect.poll(both).toEqual([false, true])
      await put([...web, rule({ direction: 'out', ports: at(443) })])
      expect((await both())[1]).toBe(false)
      await put(null)
      expect(await reach(world.internet, 'tcp', HOST, 24_001)).toMatch(/from/)
    })

    test('no moment of a change opens a port closed before and after, or closes one open before and after', async () => {
      const [two, sets] = [card(2, null), [web, [...web, rule({ ports: at(443) })]]]
      await put(web)
      type Count = { asked: number; answered: number }
      const knock = (port: number, patienceMs: number) =>
        world.internet.tell<Count>({ do: 'knock', host: HOST, port, patienceMs })
      const over = Promise.all([knock(24_006, 500), knock(24_001, 60_000)])
      const end = performance.now() + 3_000
      for (let changes = 0; changes < 20 || performance.now() < end; changes++) {
        const firewall = sets[changes % 2] ?? null
        await world.service.tell({
          do: 'change',
          card: card(1, firewall),
          and: { ...two, network: { ...two.network, firewall } },
        })
      }
      await world.internet.tell({ do: 'hush' })
      const [closed, open] = await over
      expect(closed.asked).toBeGreaterThan(20)
      expect(closed.answered).toBe(0)
      expect(open.answered).toBe(open.asked)
    })

    test('servers with equal rules share a chain, and an unused chain is deleted', async () => {
      const change = (card: object, and: object) => world.service.tell({ do: 'change', card, and })
      await change(card(1, web), card(2, [...web].reverse()))
      expect(new Set(await chains()).size).toBe(1)
      await change(card(1, web), card(2, [...web, rule({ ports: at(443) })]))
      expect(new Set(await chains()).size).toBe(2)
      await change(card(1, null), card(2, null))
      expect(await chains()).toEqual([])
    })

    test('damage to a firewall’s rules is repaired at the next check', async () => {
      await put(web)
      const [name = ''] = (await chains()).map((chain) => chain.replace('chain ', ''))
      const harms = [
        ['flush', 'chain', 'inet', 'berth', name],
        ['add', 'rule', 'inet', 'berth', name, 'accept'],
        ['flush', 'map', 'inet', 'berth', 'fw_in'],
        ['add', 'chain', 'inet', 'berth', 'fw_stray'],
      ]
      for (const harm of harms) {
        await within('nft', ...harm)
        expect((await world.service.tell<string[]>({ do: 'look' })).join()).toContain(
          'the elements of its rules',
        )
        expect(await ask(world.internet, 'udp', HOST, 24_006)).not.toMatch(/from/)
        expect(await reach(world.internet, 'udp', HOST, 24_001)).toMatch(/from/)
        expect(await world.service.tell({ do: 'look' })).toEqual([])
      }
      expect(await chains()).toHaveLength(1)
    })

    test('the question whether a guest answers on SSH gets through, of this host alone, while it is asked', async () => {
      await put([])
      const answers = (own = ask) =>
        Promise.all([
          own(world.host, 'tcp', '127.0.0.1', 24_011),
          ask(world.internet, 'tcp', HOST, 24_011),
          ask(world.host, 'tcp', '127.0.0.1', 24_001),
        ])
      expect((await answers()).map((answer) => answer.includes('from'))).toEqual([false, false, false])
      await world.service.tell({ do: 'admit', serverId: 'm1', isProbed: true })
      expect((await answers(reach)).map((answer) => answer.includes('from'))).toEqual([true, false, false])
      await world.service.tell({ do: 'admit', serverId: 'm1', isProbed: false })
      expect((await answers()).map((answer) => answer.includes('from'))).toEqual([false, false, false])
    })
  },
)
