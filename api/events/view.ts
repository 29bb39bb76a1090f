import { isoTime } from '../http/contract/fields.ts'
import { formatMoney } from '../money.ts'
import type { AuditEntry, Event } from './schema.ts'
import type { AuditTable, EventTable } from './tables.ts'
import type { EventType } from './types.ts'

export function eventView(row: Pick<EventTable, 'event_id' | 'type' | 'created_at' | 'data'>): Event {
  const data: Event['data'] = JSON.parse(row.data)
  return {
    event_id: row.event_id,
    type: row.type as EventType, // only known types are recorded
    created_at: isoTime(row.created_at),
    data,
  }
}

export function auditView(row: AuditTable): AuditEntry {
  return {
    audit_id: row.audit_id,
    action: row.action,
    object_type: row.object_type,
    object_id: row.object_id,
    amount: row.amount === null ? null : formatMoney(row.amount),
    token_id: row.token_id,
    person_id: row.person_id,
    person_email: row.person_email,
    address: row.address,
    request_id: row.request_id,
    created_at: isoTime(row.created_at),
  }
}
