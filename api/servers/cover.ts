import { coverOf, fundsIn, requireFunds } from '../billing/ledger.ts'
import { hourlyCost } from '../billing/rates.ts'
import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { findActiveOf } from '../operations/operations.ts'
import { dataIf, SERVER_SUBJECT } from './operations.ts'
import { SUSPENDED } from './states.ts'
import { isSuspended, orderedSums, resizingServers } from './store.ts'

/** The hourly cost of everything that an account has ordered, and the money that it can spend, in units. */
interface Ordered {
  cost: number
  funds: number
}

export interface Sums extends Ordered {
  /** True if servers are being resized, whose growth must be added to the cost. */
  isResizing: boolean
}

/**
 * The hourly cost of an account once everything that it has ordered exists: billed and suspended servers, those being
 * created or started, and the growth of resizes. Lock the account's row first, so that two orders never both read it.
 * @returns units
 */
export async function costOrdered(tx: Queries, accountId: string): Promise<number> {
  return (await ordered(tx, accountId)).cost
}

async function ordered(tx: Queries, accountId: string, known?: Sums): Promise<Ordered> {
  const sums = known ?? (await sumsOf(tx, accountId))
  if (!sums.isResizing) return sums
  // This is read before the sums, so that a resize that ends in between is counted twice rather than not at all.
  const growth = await growthOrdered(tx, accountId)
  const { cost, funds } = await sumsOf(tx, accountId)
  return { cost: cost + growth, funds }
}

async function sumsOf(tx: Queries, accountId: string): Promise<Sums> {
  const row = await sums.first(tx, { accountId })
  if (!row) throw new Error('sums always have a row')
  return readSums(row)
}

const sums = prepared((db, { accountId }: { accountId: string }) => sumsIn(db, accountId))

/** Queries the row for readSums. With two statements, a create that ends in between could be missing from both sums. */
export function sumsIn(db: Queries, accountId: string) {
  return orderedSums(db, accountId).select([
    hourlyCost(db, accountId).as('billed'),
    fundsIn(db, accountId).as('funds'),
  ])
}

type SumsRow = Awaited<ReturnType<ReturnType<typeof sumsIn>['executeTakeFirstOrThrow']>>

/** Converts the row of sumsIn to numbers, in units. */
export function readSums({ billed, unbilled, resizing, funds }: SumsRow): Sums {
  // PostgreSQL sums bigints to numeric, which its driver hands over as text; no rows are null.
  const cost = Number(billed ?? 0) + Number(unbilled ?? 0)
  return { cost, funds: funds ?? 0, isResizing: resizing > 0 }
}

/**
 * Checks that what the account can spend covers everything that it has ordered, and the addition. The account's row must be
 * locked.
 * @param added units an hour
 * @param known its sums, if they were read since it was locked
 * @throws ApiError insufficient_balance
 */
export async function requireCover(
  tx: Queries,
  accountId: string,
  added: number,
  known?: Sums,
): Promise<void> {
  const { cost, funds } = await ordered(tx, accountId, known)
  requireFunds(funds, cost + added)
}

/**
 * The amount that an account must pay before its suspended servers resume. It must cover them like an order:
 * otherwise a small top-up would start machines that soon stop again.
 * @returns units; 0 if they are about to resume, null if there are none
 */
export async function missingToResume(db: Queries, accountId: string): Promise<number | null> {
  if (!(await isSuspended(db, accountId, SUSPENDED))) return null
  const { cost, funds } = await ordered(db, accountId)
  return Math.max(0, coverOf(cost) - funds)
}

async function growthOrdered(tx: Queries, accountId: string): Promise<number> {
  const servers = await resizingServers(tx, accountId).select(['server_id', 'price_hour']).execute()
  const ids = servers.map((server) => server.server_id)
  const active = await findActiveOf(tx, SERVER_SUBJECT, ids)
  return servers.reduce((sum, { server_id, price_hour }) => {
    const resize = dataIf('resize', active.get(server_id))
    return sum + Math.max(0, (resize?.plan.priceHour ?? 0) - price_hour)
  }, 0)
}
