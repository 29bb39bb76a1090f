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
  description: 'Where events are posted to',
  examples: ['https://example.com/hooks/berth'],
  errorMessage: 'must be an address that begins with https:// or http://.',
})

const EventTypes = Type.Array(Type.Enum(['*', ...eventTypeNames]), {
  minItems: 1,
  uniqueItems: true,
  description: 'What is sent; "*" is all',
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
        description: 'Why the service disabled it: a day of failures, or the endpoint answered 410',
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
      description: 'What signatures are made with, for libraries of Standard Webhooks: shown this once',
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
      Type.Boolean({ description: 'Disabling gives up what was not delivered; enabling begins anew' }),
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
      description: 'pending: waits for its turn, or for the next attempt',
    }),
    attempts: Type.Array(
      Type.Object(
        {
          attempted_at: Timestamp,
          duration_ms: Type.Integer({ examples: [87] }),
          reply_status: nullable(
            Type.Integer({ description: 'The HTTP status; null where no reply came', examples: [200] }),
          ),
          reply: Type.String({ description: 'The first 4 KiB of what came back', examples: ['ok'] }),
          error: nullable(Type.String({ description: 'What went wrong, for people' }), { examples: [null] }),
        },
        { title: 'DeliveryAttempt' },
      ),
      { description: 'Of many, the first and the last ten; none of them to an address that was left' },
    ),
    created_at: Timestamp,
  },
  { title: 'Delivery' },
)
export type Delivery = Static<typeof Delivery>
