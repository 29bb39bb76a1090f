import type { Database } from '../database/database.ts'
import { lastPosition } from './store.ts'
import type { EventTable } from './tables.ts'
import type { EventType } from './types.ts'

const EVENTS_AT_ONCE = 5_000

type Followed = Pick<EventTable, 'account_id' | 'type' | 'data' | 'created_at'>

/**
 * Follows the events of some types, of all accounts. The position is remembered as long as the process lives: an event
 * may be shown again after its end.
 * @returns a function that shows the next ones, and returns true while there are more
 */
export function eventFollower(
  types: readonly EventType[],
  show: (db: Database, event: Followed) => Promise<void>,
): (db: Database) => Promise<boolean> {
  let position: number | null = null
  return async (db) => {
    position ??= await beginning(db)
    const newest = await lastPosition(db)
    const last = Math.min(position + EVENTS_AT_ONCE, newest)
    const events = await db
      .selectFrom('events')
      .select(['account_id', 'type', 'data', 'created_at'])
      .where('position', '>', position)
      .where('position', '<=', last)
      .where('type', 'in', types)
      .execute()
    for (const event of events) await show(db, event)
    position = last
    return last < newest
  }
}

/** The position before the first event that is kept. */
async function beginning(db: Database): Promise<number> {
  const numbered = db.selectFrom('events').select('position').where('position', 'is not', null)
  const first = await numbered.orderBy('position').limit(1).executeTakeFirst()
  return Number(first?.position ?? 1) - 1
}
