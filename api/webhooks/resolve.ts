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
  // Each lookup has a new resolver, which costs microseconds, because a resolver reads the system's settings only once.
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
  if (servers) resolver.setServers(servers)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  // A host without addresses of one family, or without a reply for it, is reached at the other family's
  // addresses.
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
  return [
    ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
    ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
  ]
}
