import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import type { PublicPools, PublishedPort } from '../../driver.ts'
import { hostAddresses, ipv4OfCard } from '../host/addresses.ts'
import { run } from '../host/run.ts'
import { ElementKeeper } from './elements.ts'
import type { Namespace } from './namespace.ts'
import { isTaken } from './ports.ts'
import { withoutHost } from './public.ts'
import { MOST_CONNECTIONS, NEW_CONNECTIONS, UPLINK } from './rules.ts'

/** The link between the namespace and this host. */
export interface Uplink {
  /** The host's ports that connections from the namespace may seem to come from. */
  readonly ports: string
  /** The protocols whose connections leave the host by the port that they leave the namespace by. */
  readonly keeping: readonly ('tcp' | 'udp')[]
  /** True if packets beyond a machine's bandwidth must wait, since the link recovers badly from their loss. */
  readonly isQueued: boolean
  /** True if traffic of the public address pools uses the link. */
  readonly carriesPools: boolean
  isUp(): Promise<boolean>
  /** Creates the link, or its missing parts. Safe to repeat. */
  raise(): Promise<void>
  /** Forwards exactly these ports of the host ("tcp . 22001") and these ranges into the namespace. */
  lead(ports: ReadonlySet<string>, pools: PublicPools): Promise<void>
  /** True if something else uses a port that leads to no machine yet. */
  isTaken(port: PublishedPort): Promise<boolean>
  remove(): Promise<void>
}

/** The IPv6 addresses of the two ends, on a card that no other installation has. */
const [HOST6, INSIDE6] = ['fe80::1', 'fe80::2']
/** The network part of an IPv6 address. */
const NETWORK = 'ffff:ffff:ffff:ffff::'

/** The number of places for the two ends: pairs of 169.254.64.0/18, of which the second is inside. */
const PLACES = 2 ** 12

const CHAINS = ['nat_in', 'nat_local', 'nat_out', 'input', 'forward', 'arrival']

/** Ports that no service listens on: its port would take the answers of guests' connections. */
const PORTS = '32768-65535'

/** Root's uplink: a pair of cards, and rules on the host that are the same for all machines. */
export class HostUplink implements Uplink {
  readonly ports = PORTS
  readonly keeping = ['tcp', 'udp'] as const
  readonly carriesPools = true
  readonly isQueued = false
  readonly #space: Namespace
  readonly #id: string
  readonly #address: string
  readonly #keeper: ElementKeeper
  #ruleCount = 0

  /**
   * @param id identifies the installation, eight hexadecimal digits
   * @param address the address at which ports are published: one of this host's, or 0.0.0.0
   */
  constructor(space: Namespace, id: string, address: string) {
    this.#space = space
    this.#id = id
    this.#address = address
    this.#keeper = new ElementKeeper((args, input) => run(['nft', ...args], input), [this.#table])
  }

