import { systemClock } from '../../../clock.ts'
import { KEPT_MS, type Missed, type Outgoing, OutgoingLog } from '../../outgoing.ts'
import type { Nft } from './elements.ts'
import { UPLINK } from './rules.ts'

const TABLE = 'inet berth_sent'
/** The limit to which a guest's connections are recorded one by one; those above it are only counted. */
const RECORDED = 'rate over 1/second burst 200 packets'
/** The most connections that wait for the service, enough for 300 guests that flood all the time. */
const SIZE = 262_144
const KEPT = `size ${SIZE}; flags dynamic, timeout; timeout ${KEPT_MS / 1000}s;`

/** The number of rules in the table; another number shows damage. */
const RULES = 11
/** The kernel counts missed connections, and the count is recorded after this many checks. */
const LOOKS = 20

/**
 * Rules that record each connection from the host's own address once, with its source port. They have a separate table,
 * because the other one is read completely every few seconds.
 */
export const OUTGOING_RULES = `
add table ${TABLE}
table ${TABLE} {
  set sent4  { type ifname . inet_proto . inet_service . ipv4_addr . inet_service; ${KEPT} }
  set sent6  { type ifname . inet_proto . inet_service . ipv6_addr . inet_service; ${KEPT} }
  set rate   { type ifname; size 65535; flags dynamic, timeout; timeout 5m; }
  set missed { type ifname; size 65535; flags dynamic; counter; }
  chain sent {}
  chain noted {}
}
${['sent', 'noted'].map((chain) => `flush chain ${TABLE} ${chain}`).join('\n')}
delete chain ${TABLE} sent
delete chain ${TABLE} noted
table ${TABLE} {
  # A connection without a place is counted: it passes all the same.
  chain noted {
    ct mark set 1
    update @rate { iifname limit ${RECORDED} } update @missed { iifname } return
    add @sent4 { iifname . meta l4proto . th sport . ip daddr . th dport } return
    add @sent6 { iifname . meta l4proto . th sport . ip6 daddr . th dport } return
    update @missed { iifname }
  }
  # Connections by public addresses of guests, and those to the resolver, are left out.
  chain sent {
    type filter hook postrouting priority srcnat + 20; policy accept;
    oifname != "${UPLINK}" accept
    ct state != new accept
    ct mark 1 accept
    ct status dnat accept
    meta l4proto { tcp, udp } ip saddr 169.254.0.0/16 goto noted
    meta l4proto { tcp, udp } ip6 saddr fd62:6572:74ff::/48 goto noted
  }
}
`

/** A connection in the kernel's sets. */
interface Sent {
  set: string
  card: string
  protocol: string
  port: number
  address: string
  remotePort: number
  /** Seconds until the kernel forgets it. */
  expires: number
}

/** Writes guests' connections from the kernel's sets into the record. */
export class Recorder {
  readonly #log: OutgoingLog
  #looks = 0

  constructor(dataDir: string) {
    this.#log = new OutgoingLog(dataDir)
  }

  /**
   * Records connections before the kernel forgets them; a crash in between can record some twice.
   * @param keeping the protocols whose connections keep their source port from the namespace to the host
   * @param serverOf returns the server that has a card
   * @returns false if the rules are missing
   */
  async collect(nft: Nft, keeping: readonly string[], serverOf: (card: string) => string): Promise<boolean> {
    const json = await nft(['-j', 'list', 'table', ...TABLE.split(' ')], '').catch(() => '{"nftables":[]}')
    const now = systemClock.now()
    const { rules, sent, missed } = listed(json)
    const isWhole = rules === RULES
    const counted = this.#looks++ % LOOKS === 0 ? missed : []
    const entries: (Outgoing | Missed)[] = [
      ...sent.map((one) => ({
        at: now - KEPT_MS + one.expires * 1000,
        ...{ serverId: serverOf(one.card), protocol: one.protocol, address: one.address },
        port: one.remotePort,
        sourcePort: keeping.includes(one.protocol) ? one.port : null,
      })),
      ...counted.map(([card, count]) => ({ at: now, serverId: serverOf(card), count })),
    ]
    await this.#log.add(entries, now, isWhole)
    // Deleting an element that has just expired would fail.
    const lasting = sent.filter(({ expires }) => expires > 5)
    const lines = [
      ...lasting.map(({ set, card, protocol, port, address, remotePort }) => {
        const key = [`"${card}"`, protocol, port, address, remotePort].join(' . ')
        return `delete element ${TABLE} ${set} { ${key} }`
      }),
      ...counted.map(([card]) => `delete element ${TABLE} missed { "${card}" }`),
    ]
    if (lines.length > 0) await nft(['-f', '-'], `${lines.join('\n')}\n`)
    return isWhole
  }

  /** Records that no guest is left. */
  async rest(): Promise<void> {
    await this.#log.rest()
  }
}

/** Reads nft's list of the table. */
function listed(json: string): { rules: number; sent: Sent[]; missed: [string, number][] } {
  // As nft documents it in libnftables-json(5); each field is tested or has a default.
  const { nftables } = JSON.parse(json) as { nftables: { rule?: object; set?: ListedSet }[] }
  const sent: Sent[] = []
  const missed: [string, number][] = []
  for (const { set } of nftables)
    for (const { elem } of set?.elem ?? []) {
      const { val, expires = KEPT_MS / 1000, counter } = elem ?? {}
      if (typeof val === 'string' && set?.name === 'missed') missed.push([val, counter?.packets ?? 0])
      if (!set || typeof val !== 'object') continue
      const [card = '', protocol = '', port, address = '', remotePort] = (val.concat ?? []).map(String)
      const numbers = { port: Number(port), remotePort: Number(remotePort), expires }
      sent.push({ set: set.name, card, protocol, address, ...numbers })
    }
  return { rules: nftables.filter(({ rule }) => rule).length, sent, missed }
}

interface ListedSet {
  name: string
  elem?: {
    elem?: { val?: string | { concat?: unknown[] }; expires?: number; counter?: { packets: number } }
  }[]
}
