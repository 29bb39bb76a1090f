import { createHash } from 'node:crypto'
import { widest } from '../../../cidrs.ts'
import type { FirewallRule, PortRange } from '../../driver.ts'
import { judgesOut } from '../../firewall.ts'

/** A chain of rules that returns accepted connections and refuses the rest. */
export interface Chain {
  name: string
  rules: string
}

/** The prefix of chains that come and go with the rules of customers. */
export const FIREWALL = 'fw_'

/**
 * The words of a rule by its direction. Rules match a connection's first packet by conntrack, on packets in both
 * directions, so that a connection also ends once it is no longer allowed. The sender is the destination of the
 * replies, and the target port their source; an outgoing connection is matched by its original destination.
 */
const WORDS = {
  in: { way: 'reply', port: 'proto-src', refusal: 'drop' },
  out: { way: 'original', port: 'proto-dst', refusal: 'reject with icmpx admin-prohibited' },
}

const known = new WeakMap<readonly FirewallRule[], { in: Chain; out: Chain | null }>()

/** Returns the chains of these rules; equal rules share chains. */
export function chainsOf(rules: readonly FirewallRule[]): { in: Chain; out: Chain | null } {
  const found = known.get(rules)
  if (found) return found
  const chains = { in: chainOf(rules, 'in'), out: judgesOut(rules) ? chainOf(rules, 'out') : null }
  known.set(rules, chains)
  return chains
}

function chainOf(all: readonly FirewallRule[], direction: FirewallRule['direction']): Chain {
  const groups = Map.groupBy(
    all.filter((rule) => rule.direction === direction),
    ({ protocol, ports, cidrs }) => `${protocol} ${ports ? 'some' : 'all'} ${[...cidrs].sort()}`,
  )
  const lines = [...groups.values()].flatMap((rules) => linesOf(rules, direction))
  const rules = [...new Set(lines.sort()), WORDS[direction].refusal].join('\n')
  return { name: `${FIREWALL}${createHash('sha256').update(rules).digest('hex').slice(0, 16)}`, rules }
}

/** @param rules rules that differ in their ports only */
function linesOf(rules: readonly FirewallRule[], direction: FirewallRule['direction']): string[] {
  const [first] = rules
  if (!first) return []
  const { way, port } = WORDS[direction]
  const ports = rules.flatMap((rule) => rule.ports ?? [])
  const toPorts = ports.length === 0 ? '' : `ct ${way} ${port} { ${disjoint(ports).join(', ')} } `
  const cidrs = widest(first.cidrs).sort()
  return (['ip', 'ip6'] as const).flatMap((family) => {
    const own = cidrs.filter((cidr) => cidr.includes(':') === (family === 'ip6'))
    if (own.length === 0) return []
    const isAny = own.some((cidr) => cidr.endsWith('/0'))
    const from = isAny
      ? `meta nfproto ${family === 'ip' ? 'ipv4' : 'ipv6'}`
      : `ct ${way} ${family} daddr { ${own.join(', ')} }`
    return [`${protocolIn(first.protocol, family)}${from} ${toPorts}return`]
  })
}

function protocolIn(protocol: FirewallRule['protocol'], family: 'ip' | 'ip6'): string {
  if (protocol === 'any') return ''
  const name = protocol === 'icmp' && family === 'ip6' ? 'ipv6-icmp' : protocol
  return `meta l4proto ${name} `
}

/** Merges port ranges so that none overlap. */
function disjoint(ranges: readonly PortRange[]): string[] {
  const whole: PortRange[] = []
  for (const { first, last } of [...ranges].sort((a, b) => a.first - b.first)) {
    const before = whole.at(-1)
    if (before && first <= before.last + 1) before.last = Math.max(before.last, last)
    else whole.push({ first, last })
  }
  return whole.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`))
}
