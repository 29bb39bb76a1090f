import { isIPv4, isIPv6 } from 'node:net'
import { isWithin, rangeOf } from '../cidrs.ts'
import type { PublicPools } from '../drivers/driver.ts'

/** The ranges of a zone. */
interface Ranges {
  public_ipv4?: readonly string[] | undefined
  public_ipv6?: string | undefined
}

/** The most IPv6 networks of one range that are assigned. */
const MOST_NETWORKS = 2 ** 16

export function poolsOf(zones: readonly Ranges[]): PublicPools {
  return {
    ipv4: zones.flatMap(({ public_ipv4 = [] }) => public_ipv4),
    ipv6: zones.flatMap(({ public_ipv6 }) => public_ipv6 ?? []),
  }
}

/**
 * Counts the addresses of a family in a zone, and finds the nth. The first and the last address of an IPv4 range are
 * left out, because some networks do not route them. An IPv6 address stands for a /64.
 */
export function addressesIn(
  { public_ipv4 = [], public_ipv6 }: Ranges,
  family: 'ipv4' | 'ipv6',
): { count: number; at: (index: number) => string } {
  if (family === 'ipv6') {
    if (public_ipv6 === undefined) return { count: 0, at: () => '' }
    const range = rangeOf(public_ipv6)
    const count = Math.min(2 ** (64 - range.prefix), MOST_NETWORKS)
    return { count, at: (index) => `${range.at(BigInt(index) << 64n)}/64` }
  }
  const ranges = public_ipv4.map((range) => {
    const addresses = rangeOf(range)
    const size = Number(addresses.size)
    return size > 2 ? { addresses, first: 1, count: size - 2 } : { addresses, first: 0, count: size }
  })
  const at = (index: number) => {
    let left = index
    for (const { addresses, first, count } of ranges) {
      if (left < count) return addresses.at(BigInt(first + left))
      left -= count
    }
    return ''
  }
  return { count: ranges.reduce((sum, { count }) => sum + count, 0), at }
}

/** True if an address, or a /64, is in a zone's ranges. */
export function isInPools({ public_ipv4 = [], public_ipv6 }: Ranges, address: string): boolean {
  return isWithin(address, public_ipv6 === undefined ? public_ipv4 : [...public_ipv4, public_ipv6])
}

/** Lists the faults of zones' address ranges, each with its place. */
export function poolFaults(zones: readonly Ranges[]): [pointer: string, message: string][] {
  const all = zones.flatMap(({ public_ipv4 = [], public_ipv6 }, zone) => [
    ...public_ipv4.map((range, at) => ({ range, place: `/zones/${zone}/public_ipv4/${at}`, isFour: true })),
    ...(public_ipv6 === undefined
      ? []
      : [{ range: public_ipv6, place: `/zones/${zone}/public_ipv6`, isFour: false }]),
  ])
  const faults = all.flatMap(({ range, place, isFour }): [string, string][] => {
    const fault = isFour ? faultOf4(range) : faultOf6(range)
    return fault === null ? [] : [[place, fault]]
  })
  if (faults.length > 0) return faults
  return shared(all)
}

interface Placed {
  range: string
  place: string
  isFour: boolean
}

/**
 * Lists overlapping ranges. They are sorted first: comparing each with all would take minutes on hostile
 * texts.
 */
function shared(all: readonly Placed[]): [pointer: string, message: string][] {
  const sorted = all
    .map((one, at) => ({ ...one, at, ...boundsOf(one) }))
    .sort(
      (a, b) => Number(a.isFour) - Number(b.isFour) || (a.first < b.first ? -1 : a.first > b.first ? 1 : 0),
    )
  let widest = sorted[0]
  return sorted.slice(1).flatMap((one): [string, string][] => {
    const before = widest
    if (!before || before.isFour !== one.isFour || before.end <= one.first) {
      widest = one
      return []
    }
    if (one.end > before.end) widest = one
    const [other, later] = before.at < one.at ? [before, one] : [one, before]
    return [[later.place, `${later.range} and ${other.range} have addresses in common.`]]
  })
}

/** Returns the first address of a range as a number, and the number after its last address. */
function boundsOf({ range, isFour }: Placed): { first: bigint; end: bigint } {
  const [network = ''] = range.split('/')
  const first = rangeOf(isFour ? '0.0.0.0/0' : '::/0').placeOf(network) ?? 0n
  return { first, end: first + rangeOf(range).size }
}

function faultOf4(range: string): string | null {
  const [network = '', bits = ''] = range.split('/')
  const isRange = isIPv4(network) && /^\d+$/.test(bits) && Number(bits) >= 16 && Number(bits) <= 32
  if (!isRange) return `${range} is not a range of IPv4 addresses such as 203.0.113.0/24, of /16 to /32.`
  return beginning(range)
}

function faultOf6(range: string): string | null {
  const [network = '', bits = ''] = range.split('/')
  // Node also accepts addresses that name a card, such as fe80::1%eth0.
  const isAddress = isIPv6(network) && !network.includes('%')
  const isRange = isAddress && /^\d+$/.test(bits) && Number(bits) >= 32 && Number(bits) <= 64
  if (!isRange) return `${range} is not a range of IPv6 addresses such as 2001:db8::/48, of /32 to /64.`
  return beginning(range)
}

function beginning(range: string): string | null {
  const [network = '', bits = ''] = range.split('/')
  const first = rangeOf(`${network}/${Number(bits)}`).at(0n)
  return first === network ? null : `${range} must be written with its first address, ${first}/${bits}.`
}
