import { hourlyCost } from '../billing/rates.ts'
import type { Queries } from '../database/database.ts'
import { findActiveOf } from '../operations/operations.ts'
import { dataIf, SUBJECT_TYPE } from './lifecycle/operations.ts'
import { resizingServers, unbilledCost } from './store.ts'

/**
 * What an account pays an hour once all that it has ordered is there: what is billed, what is being created or
 * started, and what running resizes will add. Two orders at once must not both read it: lock the account's row before.
 * @returns units
 */
export async function costOrdered(tx: Queries, accountId: string): Promise<number> {
  // First: a resize that ends between the two is counted twice rather than not at all.
  const growth = await growthOrdered(tx, accountId)
  // One statement, so that a create that ends meanwhile is in one of the sums.
  const { billed, unbilled } = await tx
    .selectNoFrom([hourlyCost(tx, accountId).as('billed'), unbilledCost(tx, accountId).as('unbilled')])
    .executeTakeFirstOrThrow()
  // PostgreSQL sums bigints to numeric, which its driver hands over as text; no rows are null.
  return Number(billed) + Number(unbilled) + growth
}

async function growthOrdered(tx: Queries, accountId: string): Promise<number> {
  const servers = await resizingServers(tx, accountId)
  const ids = servers.map((server) => server.server_id)
  const active = await findActiveOf(tx, SUBJECT_TYPE, ids)
  return servers.reduce((sum, { server_id, price_hour }) => {
    const resize = dataIf('resize', active.get(server_id))
    return sum + Math.max(0, (resize?.plan.priceHour ?? 0) - price_hour)
  }, 0)
}
