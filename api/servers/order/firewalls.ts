import { addFirewalls, unknownFirewalls } from '../../firewalls/protection.ts'
import { bodyIssue } from '../../http/contract/problem.ts'
import type { Asked, OrderPart } from './part.ts'

/** Firewalls of the server: those of the request, and those that its labels bring. */
export async function firewallsPart({ options, accountId, request }: Asked): Promise<OrderPart> {
  const { firewall_ids: ids = [] } = request
  const unknown = await unknownFirewalls(options.db, accountId, ids)
  return {
    issues: ids.flatMap((id, at) =>
      unknown.has(id) ? [bodyIssue(`firewall_ids.${at}`, 'not_found', `No such firewall: ${id}.`)] : [],
    ),
    add: async (tx, { server, facts }) => {
      if (ids.length > 0 || facts.hasFirewalls) await addFirewalls(tx, options.capacity, server, ids)
    },
  }
}
