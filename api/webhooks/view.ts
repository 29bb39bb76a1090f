import type { EventType } from '../events/types.ts'
import { isoTime } from '../http/contract/fields.ts'
import type { Delivery, Webhook } from './schema.ts'
import type { DeliveryTable, WebhookTable } from './tables.ts'

/** Returns the types of events that a webhook subscribes to. */
export function typesOf(row: Pick<WebhookTable, 'event_types'>): Webhook['event_types'] {
  const types: Webhook['event_types'] = JSON.parse(row.event_types)
  return types
}

export function webhookView(row: WebhookTable): Webhook {
  return {
    webhook_id: row.webhook_id,
    name: row.name,
    url: row.url,
    event_types: typesOf(row),
    is_enabled: row.is_enabled === 1,
    disabled_reason: row.disabled_reason,
    verification: {
      status: row.verification,
      checked_at: row.challenged_at === null ? null : isoTime(row.challenged_at),
      error: row.verification_error,
    },
    created_at: isoTime(row.created_at),
  }
}

/** One attempt at a delivery, as its row stores it. */
export interface Attempt {
  at: number
  durationMs: number
  status: number | null
  reply: string
  error: string | null
}

/** The attempts at a delivery, first to last. */
export function attemptsOf(row: Pick<DeliveryTable, 'attempts'>): Attempt[] {
  const attempts: Attempt[] = JSON.parse(row.attempts)
  return attempts
}

export function deliveryView(
  row: DeliveryTable,
  { given_up_to }: Pick<WebhookTable, 'given_up_to'>,
): Delivery {
  return {
    delivery_id: row.delivery_id,
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    event_type: row.event_type as EventType, // copied from an event
    status: row.status === 'pending' && row.position <= (given_up_to ?? 0) ? 'failed' : row.status,
    attempts: attemptsOf(row).map(({ at, durationMs, status, reply, error }) => ({
      attempted_at: isoTime(at),
      duration_ms: durationMs,
      reply_status: status,
      reply,
      error,
    })),
    created_at: isoTime(row.created_at),
  }
}
