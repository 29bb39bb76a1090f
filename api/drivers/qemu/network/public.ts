import { addressesOf, prefixOf, RANGE6 } from '../../addresses.ts'
import { type Feature, features, type PublicPools, type ServerNetwork } from '../../driver.ts'
import type { Elements } from './elements.ts'

const FAMILIES = [
  { name: 'ipv4', of: 4, match: 'ip', ownOf: (number: number) => addressesOf(number).ipv4.address },
  { name: 'ipv6', of: 6, match: 'ip6', ownOf: (number: number) => prefixOf(number) },
] as const

/** The conntrack zone of a machine: unique as far as 16 bits allow. */
const zoneOf = (number: number) => `${(number % 65_535) + 1}`

/**
 * Returns the elements that give machines public addresses: whole addresses for IPv4 and /64s for IPv6. Each is
 * translated to the address configured in the guest, so that addresses move without the guest's help.
 * @param pools the pools; null if the uplink carries none: guests then share the host's address, by IPv6 too
 */
export function publicElements(networks: readonly ServerNetwork[], pools: PublicPools | null): Elements {
  const all: Elements = new Map()
  for (const { name, of, ownOf } of FAMILIES) {
    const found = networks.flatMap(({ number, public: { [name]: address } }) =>
      pools && address !== null ? [{ address, own: ownOf(number), zone: zoneOf(number) }] : [],
    )
    const put = (place: string, entries: (readonly [string, string])[]) =>
      all.set(`inet berth ${place}${of}`, new Map(entries))
    put('pools', pools?.[name].map((range) => [withoutHost(range), ''] as const) ?? [])
    put(
      'public_in',
      found.map(({ address, own }) => [address, own] as const),
    )
    put(
      'public_out',
      found.map(({ address, own }) => [own, address] as const),
    )
    put(
      'zones',
      found.map(({ address, zone }) => [address, zone] as const),
    )
    put(
      'held',
      found.map(({ address, own }) => [`${own} . ${address}`, ''] as const),
    )
    if (of === 6) put('open', pools ? found.map(({ own }) => [own, ''] as const) : [[RANGE6, '']])
  }
  return all
}

/**
 * Returns the features that the guests' network offers, if there is one, and a warning if it offers less than it
 * could.
 */
export function abilitiesOf(
  guests: { carriesPools: boolean } | null,
  pools: PublicPools,
): { features: Feature[]; lack: string[] } {
  const carriesPools = guests?.carriesPools ?? false
  const isLacking = !carriesPools && pools.ipv4.length + pools.ipv6.length > 0
  return {
    features: features.filter((name) => {
      if (name.startsWith('public_')) return carriesPools
      return (name !== 'private_networks' && name !== 'firewalls') || guests !== null
    }),
    lack: isLacking
      ? [
          'Servers get no public addresses, although the catalogue has ranges of them: only root can route these to guests',
        ]
      : [],
  }
}

/** Removes /32 or /128, since nft shows a range of one address as the address. */
export function withoutHost(range: string): string {
  return range.replace(/\/(32|128)$/, '')
}

/** The sets and maps for public addresses. */
export const PUBLIC_SETS = `
  set pools4      { type ipv4_addr; flags interval; }
  set pools6      { type ipv6_addr; flags interval; }
  map public_in4  { type ipv4_addr : ipv4_addr; }
  map public_in6  { type ipv6_addr : interval ipv6_addr; flags interval; }
  map public_out4 { type ipv4_addr : ipv4_addr; }
  map public_out6 { type ipv6_addr : interval ipv6_addr; flags interval; }
  map zones4      { typeof ip daddr : ct original zone; }
  map zones6      { typeof ip6 daddr : ct original zone; flags interval; }
  set held4       { type ipv4_addr . ipv4_addr; }
  set held6       { type ipv6_addr . ipv6_addr; flags interval; }
  set open6       { type ipv6_addr; flags interval; }
`

/**
 * Tracks connections to an address separately for each machine that has it, so that even pings without a pause move.
 */
export const ZONED = `
  chain zoned {
    type filter hook prerouting priority raw - 10; policy accept;
    ct original zone set ip daddr map @zones4
    ct original zone set ip6 daddr map @zones6
  }
`

/** Ends a connection to or from an address once the machine no longer has it. */
export const HELD = `
  chain held {
${FAMILIES.flatMap(({ of, match }) =>
  [
    ['iifname', 'saddr'],
    ['oifname', 'daddr'],
  ].flatMap(([side, end]) =>
    // A machine's public address is the original destination of connections to it, and the reply's for its own.
    ['original', 'reply'].map((way) => {
      const answers = (side === 'iifname') === (way === 'reply')
      const seen = `ct ${answers ? 'original' : 'reply'} ${match} daddr`
      return `    ${side} "g*" ct direction ${way} ${seen} @pools${of} ${match} ${end} . ${seen} != @held${of} drop`
    }),
  ),
).join('\n')}
  }
`
