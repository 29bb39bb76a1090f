import { isIP } from 'node:net'
import type { Addresses } from './addresses.ts'

/** Names of private networks, of one machine, or of no network (RFC 6761, 6762, 8375; ICANN's reserved ones). */
const PRIVATE_DOMAINS = [
  'arpa',
  'corp',
  'home',
  'internal',
  'intranet',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
]
/** Names of clouds' metadata services; *.internal is in the other list. */
const METADATA_NAMES = ['metadata.packet.net', 'metadata.platformequinix.com', 'metadata.tencentyun.com']
/**
 * Below 1024, only the ports of HTTP are allowed; above it, all but ports of line-based protocols, and those that
 * browsers refuse.
 */
const HTTP_PORTS = [80, 443]
const FIRST_FREE_PORT = 1024
const FOREIGN_PORTS = [
  1433, 1521, 1719, 1720, 1723, 2049, 2375, 2379, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 5900,
  6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9100, 10080, 11211, 27017,
]

/** Describes the fault of an endpoint's URL, to follow the name of its field; null if there is none. */
export function flawOf(url: string, addresses: Addresses): string | null {
  if (!URL.canParse(url)) return 'must be an address such as https://example.com/hooks.'
  // The parser has normalized disguised hosts: other digits, other forms of numbers, percent signs.
  const { username, password, hostname, port } = new URL(url)
  if (username !== '' || password !== '') return 'must not contain a user name or password.'
  if (isForeign(Number(port || HTTP_PORTS[0])))
    return `must not use port ${port}, which is not used for HTTP.`
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host))
    return addresses.isOpen(host) ? null : `must be on the public internet; the address ${host} is not.`
  // A name's addresses are checked each time that something is sent.
  return flawOfName(host, addresses)
}

function flawOfName(name: string, addresses: Addresses): string | null {
  if (name.endsWith('.')) return 'must have a host name that does not end in a dot.'
  // Networks that the operator opens may have such names.
  if (addresses.hasRanges) return null
  const isMetadata = METADATA_NAMES.includes(name)
  const isPrivate = !name.includes('.') || PRIVATE_DOMAINS.includes(name.slice(name.lastIndexOf('.') + 1))
  return isMetadata || isPrivate ? `must be on the public internet; the name ${name} is not.` : null
}

function isForeign(port: number): boolean {
  return port < FIRST_FREE_PORT ? !HTTP_PORTS.includes(port) : FOREIGN_PORTS.includes(port)
}
