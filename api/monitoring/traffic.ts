import { sql } from 'kysely'
import type { Lent, Queries } from '../database/database.ts'
import type { Reading } from './reading.ts'
import type { TrafficTable } from './tables.ts'

/** Returns a server's traffic since it was last recorded; null: unknown. */
export function trafficSince(
  previous: Reading | null,
  { at, totals }: Reading,
): Pick<TrafficTable, 'month' | 'in_bytes' | 'out_bytes'> | null {
  // Traffic in a reading of an earlier version was not recorded, and its months are unknown.
  const before = previous && (previous.written ?? previous.totals)
  const grown = (name: 'networkRxBytes' | 'networkTxBytes') =>
    Math.max(0, (totals[name] ?? 0) - (before?.[name] ?? 0))
  const [in_bytes, out_bytes] = [grown('networkRxBytes'), grown('networkTxBytes')]
  return in_bytes + out_bytes === 0 ? null : { month: monthOf(at), in_bytes, out_bytes }
}

export function addTraffic(tx: Queries, rows: readonly TrafficTable[]) {
  return tx
    .insertInto('traffic')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['server_id', 'month']).doUpdateSet((eb) => ({
        in_bytes: eb('traffic.in_bytes', '+', eb.ref('excluded.in_bytes')),
        out_bytes: eb('traffic.out_bytes', '+', eb.ref('excluded.out_bytes')),
      })),
    )
    .execute()
}

/**
 * Returns the bytes that these servers sent in each calendar month that began at a moment or later, by the month's
 * start.
 */
export async function sentSince(db: Queries, serverIds: readonly string[], moment: number) {
  const sent = new Map<string, Map<number, number>>()
  const rows = await db
    .selectFrom('traffic')
    .select(['server_id', 'month', 'out_bytes'])
    .where('server_id', 'in', serverIds)
    .where('month', '>=', moment)
    .execute()
  for (const { server_id, month, out_bytes } of rows)
    sent.set(server_id, (sent.get(server_id) ?? new Map<number, number>()).set(month, out_bytes))
  return sent
}

/** The traffic of one server in a calendar month. @param month any moment of it */
export async function serverTraffic(db: Queries, serverId: string, month: number) {
  const row = await db
    .selectFrom('traffic')
    .select(['in_bytes', 'out_bytes'])
    .where('server_id', '=', serverId)
    .where('month', '=', monthOf(month))
    .executeTakeFirst()
  return row ?? { in_bytes: 0, out_bytes: 0 }
}

/**
 * The traffic of those of an account's servers that sent the most in a calendar month.
 * @param which `month`: any moment of it
 */
export async function trafficOf(
  db: Queries,
  servers: Lent<{ server_id: string; account_id: string; name: string }>,
  { accountId, month, limit }: { accountId: string; month: number; limit: number },
) {
  const rows = await db
    .selectFrom('traffic')
    .innerJoin(servers(db).as('named'), 'named.server_id', 'traffic.server_id')
    .select(['named.server_id', 'in_bytes', 'out_bytes'])
    .select(
      // A server that moved has a name given by its new owner.
      sql<string>`CASE WHEN named.account_id = traffic.account_id THEN named.name ELSE named.server_id END`.as(
        'server_name',
      ),
    )
    .where('traffic.account_id', '=', accountId)
    .where('month', '=', monthOf(month))
    .orderBy('out_bytes', 'desc')
    .orderBy('named.server_id')
    .limit(limit)
    .execute()
  return rows.sort((a, b) => (a.server_id < b.server_id ? -1 : 1))
}

/** Gives the traffic of a server in the calendar month of a moment to another account. */
export async function moveTraffic(
  tx: Queries,
  serverId: string,
  accountId: string,
  now: number,
): Promise<void> {
  await tx
    .updateTable('traffic')
    .set({ account_id: accountId })
    .where('server_id', '=', serverId)
    .where('month', '=', monthOf(now))
    .execute()
}

/** The start of a moment's calendar month, in UTC. */
function monthOf(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}

/** Deletes the traffic of months that began before a moment. @returns the number of rows deleted */
export async function forgetTraffic(db: Queries, before: number, limit: number): Promise<number> {
  const old = db.selectFrom('traffic').select(['server_id', 'month']).where('month', '<', before).limit(limit)
  const rows = await old.execute()
  for (const { server_id, month } of rows)
    await db.deleteFrom('traffic').where('server_id', '=', server_id).where('month', '=', month).execute()
  return rows.length
}
