import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'

/** The number of events that an account keeps. */
export const KEPT_EVENTS = 30_000

/** The position of an account's newest excess event; null if it has none. */
export async function excessPosition(db: Queries, accountId: string, most: number): Promise<number | null> {
  const row = await db
    .selectFrom('events')
    .select('position')
    .where('account_id', '=', accountId)
    .where('position', 'is not', null)
    .orderBy('position', 'desc')
    .limit(1)
    .offset(most)
    .executeTakeFirst()
  return row?.position ?? null
}

/** Deletes some of an account's events beyond the newest. @returns the number deleted */
export async function forgetExcessEvents(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const position = await excessPosition(db, accountId, most)
  if (position === null) return 0
  const old = db
    .selectFrom('events')
    .select('event_id')
    .where('account_id', '=', accountId)
    .where('position', '<=', position)
    .limit(limit)
  return deleteFound(db, 'events', 'event_id', old)
}
