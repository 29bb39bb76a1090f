import { countInProject, unknownProject } from '../../accounts/projects.ts'
import type { Capacity } from '../../catalog/capacity.ts'
import type { Plan } from '../../catalog/plans.ts'
import type { Database } from '../../database/database.ts'
import { type ApiError, invalid } from '../../http/contract/problem.ts'
import { requireCover } from '../commitment.ts'
import { parts, reserveQuota } from '../reservation.ts'
import type { OrderPart } from './part.ts'

/** The quotas of servers, cores, memory and disk. */
export function quotaPart({ size }: Plan): OrderPart {
  return {
    take: async (tx, server) => {
      await reserveQuota(tx, server, size, 1)
      return {}
    },
  }
}

/** The balance that must cover the order. @param priceHour units an hour, with all parts */
export function coverPart(priceHour: number): OrderPart {
  return {
    take: async (tx, server) => {
      await requireCover(tx, server.account_id, priceHour)
      return {}
    },
  }
}

/** The room in the pool. */
export function capacityPart({ db, capacity }: { db: Database; capacity: Capacity }, plan: Plan): OrderPart {
  const size = parts(plan.size)
  let full: ApiError | null = null
  return {
    check: async (server) => {
      full = await capacity.lack(db, server, size)
    },
    take: async (_tx, server, reserve) => {
      // An order that is bound to fail must not write the following parts.
      if (full) throw full
      reserve(server, size)
      return {}
    },
  }
}

/** The count of servers in the project. */
export const projectPart: OrderPart = {
  take: async (tx, server) => {
    if (!(await countInProject(tx, server.account_id, server.project_id, 1)))
      throw invalid([unknownProject()])
    return {}
  },
}
