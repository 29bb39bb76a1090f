import type { GuestAddress } from './driver.ts'
import type { OwnAddresses } from './module.ts'

/** The highest number of a machine. 10.64.0.0/12 is divided by four; the first four addresses are the network's own. */
export const MOST_NUMBERS = 2 ** 18 - 1

/** The ranges of addressesOf. They are not visible outside of a pool's network. */
export const RANGE4 = '10.64.0.0/12'
export const RANGE6 = 'fd62:6572:7400::/40'

/** The DNS resolver of all guests. */
export const RESOLVER = '10.64.0.1'

/** The addresses of a machine, each with its gateway. */
export function addressesOf(number: number): { ipv4: GuestAddress; ipv6: GuestAddress } {
  const first = (10 << 24) + (64 << 16) + number * 4
  const prefix = `fd62:6572:74${hex(number >> 16).padStart(2, '0')}:${hex(number & 0xffff)}`
  return {
    ipv4: { address: dotted(first + 2), prefixLength: 30, gateway: dotted(first + 1) },
    ipv6: { address: `${prefix}::2`, prefixLength: 64, gateway: 'fe80::1' },
  }
}

/** The addresses that a guest on this host is configured with. */
export function ownAddresses(number: number): OwnAddresses {
  return { ...addressesOf(number), resolvers: [RESOLVER] }
}

/** The prefix of all IPv6 addresses that a machine may have, as the kernel prints it. */
export function prefixOf(number: number): string {
  return `${addressesOf(number).ipv6.address.replace(/(:0)?::2$/, '')}::/64`
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.')
}

function hex(value: number): string {
  return value.toString(16)
}
