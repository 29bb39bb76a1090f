import { addressesOf, prefixOf } from '../../addresses.ts'
import type { PublicPools, ServerNetwork } from '../../driver.ts'
import type { Elements } from './elements.ts'
import { chainsOf } from './firewalls.ts'
import { privateElements } from './private.ts'
import { publicElements } from './public.ts'
import { classesOf, QUEUE_BYTES } from './queues.ts'
import { cardOf } from './rules.ts'

/** The network card of a machine that is on, or about to be. */
export interface Card {
  serverId: string
  mac: string
  /** The user that the machine's QEMU runs as, in the namespace's numbering of users. */
  uid: number
  network: ServerNetwork
  /** True if the service probes the machine's SSH: its own connection passes any firewall. */
  isProbed?: boolean
}

/** The next hop of the routes to guests: an address that no guest can take from another, and that nobody resolves. */
const NEXT_HOP = { ipv4: '169.254.1.2', ipv6: 'fe80::2' }

/** Returns lines for `ip -batch` that create a card, also over the remains of one. */
export function cardLines({ network: { number }, mac, uid }: Card): string[] {
  const [dev, { ipv4, ipv6 }] = [cardOf(number), addressesOf(number)]
  return [
    `tuntap add dev ${dev} mode tap user ${uid}`,
    `link set dev ${dev} up`,
    `addr replace ${ipv4.gateway}/32 dev ${dev}`,
    `addr replace ${ipv6.gateway}/64 dev ${dev} nodad`,
    `neigh replace ${NEXT_HOP.ipv4} lladdr ${mac} dev ${dev} nud permanent`,
    `neigh replace ${NEXT_HOP.ipv6} lladdr ${mac} dev ${dev} nud permanent`,
    `route replace ${ipv4.address}/32 via ${NEXT_HOP.ipv4} dev ${dev} onlink`,
    `route replace ${prefixOf(number)} via ${NEXT_HOP.ipv6} dev ${dev}`,
  ]
}

/** Returns the value of QEMU's -netdev. */
export function tapDev({ network }: Card): string {
  return `tap,id=n0,ifname=${cardOf(network.number)},script=no,downscript=no`
}

/** The host's part of the sets, which is the same for all cards. */
export interface HostElements {
  resolver: string | null
  /** Addresses of this host, closed to guests. */
  host4: readonly string[]
  host6: readonly string[]
  /** Those addresses of the host that ports are published at. */
  open4: readonly string[]
  /** The ranges of public addresses; null if the uplink carries none. */
  pools: PublicPools | null
  /** True if packets beyond a machine's bandwidth wait in a queue. */
  isQueued: boolean
}

/** The maps from cards to counters: traffic, and what shows abuse. */
const COUNTED = ['rx', 'tx', 'opened', 'mails']

/** Returns the contents of the namespace's sets and maps for these cards. */
export function elementsOf(cards: readonly Card[], resolverAddress: string, host: HostElements): Elements {
  const names = cards.map(({ network }) => cardOf(network.number))
  const set = (keys: readonly string[]) => new Map(keys.map((key) => [key, ''] as const))
  const heard = (what: string) => names.map((name) => [name, `${what}_${name}`] as const)
  const networks = cards.map(({ network }) => network)
  const prefixes = networks.map(({ number }) => prefixOf(number))
  const own = set(cards.map((card) => `${nameOf(card)} . ${addressOf(card)}`))
  return new Map([
    ...publicElements(networks, host.pools),
    ['inet berth counter', set(COUNTED.flatMap((what) => names.map((name) => `${what}_${name}`)))],
    ...COUNTED.map((what) => [`inet berth ${what}`, new Map(heard(what))] as const),
    ...limitElements(networks, host.isQueued),
    ['inet berth classes', new Map(host.isQueued ? classNames(networks) : [])],
    ['inet berth ports', portsOf(cards)],
    ...firewallElements(cards),
    ['inet berth probed', set(cards.filter(({ isProbed }) => isProbed).map((card) => nameOf(card)))],
    ['inet berth cut', set(cards.filter(({ network }) => network.isCut).map((card) => nameOf(card)))],
    ['inet berth smtp', set(cards.filter(({ network }) => network.maySendMail).map((card) => nameOf(card)))],
    ['inet berth resolver', new Map(host.resolver === null ? [] : [[resolverAddress, host.resolver]])],
    ['inet berth host4', set(host.host4)],
    ['inet berth host6', set(host.host6)],
    ['inet berth open4', set(host.open4)],
    ['inet berth own', own],
    ['inet berth own6', set(prefixes.map((prefix) => `${prefix} . ${prefix}`))],
    ['inet berth macs', set(cards.map((card) => `${nameOf(card)} . ${card.mac}`))],
    ['arp berth askers', set(cards.map((card) => `${nameOf(card)} . ${card.mac} . ${addressOf(card)}`))],
    ...privateElements(cards),
  ])
}

