import { sql } from 'kysely'
import { type Database, isSqlite, type Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { countOf, type Page } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { BEGINNING, type EventType, type NumberedEvent } from './types.ts'

/** Positions given in one transaction. */
export const BATCH = 500

/**
 * Gives committed events their positions. Only one transaction at a time does so, on any number of processes, so that
 * a reader of a position sees all earlier ones as well.
 * @param publish further work for these events, in the same transaction
 * @returns the events, at most some hundred
 */
export async function numberEvents(
  db: Database,
  publish: (tx: Queries, events: readonly NumberedEvent[]) => Promise<void>,
): Promise<NumberedEvent[]> {
  // Mostly there is nothing to do, and finding that out needs no lock.
  if (!(await hasUnnumbered(db))) return []
  // Ids cannot give the order: they come from clocks, which differ between processes and may be set back.
  const order = isSqlite(db) ? sql`rowid` : sql`recorded, event_id`
  return db.transaction().execute(async (tx) => {
    const { position: last } = await tx
      .selectFrom('event_relay')
      .select('position')
      .forUpdate()
      .executeTakeFirstOrThrow()
    const { rows } = await sql<NumberedEvent>`
      UPDATE events SET position = CAST(${last} AS bigint) + numbered.rank
      FROM (SELECT event_id AS id, row_number() OVER (ORDER BY ${order}) AS rank FROM events
        WHERE position IS NULL ORDER BY ${order} LIMIT ${BATCH}) AS numbered
      WHERE event_id = numbered.id RETURNING event_id, account_id, type, data, created_at, position`.execute(
      tx,
    )
    if (rows.length === 0) return []
    const events = rows.sort((a, b) => a.position - b.position)
    await tx
      .updateTable('event_relay')
      .set({ position: last + events.length })
      .execute()
    await publish(tx, events)
    return events
  })
}

async function hasUnnumbered(db: Queries): Promise<boolean> {
  return (await unnumbered.first(db, {})) !== undefined
}

const unnumbered = prepared((db) =>
  db.selectFrom('events').select('event_id').where('position', 'is', null).limit(1),
)

export async function lastPosition(db: Queries): Promise<number> {
  return (await db.selectFrom('event_relay').select('position').executeTakeFirstOrThrow()).position
}

/** The position after which a reader of this event continues; undefined if the account has no such event. */
export async function positionOf(
  db: Queries,
  accountId: string,
  eventId: string,
): Promise<number | undefined> {
  if (eventId === BEGINNING) return 0
  const row = await db
    .selectFrom('events')
    .select('position')
    .where('event_id', '=', eventId)
    .where('account_id', '=', accountId)
    .where('position', 'is not', null)
    .executeTakeFirst()
  return row?.position ?? undefined
}

/** The event after which a reader at this position continues: the account's last one up to it. */
export async function lastEventId(db: Queries, accountId: string, position: number): Promise<string> {
  const row = await db
    .selectFrom('events')
    .select('event_id')
    .where('account_id', '=', accountId)
    .where('position', '<=', position)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.event_id ?? BEGINNING
}

interface Reader {
  accountId: string
  types: readonly EventType[]
  /** The position of the last event that was seen. */
  after: number
  /** The order of the list (default: oldest first). */
  order?: 'asc' | 'desc'
}

/** A position behind all events, where a reader of the newest begins. */
export const END = Number.MAX_SAFE_INTEGER

/** Lists the events that a reader has not seen, in their order. */
export async function eventsAfter(db: Queries, reader: Reader, page: Page): Promise<NumberedEvent[]> {
  if (reader.types.length === 0) return []
  const rows = await unseen(db, reader)
    .selectAll()
    .orderBy('position', reader.order ?? 'asc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  // Events that `unseen` selects have a position and a requested type.
  return rows as NumberedEvent[]
}

export function countAfter(db: Queries, reader: Reader): Promise<number> {
  return countOf(unseen(db, reader))
}

function unseen(db: Queries, { accountId, types, after, order }: Reader) {
  return db
    .selectFrom('events')
    .where('account_id', '=', accountId)
    .where('position', order === 'desc' ? '<' : '>', after)
    .where('type', 'in', types)
}

/** The accounts with events after a position. */
export async function accountsAfter(db: Queries, position: number): Promise<string[]> {
  const rows = await db
    .selectFrom('events')
    .select('account_id')
    .distinct()
    .where('position', '>', position)
    .execute()
  return rows.map((row) => row.account_id)
}

/** Deletes some of the events from before a moment. @returns the number deleted */
export async function forgetEvents(db: Database, before: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('events')
    .select('event_id')
    .where('created_at', '<', before)
    // An event that nobody could read yet is not old.
    .where('position', 'is not', null)
    .limit(limit)
  return deleteFound(db, 'events', 'event_id', old)
}
