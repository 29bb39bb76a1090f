import type { PrivateCard, ServerNetwork } from '../../driver.ts'
import type { Elements } from './elements.ts'

// Private networks: each is a bridge without an address or uplink, and a card of each machine in it. A bridge is told
// which card has which address: it learns nothing from machines' traffic.

/** A machine in private networks, and the user that its QEMU runs as. */
interface Member {
  network: ServerNetwork
  uid: number
}

/** A machine's card in a private network. */
export function privateCardOf(number: number, { network }: PrivateCard): string {
  return `p${number}n${network}`
}

function bridgeOf({ network }: PrivateCard): string {
  return `n${network}`
}

/** The rate of a card's frames to many receivers, such as ARP questions. */
const TO_MANY = 'rate over 100/second burst 200 packets'
const CHAINS = ['early', 'between', 'self', 'own_voice']

/**
 * A machine sends IPv4 and ARP from its own addresses only. Nothing else passes: no IPv6, tags or spanning trees, and
 * no DHCP replies. The bridge itself neither receives nor sends anything.
 */
export const PRIVATE_RULES = `
add table bridge berth
table bridge berth {
  set own    { type ifname . ether_addr . ipv4_addr; }
  set open   { type ifname; }
  set storms { type ifname; size 65535; flags dynamic, timeout; timeout 1m; }
${CHAINS.map((name) => `  chain ${name} {}`).join('\n')}
}
${CHAINS.map((name) => `flush chain bridge berth ${name}\ndelete chain bridge berth ${name}`).join('\n')}
table bridge berth {
  chain early {
    type filter hook prerouting priority -300; policy drop;
    ether type != { ip, arp } drop
    ether daddr & 01:00:00:00:00:00 != 00:00:00:00:00:00 update @storms { iifname limit ${TO_MANY} } drop
    arp htype 1 arp ptype ip arp hlen 6 arp plen 4 iifname . arp saddr ether . arp saddr ip @own iifname . ether saddr . arp saddr ip @own accept
    udp sport 67 drop
    iifname . ether saddr . ip saddr @own accept
  }
  chain between {
    type filter hook forward priority -200; policy drop;
    oifname @open accept
  }
  chain self {
    type filter hook input priority -200; policy drop;
  }
  chain own_voice {
    type filter hook output priority -200; policy drop;
  }
}
`

/** Returns the contents of these rules' sets; a machine that is cut off has none. */
export function privateElements(cards: readonly Member[]): Elements {
  const open = cards.filter(({ network }) => !network.isCut).flatMap(placesOf)
  return new Map([
    ['bridge berth open', new Map(open.map(({ name }) => [name, '']))],
    [
      'bridge berth own',
      new Map(open.map(({ name, mac, address }) => [`${name} . ${mac} . ${address}`, ''])),
    ],
  ])
}

/** A private card and its name in the namespace. */
interface Place extends PrivateCard {
  name: string
  bridge: string
  uid: number
}

export function placesOf({ network: { number, cards }, uid }: Member): Place[] {
  return cards.map((card) => ({ ...card, name: privateCardOf(number, card), bridge: bridgeOf(card), uid }))
}

/** An entry of `ip -j -d link`; each field is tested before use. */
export interface NetworkLink {
  ifname?: string
  flags?: string[]
  master?: string
  linkinfo?: { info_slave_data?: { learning?: boolean; flood?: boolean } }
}

/** An entry of `bridge -j fdb`. */
interface Known {
  mac?: string
  ifname?: string
  state?: string
}

/** Runs a command in the namespace of the guests, with this input, and returns its output. */
type Inside = (command: readonly string[], input?: string) => Promise<string>

/** Lists the cards and bridges of the namespace. */
export async function linksIn(inside: Inside): Promise<NetworkLink[]> {
  // As ip documents it: a list of objects, of which each field is tested before use.
  return JSON.parse(await inside(['ip', '-j', '-d', 'link'])) as NetworkLink[]
}

/** Connects private networks as the cards say. @returns true if something was missing */
export async function connectPrivate(
  cards: readonly Member[],
  links: readonly NetworkLink[],
  inside: Inside,
): Promise<boolean> {
  const isEmpty = cards.every(({ network }) => network.cards.length === 0)
  // As bridge documents it: a list of objects, of which each field is tested before use.
  const known = isEmpty ? [] : (JSON.parse(await inside(['bridge', '-j', 'fdb', 'show'])) as Known[])
  const { ip, bridge } = privateLines(cards, links, known)
  if (ip.length > 0) await inside(['ip', '-batch', '-'], ip.join('\n'))
  if (bridge.length > 0) await inside(['bridge', '-batch', '-'], bridge.join('\n'))
  return bridge.length > 0 || ip.some((line) => !line.startsWith('link delete'))
}

/**
 * Returns the changes that private networks need to match these cards, as lines for ip and then for bridge. A card
 * that a machine still holds is left to it: the rules let nothing through.
 */
export function privateLines(
  cards: readonly Member[],
  links: readonly NetworkLink[],
  known: readonly Known[],
): { ip: string[]; bridge: string[] } {
  const places = cards.flatMap(placesOf)
  const present = new Map(links.map((link) => [link.ifname ?? '', link]))
  const bridges = new Set(places.map(({ bridge }) => bridge))
  const names = new Set(places.map(({ name }) => name))
  const missing = [...bridges].filter((bridge) => !present.has(bridge))
  const wrong = new Set(places.filter((place) => !isInPlace(place, present.get(place.name))))
  const fixed = new Set(
    known.flatMap(({ mac, ifname, state }) => (state === 'static' ? `${mac} ${ifname}` : [])),
  )
  const stray = links.filter(({ ifname = '', flags = [] }) =>
    /^p\d+n\d+$/.test(ifname) ? !names.has(ifname) && flags.includes('NO-CARRIER') : isStrayBridge(ifname),
  )
  function isStrayBridge(ifname: string): boolean {
    return /^n\d+$/.test(ifname) && !bridges.has(ifname)
  }
  return {
    ip: [
      ...missing.flatMap(bridgeLines),
      ...[...wrong].flatMap((place) => placeLines(place, present.has(place.name))),
      ...stray.map(({ ifname }) => `link delete ${ifname}`),
    ],
    bridge: places
      .filter((place) => wrong.has(place) || !fixed.has(`${place.mac} ${place.name}`))
      .map(({ name, mac }) => `fdb replace ${mac} dev ${name} master static`),
  }
}

function isInPlace({ bridge }: Place, link: NetworkLink | undefined): boolean {
  const { learning, flood } = link?.linkinfo?.info_slave_data ?? {}
  return link?.master === bridge && learning === false && flood === false && !!link.flags?.includes('UP')
}

function bridgeLines(bridge: string): string[] {
  return [
    `link add name ${bridge} type bridge stp_state 0 mcast_snooping 0`,
    `link set dev ${bridge} addrgenmode none`,
    `link set dev ${bridge} up`,
  ]
}

function placeLines({ name, bridge, uid }: Place, isThere: boolean): string[] {
  return [
    ...(isThere ? [] : [`tuntap add dev ${name} mode tap user ${uid}`]),
    `link set dev ${name} addrgenmode none`,
    `link set dev ${name} master ${bridge}`,
    `link set dev ${name} type bridge_slave learning off flood off`,
    `link set dev ${name} up`,
  ]
}