/**
 * Returns the bandwidth limits of machines, separate for each direction. A limit's name says its rate, so that
 * another one replaces it when the rate changes. After a pause, the kernel lets a second's worth through at once.
 * @param isQueued true if the limits only bound what a queue at the machine's rate would lose, or never sees
 */
function limitElements(
  networks: readonly ServerNetwork[],
  isQueued: boolean,
): [string, Map<string, string>][] {
  const limits = new Map<string, string>()
  const [sent, got] = [new Map<string, string>(), new Map<string, string>()]
  for (const { number, bandwidthMbit } of networks) {
    if (bandwidthMbit === null) continue
    const card = cardOf(number)
    for (const [way, names] of [
      ['tx', sent],
      ['rx', got],
    ] as const) {
      const name = `${way}_${card}_${bandwidthMbit}${isQueued ? '_queued' : ''}`
      const rate = bandwidthMbit * 125_000
      const beyond = `{ rate over ${rate * 1.25} bytes/second burst ${rate + QUEUE_BYTES} bytes ; }`
      limits.set(name, isQueued ? beyond : `{ rate over ${rate} bytes/second ; }`)
      names.set(card, name)
    }
  }
  return [
    ['inet berth limit', limits],
    ['inet berth slow_tx', sent],
    ['inet berth slow_rx', got],
  ]
}

function classNames(networks: readonly ServerNetwork[]): [string, string][] {
  return [...classesOf(networks)].map(([number, name]) => [cardOf(number), name])
}

/** Machines with equal rules share a chain. */
function firewallElements(cards: readonly Card[]): [string, Map<string, string>][] {
  const [chains, into, outOf] = [
    new Map<string, string>(),
    new Map<string, string>(),
    new Map<string, string>(),
  ]
  for (const card of cards) {
    if (card.network.firewall === null) continue
    const own = chainsOf(card.network.firewall)
    for (const [chain, verdicts] of [
      [own.in, into],
      [own.out, outOf],
    ] as const) {
      if (!chain) continue
      chains.set(chain.name, chain.rules)
      verdicts.set(nameOf(card), `jump ${chain.name}`)
    }
  }
  return [
    ['inet berth chain', chains],
    ['inet berth fw_in', into],
    ['inet berth fw_out', outOf],
  ]
}

/** Returns the ports of this host that lead to these cards, each with its target. */
export function portsOf(cards: readonly Card[]): Map<string, string> {
  return new Map(
    cards
      .filter(({ network }) => !network.isCut)
      .flatMap((card) =>
        card.network.ports.map(
          ({ protocol, hostPort, port }) =>
            [`${protocol} . ${hostPort}`, `${addressOf(card)} . ${port}`] as const,
        ),
      ),
  )
}

function nameOf({ network }: Card): string {
  return cardOf(network.number)
}

function addressOf({ network }: Card): string {
  return addressesOf(network.number).ipv4.address
}
