import { type AddressRange, canonicalCidr, isWithin, networkAround, rangeOf } from '../cidrs.ts'
import { RANGE4 } from '../drivers/addresses.ts'

/** Ranges for private use (RFC 1918). */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16']
const PREFIX = { shortest: 16, longest: 29 }

/** The mistake in a range for a private network, as a sentence; null if there is none. */
export function rangeMistake(range: string): string | null {
  const prefix = Number(range.split('/')[1])
  if (!(prefix >= PREFIX.shortest && prefix <= PREFIX.longest))
    return `ip_range must end in a prefix from /${PREFIX.shortest} to /${PREFIX.longest}, such as 10.1.0.0/24.`
  const whole = networkAround(range)
  if (!whole?.includes('.')) return 'ip_range must be a range of IPv4 addresses, such as 10.1.0.0/24.'
  if (canonicalCidr(range) !== range)
    return `ip_range must begin with the first address of its range: ${whole}.`
  if (!isWithin(range, PRIVATE)) return `ip_range must be in a private range: ${PRIVATE.join(', ')}.`
  if (isWithin(range, [RANGE4])) return `ip_range must not overlap ${RANGE4}, which is reserved for servers.`
  return null
}

export function prefixLengthOf(range: string): number {
  return Number(range.split('/')[1])
}

/** Servers get neither the first two addresses, which are for the network and a gateway, nor the last. */
const FIRST_HOST = 2n
const lastHost = ({ size }: AddressRange) => size - 2n

export function isHost(range: string, address: string): boolean {
  const addresses = rangeOf(range)
  const place = addresses.placeOf(address)
  return place !== null && place >= FIRST_HOST && place <= lastHost(addresses)
}

/** Returns the first address that no server has; null if all are taken. */
export function freeHost(range: string, taken: ReadonlySet<string>): string | null {
  const addresses = rangeOf(range)
  for (let place = FIRST_HOST; place <= lastHost(addresses); place++) {
    const address = addresses.at(place)
    if (!taken.has(address)) return address
  }
  return null
}