  get #table(): string {
    return `inet berth_${this.#id}`
  }

  get #card(): string {
    return `berth${this.#id}`
  }

  async isUp(): Promise<boolean> {
    if ((await ipv4OfCard(this.#card)) === undefined) return false
    await this.#keeper.read().catch(() => {})
    return this.#keeper.rules === this.#ruleCount
  }

  async raise(): Promise<void> {
    const present = await this.#place()
    const isWhole = present !== null && (await this.#leadsInside())
    if (present !== null && !isWhole) await run(['ip', 'link', 'delete', this.#card])
    const place = isWhole ? present : await this.#freePlace()
    if (!isWhole) {
      // The other end may be in a namespace that only its name holds.
      if (await this.#leadsInside()) await run([...this.#space.prefix, 'ip', 'link', 'delete', UPLINK])
      await this.#connect(place)
    }
    await run(['sh', '-ec', this.#settings()])
    await run(['nft', '-f', '-'], this.#rules(place))
    await this.#keeper.read()
    this.#ruleCount = this.#keeper.rules
  }

  #leadsInside(): Promise<boolean> {
    return run([...this.#space.prefix, 'ip', 'link', 'show', UPLINK]).then(
      () => true,
      () => false,
    )
  }

  async lead(ports: ReadonlySet<string>, pools: PublicPools): Promise<void> {
    const set = (elements: Iterable<string>) => new Map([...elements].map((one) => [one, ''] as const))
    await this.#keeper.keep(
      new Map([
        [`${this.#table} ports`, set(ports)],
        [`${this.#table} pools4`, set(pools.ipv4.map(withoutHost))],
        [`${this.#table} pools6`, set(pools.ipv6.map(withoutHost))],
      ]),
    )
    const inside = endsOf((await this.#place()) ?? 0).inside
    await this.#route('-4', inside, pools.ipv4.map(withoutHost))
    await this.#route('-6', INSIDE6, pools.ipv6.map(withoutHost))
  }

  async #route(family: '-4' | '-6', via: string, ranges: readonly string[]): Promise<void> {
    // As ip documents it: a list of objects, of which each field is tested before use.
    const shown = JSON.parse(await run(['ip', '-j', family, 'route', 'show', 'dev', this.#card])) as Route[]
    const present = shown.flatMap(({ dst, gateway }) => (dst && gateway === via ? [dst] : []))
    const missing = ranges.filter((range) => !present.includes(range))
    if (family === '-6' && missing.length > 0) await this.#openIpv6()
    const lines = [
      ...present
        .filter((range) => !ranges.includes(range))
        .map((range) => `route delete ${range} dev ${this.#card}`),
      ...missing.map((range) => `route replace ${range} via ${via} dev ${this.#card}`),
    ]
    if (lines.length > 0) await run(['ip', family, '-batch', '-'], lines.join('\n'))
  }

  /**
   * Opens IPv6 forwarding. A host that forwards ignores router advertisements unless it is configured to accept them.
   * It stays so if its addresses and default route come from them.
   */
  async #openIpv6(): Promise<void> {
    const settings = `cd /proc/sys/net/ipv6/conf
      if [ "$(cat all/forwarding)" != 1 ]; then
        for card in *; do [ "$(cat $card/accept_ra)" != 1 ] || echo 2 > $card/accept_ra; done
        echo 1 > all/forwarding
      fi
      echo 0 > ${this.#card}/accept_ra
      echo 0 > ${this.#card}/disable_ipv6
      ip addr replace ${HOST6}/64 dev ${this.#card} nodad`
    await run(['sh', '-ec', settings])
    const within = [
      `addr replace ${INSIDE6}/64 dev ${UPLINK} nodad`,
      `route replace default via ${HOST6} dev ${UPLINK}`,
    ]
    await run([...this.#space.prefix, 'ip', '-6', '-batch', '-'], within.join('\n'))
  }

  /** Rules of another installation on this host take a port just as a listening program does. */
  async isTaken(port: PublishedPort): Promise<boolean> {
    if (await isTaken(port, this.#address)) return true
    for (const table of await installations()) {
      if (table === this.#table) continue
      const others = new ElementKeeper((args, input) => run(['nft', ...args], input), [table])
      const ports = (await others.read().catch(() => null))?.get(`${table} ports`)
      if (ports?.has(`${port.protocol} . ${port.hostPort}`)) return true
    }
    return false
  }

  async remove(): Promise<void> {
    await run(['nft', '-f', '-'], `add table ${this.#table}\ndelete table ${this.#table}\n`)
    await run(['ip', 'link', 'delete', this.#card]).catch(() => {})
  }

  /** The host end's place; null: there is none. */
  async #place(): Promise<number | null> {
    const address = await ipv4OfCard(this.#card)
    if (address !== undefined) return placeOf(address)
    await run(['ip', 'link', 'delete', this.#card]).catch(() => {})
    return null
  }

  /**
   * Finds a place that no other card of this host is in. The search starts at a place that follows from the
   * installation.
   */
  async #freePlace(): Promise<number> {
    const taken = new Set(
      (await hostAddresses()).map(({ address }) => (isIPv4(address) ? placeOf(address) : null)),
    )
    const first = createHash('sha256').update(this.#id).digest().readUInt16BE(0)
    for (let at = 0; at < PLACES; at++) if (!taken.has((first + at) % PLACES)) return (first + at) % PLACES
    throw new Error('169.254.64.0/18 is full')
  }

  async #connect(place: number): Promise<void> {
    const [, target = ''] = this.#space.prefix[1]?.split('/run/netns/') ?? []
    const mtu = await leastMtu()
    const { host, inside } = endsOf(place)
    const lines = [
      `link add ${this.#card} mtu ${mtu} type veth peer name ${UPLINK} mtu ${mtu} netns ${target}`,
      `addr add ${host}/30 dev ${this.#card}`,
      `link set ${this.#card} up`,
    ]
    await run(['ip', '-batch', '-'], lines.join('\n'))
    const within = [
      `addr add ${inside}/30 dev ${UPLINK}`,
      `link set ${UPLINK} up`,
      `route replace default via ${host}`,
    ]
    await run([...this.#space.prefix, 'ip', '-batch', '-'], within.join('\n'))
  }

  /** Returns sysctl settings; route_localnet allows replies to a program that used 127.0.0.1. */
  #settings(): string {
    return `cd /proc/sys/net/ipv4
      [ "$(cat ip_forward)" = 1 ] || echo 1 > ip_forward
      echo 1 > conf/${this.#card}/route_localnet
      echo 0 > conf/${this.#card}/send_redirects
      ip -6 route show dev ${this.#card} | grep -q via || echo 1 > /proc/sys/net/ipv6/conf/${this.#card}/disable_ipv6 || true`
  }

  #rules(place: number): string {
    const { host, inside } = endsOf(place)
    const isOurs = this.#address === '0.0.0.0' ? 'fib daddr type local' : `ip daddr ${this.#address}`
    const card = `"${this.#card}"`
    return `
add table ${this.#table}
table ${this.#table} {
${SETS}${CHAINS.map((chain) => `  chain ${chain} {}`).join('\n')}
}
${CHAINS.map((chain) => `flush chain ${this.#table} ${chain}\ndelete chain ${this.#table} ${chain}`).join('\n')}
table ${this.#table} {
  chain nat_in {
    type nat hook prerouting priority dstnat; policy accept;
    iifname != ${card} ${isOurs} meta l4proto . th dport @ports dnat ip to ${inside}
  }
  chain nat_local {
    type nat hook output priority -100; policy accept;
    ${isOurs} meta l4proto . th dport @ports dnat ip to ${inside}
  }
  # The namespace has chosen the port, and recorded it (outgoing.ts): a connection for which it is taken is dropped.
  chain nat_out {
    type nat hook postrouting priority srcnat; policy accept;
    oifname ${card} ip saddr != ${host} ip saddr 127.0.0.0/8 snat ip to ${host}
    oifname != ${card} ip saddr ${inside} tcp sport ${PORTS} masquerade to :tcp sport
    oifname != ${card} ip saddr ${inside} udp sport ${PORTS} masquerade to :udp sport
    oifname != ${card} ip saddr ${inside} meta l4proto icmp masquerade
    oifname != ${card} ip saddr ${inside} drop
  }
  # Nothing that begins in the namespace reaches the host itself, and nothing else comes out of it.
  chain input {
    type filter hook input priority filter - 5; policy accept;
    iifname != ${card} accept
    ct direction reply ct state established,related accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } ip6 saddr fe80::/10 accept
    reject with icmpx admin-prohibited
  }
  chain forward {
    type filter hook forward priority filter - 5; policy accept;
    iifname != ${card} accept
    ip saddr != ${inside} ip saddr != @pools4 ct direction original drop
    ip6 saddr != @pools6 ct direction original drop
    fib daddr type { local, broadcast, multicast } drop
  }
  # Who floods a published port or an address fills no table of the host's either.
  chain arrival {
    type filter hook postrouting priority filter - 5; policy accept;
    oifname != ${card} accept
    ct state new ip daddr @pools4 update @arrived4 { ip daddr limit ${NEW_CONNECTIONS} } drop
    ct state new ip daddr @pools4 add @visits4 { ip daddr ct count over ${MOST_CONNECTIONS} } drop
    ct state new ip6 daddr @pools6 update @arrived6 { ip6 daddr & ${NETWORK} limit ${NEW_CONNECTIONS} } drop
    ct state new ip6 daddr @pools6 add @visits6 { ip6 daddr & ${NETWORK} ct count over ${MOST_CONNECTIONS} } drop
    ip daddr != ${inside} accept
    ct state new update @arrived { meta l4proto . th dport limit ${NEW_CONNECTIONS} } drop
    ct state new add @visits { meta l4proto . th dport ct count over ${MOST_CONNECTIONS} } drop
  }
}
`
  }
}

const SETS = `
  set ports   { type inet_proto . inet_service; }
  set visits  { type inet_proto . inet_service; size 65535; flags dynamic; }
  set arrived { type inet_proto . inet_service; size 65535; flags dynamic, timeout; timeout 1m; }
  set pools4  { type ipv4_addr; flags interval; }
  set pools6  { type ipv6_addr; flags interval; }
  set visits4  { type ipv4_addr; size 65535; flags dynamic; }
  set visits6  { type ipv6_addr; size 65535; flags dynamic; }
  set arrived4 { type ipv4_addr; size 65535; flags dynamic, timeout; timeout 1m; }
  set arrived6 { type ipv6_addr; size 65535; flags dynamic, timeout; timeout 1m; }
`

interface Route {
  dst?: string
  gateway?: string
}

function endsOf(place: number): { host: string; inside: string } {
  const at = (offset: number) => `169.254.${64 + (place >> 6)}.${((place & 63) << 2) + offset}`
  return { host: at(1), inside: at(2) }
}

function placeOf(address: string): number | null {
  const [a, b, c = 0, d = 0] = address.split('.').map(Number)
  return a === 169 && b === 254 && c >= 64 && c < 128 ? ((c - 64) << 6) + (d >> 2) : null
}

/** The smallest MTU of the cards that lead out, so that guests' packets fit. */
async function leastMtu(): Promise<number> {
  // ip documents lists of objects, of which each field is tested before use; the next line is alike.
  const routes = JSON.parse(await run(['ip', '-j', '-4', 'route', 'show', 'default'])) as { dev?: string }[]
  // See above.
  const links = JSON.parse(await run(['ip', '-j', 'link'])) as { ifname?: string; mtu?: number }[]
  const out = new Set(routes.map(({ dev }) => dev))
  return Math.min(1500, ...links.flatMap(({ ifname, mtu }) => (out.has(ifname) && mtu ? [mtu] : [])))
}

/** Lists the tables of all installations on this host. */
async function installations(): Promise<string[]> {
  const { nftables } = JSON.parse(await run(['nft', '-j', 'list', 'tables'])) as {
    nftables: { table?: { family: string; name: string } }[]
  } // as nft documents it in libnftables-json(5)
  return nftables.flatMap(({ table }) =>
    table?.name.startsWith('berth_') ? [`${table.family} ${table.name}`] : [],
  )
}
