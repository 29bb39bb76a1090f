import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** A range of addresses that the operator opens. */
export interface Range {
  address: string
  prefix: number
  family: 'ipv4' | 'ipv6'
}

/**
 * Ranges of IPv4 outside of the public internet (IANA's special-purpose registry, multicast, and Azure's own
 * service).
 */
const CLOSED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** The only public range of IPv6, apart from parts that lead into other networks, or nowhere. */
const OPEN_V6 = ['2000::/3']
const CLOSED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

/** IPv4 addresses in IPv6 notation, to which connections use IPv4. */
const MAPPED_V4 = ['::ffff:0:0/96']

/** Decides which addresses webhooks may be sent to. */
export class Addresses {
  readonly #allowedV4: BlockList
  readonly #allowedV6: BlockList
  readonly #own: () => readonly string[]
  /** True if the operator has allowed any ranges. */
  readonly hasRanges: boolean
  readonly #closed = blockList([...CLOSED_V4, ...CLOSED_V6].map(rangeOf))
  readonly #openV6 = blockList(OPEN_V6.map(rangeOf))
  readonly #mappedV4 = blockList(MAPPED_V4.map(rangeOf))

  /**
   * @param allowed the ranges that the operator opens besides the public internet
   * @param own the addresses of this machine, including public ones, whose services may trust local connections
   */
  constructor(allowed: readonly Range[], own: () => readonly string[] = interfaceAddresses) {
    this.#allowedV4 = blockList(allowed.filter(({ family }) => family === 'ipv4'))
    this.#allowedV6 = blockList(allowed.filter(({ family }) => family === 'ipv6'))
    this.hasRanges = allowed.length > 0
    this.#own = own
  }

  /** IPv4 addresses in IPv6 notation count as IPv4: only ranges of IPv4 open them. */
  isOpen(address: string): boolean {
    const version = isIP(address)
    if (version === 0) return false
    const family = familyOf(address)
    const isV4 = version === 4 || this.#mappedV4.check(address, 'ipv6')
    if ((isV4 ? this.#allowedV4 : this.#allowedV6).check(address, family)) return true
    if (this.#closed.check(address, family)) return false
    // They are read each time, because they come and go.
    if (addressList(this.#own()).check(address, family)) return false
    return version === 4 || this.#openV6.check(address, family)
  }
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address))
}

function familyOf(address: string): Range['family'] {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}

function addressList(addresses: readonly string[]): BlockList {
  const list = new BlockList()
  for (const address of addresses) list.addAddress(address, familyOf(address))
  return list
}

function blockList(ranges: readonly Range[]): BlockList {
  const list = new BlockList()
  for (const { address, prefix, family } of ranges) list.addSubnet(address, prefix, family)
  return list
}

function rangeOf(text: string): Range {
  const [address = '', prefix = ''] = text.split('/')
  return { address, prefix: Number(prefix), family: familyOf(address) }
}
