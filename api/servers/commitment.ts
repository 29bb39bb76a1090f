import { balanceIn, coverOf, requireBalance } from '../billing/ledger.ts'
import { hourlyCost } from '../billing/rates.ts'
import type { Queries } from '../database/database.ts'
import { findActiveOf } from '../operations/operations.ts'
import { dataIf, SUBJECT_TYPE } from './operations.ts'
import { SUSPENDED } from './states.ts'
import { isSuspended, resizingServers, unbilledCost } from './store.ts'

/** What an account has ordered, and what it has to pay for it: units an hour, and units. */
interface Ordered {
  cost: number
  balance: number
}

/**
 * What an account pays an hour once all that it has ordered is there: what is billed or suspended, what is being
 * created or started, and what running resizes will add. Two orders at once must not both read it: lock the account's row before.
 * @returns units
 */
export async function costOrdered(tx: Queries, accountId: string): Promise<number> {
  return (await ordered(tx, accountId)).cost
}

async function ordered(tx: Queries, accountId: string): Promise<Ordered> {
  const sums = await sumsOf(tx, accountId)
  if (!sums.isResizing) return sums
  // Before the sums: a resize that ends between the two is counted twice rather than not at all.
  const growth = await growthOrdered(tx, accountId)
  const { cost, balance } = await sumsOf(tx, accountId)
  return { cost: cost + growth, balance }
}

/** One statement, so that a create that ends meanwhile is in one of the sums. */
async function sumsOf(tx: Queries, accountId: string): Promise<Ordered & { isResizing: boolean }> {
  const { billed, unbilled, resizing, balance } = await tx
    .selectNoFrom([
      hourlyCost(tx, accountId).as('billed'),
      unbilledCost(tx, accountId).as('unbilled'),
      resizingServers(tx, accountId)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .as('resizing'),
      balanceIn(tx, accountId).as('balance'),
    ])
    .executeTakeFirstOrThrow()
  // PostgreSQL sums bigints to numeric, which its driver hands over as text; no rows are null.
  const cost = Number(billed) + Number(unbilled)
  return { cost, balance: balance ?? 0, isResizing: Number(resizing) > 0 }
}

/**
 * The balance must cover all that the account has ordered, and what comes to it. The account's row is locked.
 * @param added units an hour
 * @throws ApiError insufficient_balance
 */
export async function requireCover(tx: Queries, accountId: string, added: number): Promise<void> {
  const { cost, balance } = await ordered(tx, accountId)
  requireBalance(balance, cost + added)
}

/**
 * What is missing until servers resume that are suspended as the balance was used up: it must cover what an order
 * needs, so that a ruble an hour does not keep machines starting and stopping.
 * @returns units; 0 if they are about to resume, null if there are none
 */
export async function missingToResume(db: Queries, accountId: string): Promise<number | null> {
  if (!(await isSuspended(db, accountId, SUSPENDED))) return null
  const { cost, balance } = await ordered(db, accountId)
  return Math.max(0, coverOf(cost) - balance)
}

async function growthOrdered(tx: Queries, accountId: string): Promise<number> {
  const servers = await resizingServers(tx, accountId).select(['server_id', 'price_hour']).execute()
  const ids = servers.map((server) => server.server_id)
  const active = await findActiveOf(tx, SUBJECT_TYPE, ids)
  return servers.reduce((sum, { server_id, price_hour }) => {
    const resize = dataIf('resize', active.get(server_id))
    return sum + Math.max(0, (resize?.plan.priceHour ?? 0) - price_hour)
  }, 0)
}
