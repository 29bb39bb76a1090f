import Type, { type Static } from 'typebox'
import { EventTypeName } from '../events/schema.ts'
import { eventTypeNames } from '../events/types.ts'
import { nullable, Timestamp, Uuid, visibleName } from '../http/fields.ts'

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: String.raw`^https?://\S+$`,
  description: 'Where events are posted to',
  errorMessage: 'must be an address that begins with https:// or http://.',
})

const EventTypes = Type.Array(Type.Enum(['*', ...eventTypeNames]), {
  minItems: 1,
  uniqueItems: true,
  description: 'What is sent; "*" is all',
})

export const Webhook = Type.Object(
  {
    webhook_id: Uuid,
    name: Type.String(),
    url: Url,
    event_types: EventTypes,
    is_enabled: Type.Boolean({ description: 'Whether events are sent' }),
    disabled_reason: nullable(
      Type.Enum(['failing', 'gone'], {
        description: 'Why the service disabled it: a day of failures, or the endpoint answered 410',
      }),
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
  { event_id: Type.String({ ...Uuid, description: 'The event that is sent' }) },
  { title: 'WebhookTest' },
)

export const Delivery = Type.Object(
  {
    delivery_id: Uuid,
    webhook_id: Uuid,
    event_id: Uuid,
    event_type: EventTypeName,
    status: Type.Enum(['pending', 'succeeded', 'failed'], {
      description: 'pending: waits for its turn, or for the next attempt',
    }),
    attempts: Type.Array(
      Type.Object(
        {
          attempted_at: Timestamp,
          duration_ms: Type.Integer(),
          reply_status: nullable(Type.Integer({ description: 'The HTTP status; null where no reply came' })),
          reply: Type.String({ description: 'The first 4 KiB of what came back' }),
          error: nullable(Type.String({ description: 'What went wrong, for people' })),
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
