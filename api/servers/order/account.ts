import { requireLoad } from '../../accounts/accounts.ts'
import { countInProject } from '../../accounts/projects.ts'
import type { Capacity } from '../../catalog/capacity.ts'
import type { Plan } from '../../catalog/plans.ts'
import { requireCover } from '../cover.ts'
import { parts } from '../room.ts'
import type { OrderPart } from './part.ts'

/** The quotas of servers, cores, memory and disk. */
export function quotaPart({ size }: Plan): OrderPart {
  return {
    take: async (_tx, { facts }) => {
      requireLoad(facts.account, { servers: 1, ...parts(size) })
      return {}
    },
  }
}

/** The balance that must cover the order. @param priceHour units an hour, with all parts */
export function coverPart(priceHour: number): OrderPart {
  return {
    take: async (tx, { server, facts }) => {
      await requireCover(tx, server.account_id, priceHour, facts.sums)
      return {}
    },
  }
}

/** The room in the pool. */
export function capacityPart({ capacity }: { capacity: Capacity }, plan: Plan): OrderPart {
  const size = parts(plan.size)
  return {
    take: async (tx, { server, facts, reserve }) => {
      // An order that is bound to fail must not write the following parts.
      const full = await capacity.lack(tx, server, size, facts.used)
      if (full) throw full
      reserve(server, size)
      return {}
    },
  }
}

/** The count of servers in the project. */
export const projectPart: OrderPart = {
  take: async (tx, { server }) => {
    await countInProject(tx, server.account_id, server.project_id, 1)
    return {}
  },
}
