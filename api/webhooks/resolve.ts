import { Resolver } from 'node:dns/promises'
import type { Lookup } from './send.ts'

const TIMEOUT_MS = 3_000
/** Names that lead to the host itself everywhere (RFC 6761). */
const LOCALHOST = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Resolves a name by DNS. The system's own lookup would also read the hosts file, which is the operator's and not the
 * customers'. It would also block one of the few threads that files need: four slow name servers would stop them all.
 * @param servers the name servers (default: the system's)
 * @throws Error with DNS's code if the name has no address
 */
export async function lookupName(
  name: string,
  servers?: readonly string[],
): Promise<Awaited<ReturnType<Lookup>>> {
  if (/(^|\.)localhost\.?$/i.test(name)) return LOCALHOST
  // One for each, which costs microseconds: it reads the system's settings once, and they change.
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
  if (servers) resolver.setServers(servers)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  // One that has no addresses of a family, or does not say, is called by those of the other.
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
  return [
    ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
    ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
  ]
}
