import { isIP, SocketAddress } from 'node:net'

/** An address or a range of them, as numbers. IPv4 that is written as IPv6 is IPv4. */
interface Cidr {
  bits: 32 | 128
  value: bigint
  prefix: number
}

/**
 * A range as it is stored and shown, such as 203.0.113.7/32 or 2001:db8::/32; null if the text is not a range. The
 * address of a longer network is accepted only if all bits behind the prefix are 0: `10.1.2.3/8` may mean either.
 */
export function canonicalCidr(text: string): string | null {
  const cidr = parse(text)
  return cidr && networkOf(cidr).value === cidr.value ? textOf(cidr) : null
}

/** The network that an address with a prefix is in, for messages; null if the text is not such an address. */
export function networkAround(text: string): string | null {
  const cidr = parse(text)
  return cidr && textOf(networkOf(cidr))
}

/** True if an address, or a whole range, is in one of these ranges. Ranges of IPv6 hold no IPv4, not even ::/0. */
export function isWithin(addressOrCidr: string, cidrs: readonly string[]): boolean {
  // Link-local addresses of callers name the interface too.
  const inner = parse(addressOrCidr.replace(/%.*$/, ''))
  return inner !== null && cidrs.some((cidr) => covers(parse(cidr), inner))
}

export function overlap(one: string, other: string): boolean {
  return isWithin(one, [other]) || isWithin(other, [one])
}

/** The addresses of a range, each by its place in it. */
export interface AddressRange {
  prefix: number
  size: bigint
  at: (place: bigint) => string
  /** Returns null for an address of the other family, and a negative place for one before the range. */
  placeOf: (address: string) => bigint | null
}

/** @throws Error if the text is not a range, which its writer has to check */
export function rangeOf(cidr: string): AddressRange {
  const parsed = parse(cidr)
  if (!parsed) throw new Error(`${cidr} is not a range of addresses`)
  const { bits, prefix, value: first } = networkOf(parsed)
  return {
    prefix,
    size: 1n << BigInt(bits - prefix),
    at: (place) => addressText(bits, first + place),
    placeOf: (address) => {
      const own = parse(address)
      return own?.bits === bits ? own.value - first : null
    },
  }
}

/** The reverse DNS name of an address. @throws Error as rangeOf does */
export function reverseName(address: string): string {
  const parsed = parse(address)
  if (!parsed) throw new Error(`${address} is not an address`)
  const { bits, value } = parsed
  const [digits, radix] = bits === 32 ? [4, 8] : [32, 4]
  const labels = Array.from({ length: digits }, (_, at) =>
    ((value >> BigInt(at * radix)) & BigInt(2 ** radix - 1)).toString(bits === 32 ? 10 : 16),
  )
  return `${labels.join('.')}.${bits === 32 ? 'in-addr' : 'ip6'}.arpa.`
}

/** Removes ranges that are contained in others, so that the rest covers the same addresses without overlap. */
export function widest(cidrs: readonly string[]): string[] {
  const all = [...new Set(cidrs)].map((text) => ({ text, cidr: parse(text) }))
  const present = new Set(all.flatMap(({ cidr }) => (cidr ? keyOf(cidr, cidr.prefix) : [])))
  const prefixes = [...new Set(all.flatMap(({ cidr }) => cidr?.prefix ?? []))]
  // Each range is looked up instead of compared with all others, since customers choose their number.
  const isInside = (cidr: Cidr) =>
    prefixes.some((prefix) => prefix < cidr.prefix && present.has(keyOf(cidr, prefix)))
  return all.filter(({ cidr }) => !cidr || !isInside(cidr)).map(({ text }) => text)
}

/** The network with this prefix that a range is in. */
function keyOf({ bits, value }: Cidr, prefix: number): string {
  return `${bits} ${prefix} ${value >> BigInt(bits - prefix)}`
}

function covers(outer: Cidr | null, inner: Cidr): boolean {
  if (outer?.bits !== inner.bits || outer.prefix > inner.prefix) return false
  const rest = BigInt(outer.bits - outer.prefix)
  return outer.value >> rest === inner.value >> rest
}

function networkOf({ bits, value, prefix }: Cidr): Cidr {
  const rest = BigInt(bits - prefix)
  return { bits, prefix, value: (value >> rest) << rest }
}

/** Without a prefix it is one address. */
function parse(text: string): Cidr | null {
  const [, address = '', length] = /^([\da-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/i.exec(text) ?? []
  const version = isIP(address)
  if (version === 0) return null
  const longest = version === 4 ? 32 : 128
  const prefix = Number(length ?? longest)
  if (prefix > longest) return null
  if (version === 4) return { bits: 32, value: valueOfV4(address), prefix }
  const value = valueOfV6(address)
  const isMapped = value >> 32n === 0xffffn && prefix >= 96
  return isMapped
    ? { bits: 32, value: value & 0xffffffffn, prefix: prefix - 96 }
    : { bits: 128, value, prefix }
}

function valueOfV4(address: string): bigint {
  return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
}

function valueOfV6(address: string): bigint {
  const hex = address.replace(/\d+\.[\d.]+$/, (tail) => {
    const value = valueOfV4(tail)
    return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
  })
  const [head = [], tail = []] = hex.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const hidden = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...hidden, ...tail].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
}

function textOf({ bits, value, prefix }: Cidr): string {
  return `${addressText(bits, value)}/${prefix}`
}

function addressText(bits: Cidr['bits'], value: bigint): string {
  const size = bits === 32 ? 8 : 16
  const parts = Array.from({ length: bits / size }, (_, at) =>
    ((value >> BigInt(bits - (at + 1) * size)) & BigInt(2 ** size - 1)).toString(bits === 32 ? 10 : 16),
  )
  return bits === 32
    ? parts.join('.')
    : new SocketAddress({ address: parts.join(':'), family: 'ipv6' }).address
}
