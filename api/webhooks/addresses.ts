import { BlockList, isIP } from 'node:net'

/** A range of addresses that the operator opens. */
export interface Range {
  address: string
  prefix: number
  family: 'ipv4' | 'ipv6'
}

/** What of IPv4 is not the public internet (IANA's special-purpose registry, and multicast). */
const CLOSED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
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
/** Of IPv6 only this is public, but for what leads into other networks, or nowhere. */
const OPEN_V6 = ['2000::/3']
const CLOSED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

/** To which addresses webhooks may go. */
export class Addresses {
  readonly #allowed: BlockList
  readonly #closed = blockList([...CLOSED_V4, ...CLOSED_V6].map(rangeOf))
  readonly #openV6 = blockList(OPEN_V6.map(rangeOf))

  /** @param allowed what the operator opens besides the public internet */
  constructor(allowed: readonly Range[]) {
    this.#allowed = blockList(allowed)
  }

  /** IPv4 addresses that are written as IPv6 are those, and closed unless the operator opens them. */
  isOpen(address: string): boolean {
    const version = isIP(address)
    if (version === 0) return false
    const family = version === 4 ? 'ipv4' : 'ipv6'
    if (this.#allowed.check(address, family)) return true
    if (this.#closed.check(address, family)) return false
    return version === 4 || this.#openV6.check(address, family)
  }
}

function blockList(ranges: readonly Range[]): BlockList {
  const list = new BlockList()
  for (const { address, prefix, family } of ranges) list.addSubnet(address, prefix, family)
  return list
}

function rangeOf(text: string): Range {
  const [address = '', prefix = ''] = text.split('/')
  return { address, prefix: Number(prefix), family: isIP(address) === 4 ? 'ipv4' : 'ipv6' }
}
