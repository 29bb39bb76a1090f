import { joinAll, networkIssues } from '../../networks/attachments.ts'
import { findNetworks } from '../../networks/networks.ts'
import type { Asked, OrderPart } from './part.ts'

/** The private networks that the server is in from its first start. */
export async function networksPart({ options, accountId, request }: Asked): Promise<OrderPart> {
  const { network_ids: ids = [], zone_slug } = request
  if (ids.length === 0) return {}
  const networks = await findNetworks(options.db, accountId, ids)
  return {
    issues: networkIssues(ids, networks, zone_slug),
    check: (server) => options.capacity.require(server, 'private_networks'),
    take: async (tx, { server }) => ({ networks: await joinAll(tx, server, networks, server.created_at) }),
  }
}
