import Type, { type Static } from 'typebox'
import { EventId, EventTypeName } from '../events/schema.ts'
import { eventTypeNames } from '../events/types.ts'
import { nullable, Timestamp, uuid, visibleName } from '../http/fields.ts'
import { defineProblems } from '../http/problem.ts'

export const webhookProblems = defineProblems({
  webhook_not_found: { status: 404, title: 'No such webhook' },
})

const WebhookId = uuid('01a1fb44-5a40-7c1d-8e4b-6d5c4b3a2f1e')

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: String.raw`^https?://\S+$`,
  description: 'Address that events are posted to',
  examples: ['https://example.com/hooks/berth'],
  errorMessage: 'must be an address that starts with https:// or http://.',
})

const EventTypes = Type.Array(Type.Enum(['*', ...eventTypeNames]), {
  minItems: 1,
  uniqueItems: true,
  description: 'Events to send; "*" is all',
  examples: [['server.status_changed', 'balance.low']],
})

export const Webhook = Type.Object(
  {
    webhook_id: WebhookId,
    name: Type.String({ examples: ['shop'] }),
    url: Url,
    event_types: EventTypes,
    is_enabled: Type.Boolean({ description: 'Whether events are sent' }),
    disabled_reason: nullable(
      Type.Enum(['failing', 'gone'], {
        description: 'Why the service disabled it: failing for a day, or gone (the endpoint replied 410)',
      }),
      { examples: [null] },
    ),
    created_at: Timestamp,
  },
  { title: 'Webhook' },
)
export type Webhook = Static<typeof Webhook>

export const NewWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret: Type.String({
      description: 'Signing secret for Standard Webhooks libraries, shown only once',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  },
  { title: 'NewWebhook' },
)

export const WebhookCreate = Type.Object(
  {
    name: visibleName(64),
    url: Url,
    event_types: EventTypes,
    is_enabled: Type.Optional(Type.Boolean({ default: true })),
  },
  { title: 'WebhookCreate' },
)
export type WebhookCreate = Static<typeof WebhookCreate>

export const WebhookUpdate = Type.Object(
  {
    name: Type.Optional(visibleName(64)),
    url: Type.Optional(Url),
    event_types: Type.Optional(EventTypes),
    is_enabled: Type.Optional(
      Type.Boolean({
        description: 'Disabling ends pending deliveries as failed; enabling starts with new events',
      }),
    ),
  },
  { title: 'WebhookUpdate', minProperties: 1 },
)
export type WebhookUpdate = Static<typeof WebhookUpdate>

export const WebhookTest = Type.Object(
  { event_id: Type.String({ ...EventId, description: 'The event that is sent' }) },
  { title: 'WebhookTest' },
)

export const Delivery = Type.Object(
  {
    delivery_id: uuid('01a1fb44-5a50-7c1d-8e4b-6d5c4b3a2f1e'),
    webhook_id: WebhookId,
    event_id: EventId,
    event_type: EventTypeName,
    status: Type.Enum(['pending', 'succeeded', 'failed'], {
      examples: ['succeeded'],
      description: 'pending: queued, or waiting for the next attempt',
    }),
    attempts: Type.Array(
      Type.Object(
        {
          attempted_at: Timestamp,
          duration_ms: Type.Integer({ examples: [87] }),
          reply_status: nullable(
            Type.Integer({ description: 'The HTTP status; null if there was no reply', examples: [200] }),
          ),
          reply: Type.String({ description: 'The first 4 KiB of the reply', examples: ['ok'] }),
          error: nullable(Type.String({ description: 'What went wrong, for humans' }), { examples: [null] }),
        },
        { title: 'DeliveryAttempt' },
      ),
      { description: 'Of many, the first and the last ten; only those to the current address' },
    ),
    created_at: Timestamp,
  },
  { title: 'Delivery' },
)
export type Delivery = Static<typeof Delivery>
