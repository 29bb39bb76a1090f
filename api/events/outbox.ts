import { v7 as uuid } from 'uuid'
import type { Queries } from '../database/database.ts'
import type { AuditTable } from '../database/schema.ts'
import { currentOrigin } from '../http/origin.ts'
import type { EventType } from './types.ts'

export interface Event {
  /** Remember where none is given. */
  eventId?: string
  accountId: string
  type: EventType
  /** What the API shows of the object: never a secret. */
  data: Record<string, unknown>
  at: number
}

/**
 * Writes down what happened, in the transaction in which it does: both or neither. What somebody asked for goes into
 * the audit as well, once for each request.
 */
export async function record(tx: Queries, events: readonly Event[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ eventId = uuid(), accountId, type, data, at }) => ({
    event_id: eventId,
    account_id: accountId,
    type,
    data: JSON.stringify(data),
    created_at: at,
    position: null,
  }))
  await tx.insertInto('events').values(rows).execute()
  const entries = events.flatMap((event) => auditOf(event) ?? [])
  if (entries.length === 0) return
  await tx
    .insertInto('audit')
    .values(entries)
    .onConflict((conflict) => conflict.columns(['request_id', 'account_id']).doNothing())
    .execute()
}

/** A query of all events, for what is kept beside them. */
export function recordedEvents(db: Queries) {
  return db.selectFrom('events').select(['event_id', 'type', 'data', 'created_at'])
}

function auditOf({ accountId, type, data, at }: Event): AuditTable | null {
  const origin = currentOrigin()
  if (!origin) return null
  const [object_type = ''] = type.split('.')
  const id = data[`${object_type}_id`]
  return {
    audit_id: uuid(),
    account_id: accountId,
    action: origin.action,
    object_type,
    object_id: typeof id === 'string' ? id : null,
    token_id: origin.tokenId,
    address: origin.address,
    request_id: origin.requestId,
    created_at: at,
  }
}
