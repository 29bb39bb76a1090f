import { sql } from 'kysely'
import type { Lent, Queries } from '../database/database.ts'
import { monthStart } from './accrual.ts'

/** The charges for one item in a month, while it was in one project. */
export interface UsageRow {
  server_id: string
  server_name: string
  project_id: string
  seconds: number
  /** Units, above zero; that of traffic is in the amount too. */
  amount: number
  traffic_amount: number
}

/**
 * The charges of an account for the hours of a calendar month, by server and project: sums of the ledger's own
 * entries, so that the two can't differ.
 * @param month any moment of it
 */
export async function usageOf(
  db: Queries,
  servers: Lent<{ server_id: string; name: string }>,
  accountId: string,
  month: number,
): Promise<UsageRow[]> {
  const rows = await db
    .selectFrom('transactions')
    .innerJoin(servers(db).as('servers'), 'servers.server_id', 'transactions.server_id')
    .select(({ fn }) => [
      'servers.server_id',
      'servers.name as server_name',
      // A charge has its project: the database sees to that.
      sql<string>`transactions.project_id`.as('project_id'),
      // The time of a charge for traffic is charged by itself.
      sql<string | number>`sum(CASE WHEN bytes IS NULL THEN seconds ELSE 0 END)`.as('seconds'),
      sql<string | number>`sum(CASE WHEN bytes IS NULL THEN 0 ELSE amount END)`.as('traffic_amount'),
      fn.sum<string | number>('transactions.amount').as('amount'),
    ])
    .where('transactions.account_id', '=', accountId)
    .where('transactions.hour', '>=', monthStart(month))
    .where('transactions.hour', '<', monthStart(month, 1))
    .groupBy(['servers.server_id', 'servers.name', 'transactions.project_id'])
    .orderBy('servers.server_id')
    .orderBy('transactions.project_id')
    .execute()
  // PostgreSQL sums bigints to numeric, which its driver hands over as text.
  return rows.map(({ seconds, amount, traffic_amount, ...row }) => ({
    ...row,
    seconds: Number(seconds),
    amount: 0 - Number(amount),
    traffic_amount: 0 - Number(traffic_amount),
  }))
}
