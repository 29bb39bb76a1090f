import { v7 as uuid } from 'uuid'
import { type Queries, send } from '../database/database.ts'
import { prepared, type RowOf } from '../database/prepared.ts'
import { currentOrigin } from '../http/limits/origin.ts'
import { processName } from '../processes/name.ts'
import type { AuditTable, EventTable } from './tables.ts'
import type { EventType } from './types.ts'

export interface Event {
  /** The id of the event (default: a new one). */
  eventId?: string
  accountId: string
  type: EventType
  /** The object as the API shows it, without secrets. */
  data: Record<string, unknown>
  at: number
}

/** Events of transactions in recordTogether, which are written at its end. */
const gathered = new WeakMap<Queries, Event[]>()

/** Runs a part of a transaction that records several events, and writes them in one statement. */
export async function recordTogether<Result>(tx: Queries, run: () => Promise<Result>): Promise<Result> {
  const events: Event[] = []
  gathered.set(tx, events)
  const result = await run().finally(() => gathered.delete(tx))
  await record(tx, events)
  return result
}

/**
 * Records events in the transaction of the change that they report. If a request made the change, it also records an
 * audit entry, once for each request.
 */
export async function record(tx: Queries, events: readonly Event[]): Promise<void> {
  if (events.length === 0) return
  const others = gathered.get(tx)
  if (others) return void others.push(...events)
  const rows = events.map(({ eventId = uuid(), accountId, type, data, at }) => ({
    event_id: eventId,
    account_id: accountId,
    type,
    data: JSON.stringify(data),
    created_at: at,
    position: null,
  }))
  const [row] = rows
  const isOne = row && rows.length === 1
  await send(tx, isOne ? insertEvent.with(tx, row) : tx.insertInto('events').values(rows))
  await writeAudit(
    tx,
    events.flatMap((event) => auditOf(event) ?? []),
  )
}

/** Records an audit entry without an event, in the accounts whose members may need to know. */
export async function audit(
  tx: Queries,
  accountIds: readonly string[],
  change: { objectType: string; objectId: string; amount?: number; at: number },
): Promise<void> {
  await writeAudit(
    tx,
    accountIds.flatMap((accountId) => entryOf({ accountId, ...change }) ?? []),
  )
}

async function writeAudit(tx: Queries, entries: readonly AuditTable[]): Promise<void> {
  const [entry] = entries
  if (!entry) return
  await send(tx, entries.length === 1 ? insertEntry.with(tx, { ...entry }) : insertEntries(tx, entries))
}

function insertEntries(db: Queries, entries: AuditTable | readonly AuditTable[]) {
  return db
    .insertInto('audit')
    .values(entries)
    .onConflict((conflict) => conflict.columns(['request_id', 'account_id']).doNothing())
}

const insertEntry = prepared((db, entry: RowOf<AuditTable>) => insertEntries(db, entry))
const insertEvent = prepared((db, event: RowOf<EventTable>) => db.insertInto('events').values(event))

/** A query of all events, for the cleaning of rows that depend on them. */
export function recordedEvents(db: Queries) {
  return db.selectFrom('events').select(['event_id', 'type', 'data', 'created_at'])
}

function auditOf({ accountId, type, data, at }: Event): AuditTable | null {
  const [objectType = ''] = type.split('.')
  const id = data[`${objectType}_id`]
  return entryOf({ accountId, objectType, objectId: typeof id === 'string' ? id : null, at })
}

function entryOf({
  accountId,
  objectType,
  objectId,
  amount = null,
  at,
}: {
  accountId: string
  objectType: string
  objectId: string | null
  /** Units that the request booked. */
  amount?: number | null
  at: number
}): AuditTable | null {
  const origin = currentOrigin()
  if (!origin) return null
  return {
    audit_id: uuid(),
    account_id: accountId,
    action: origin.action,
    object_type: objectType,
    object_id: objectId,
    token_id: origin.tokenId,
    person_id: origin.person?.personId ?? null,
    person_email: origin.person?.email ?? null,
    address: origin.address,
    request_id: origin.requestId,
    created_at: at,
    process: processName,
    amount,
  }
}
