import Type, { type Static } from 'typebox'
import { EventId } from '../events/schema.ts'
import type { EventType } from '../events/types.ts'
import { CreatedAt, nullable, timestamp, uuid, visibleName } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const webhookProblems = defineProblems({
  webhook_not_found: { status: 404, title: 'No such webhook' },
  webhook_not_verified: { status: 409, title: 'The endpoint has not answered a challenge' },
})

const WebhookId = uuid('01a1fb44-5a40-7c1d-8e4b-6d5c4b3a2f1e', 'Id of the webhook')

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: String.raw`^https?://\S+$`,
  description: 'Address that events are posted to',
  examples: ['https://example.com/hooks/berth'],
  errorMessage: 'must be an address that starts with https:// or http://.',
})

const eventTypesSchema = (types: readonly EventType[]) =>
  Type.Array(Type.Enum(['*', ...types]), {
    minItems: 1,
    uniqueItems: true,
    description: 'Events to send; "*" is all',
    examples: [['server.status_changed', 'balance.low']],
  })

type EventTypes = ReturnType<typeof eventTypesSchema>

const Verification = Type.Object(
  {
    status: Type.Enum(['pending', 'verified', 'failed'], {
      description:
        'pending: challenges are sent until one is answered; failed: none was within a day, or the endpoint replied 410',
      examples: ['verified'],
    }),
    checked_at: nullable(timestamp('When the last challenge was sent'), {
      description: 'When the last challenge was sent; null before the first',
    }),
    error: nullable(Type.String(), {
      description: 'Why it is not verified, for people; null if nothing went wrong',
      examples: [null],
    }),
  },
  {
    title: 'WebhookVerification',
    description: 'Whether the endpoint has agreed to receive events by answering a challenge',
  },
)

const webhookSchema = (event_types: EventTypes) =>
  Type.Object(
    {
      webhook_id: WebhookId,
      name: Type.String({ description: 'Name of your choice', examples: ['shop'] }),
      url: Url,
      event_types,
      is_enabled: Type.Boolean({ description: 'Whether events are sent' }),
      disabled_reason: nullable(Type.Enum(['failing', 'gone', 'unverified']), {
        description:
          'Why the service disabled it: `failing` for a day, `gone` (the endpoint replied 410), or `unverified` (no challenge was answered within a day); null if it did not',
        examples: [null],
      }),
      verification: Verification,
      created_at: CreatedAt,
    },
    { title: 'Webhook', description: 'An address that events are posted to' },
  )
const newWebhookSchema = (Webhook: ReturnType<typeof webhookSchema>) =>
  Type.Object(
    {
      ...Webhook.properties,
      secret: Type.String({
        description: 'Signing secret for Standard Webhooks libraries, shown only once',
        examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      }),
    },
    { title: 'NewWebhook', description: 'A webhook with its secret' },
  )

const createSchema = (event_types: EventTypes) =>
  Type.Object(
    {
      name: visibleName(64, 'shop'),
      url: Url,
      event_types,
      is_enabled: Type.Optional(Type.Boolean({ default: true, description: 'Whether events are sent' })),
    },
    { title: 'WebhookCreate', description: 'A webhook to create' },
  )
const updateSchema = (event_types: EventTypes) =>
  Type.Object(
    {
      name: Type.Optional(visibleName(64, 'shop')),
      url: Type.Optional(Url),
      event_types: Type.Optional(event_types),
      is_enabled: Type.Optional(
        Type.Boolean({
          description:
            'Disabling ends pending deliveries as failed; enabling starts with new events, and sends a challenge unless the webhook is verified',
        }),
      ),
    },
    {
      title: 'WebhookUpdate',
      description: 'Fields to change; the others stay as they are',
      minProperties: 1,
    },
  )
export const WebhookTest = Type.Object(
  { event_id: Type.String({ ...EventId, description: 'The event that is sent' }) },
  { title: 'WebhookTest', description: 'The test that was begun' },
)

const deliverySchema = (types: readonly EventType[]) =>
  Type.Object(
    {
      delivery_id: uuid('01a1fb44-5a50-7c1d-8e4b-6d5c4b3a2f1e', 'Id of the delivery'),
      webhook_id: WebhookId,
      event_id: EventId,
      event_type: Type.Enum([...types], { description: 'Type of the event', examples: ['server.created'] }),
      status: Type.Enum(['pending', 'succeeded', 'failed'], {
        examples: ['succeeded'],
        description: '`pending`: queued, or waiting for the next attempt',
      }),
      attempts: Type.Array(
        Type.Object(
          {
            attempted_at: timestamp('When it began'),
            duration_ms: Type.Integer({ description: 'How long it took, in milliseconds', examples: [87] }),
            reply_status: nullable(Type.Integer({ examples: [200] }), {
              description: 'The HTTP status; null if there was no reply',
            }),
            reply: Type.String({ description: 'The first 4 KiB of the reply', examples: ['ok'] }),
            error: nullable(Type.String(), {
              description: 'What went wrong, for people; null if it succeeded',
              examples: [null],
            }),
          },
          { title: 'DeliveryAttempt', description: 'One request to the address of the webhook' },
        ),
        { description: 'Attempts to the current address; if there are many, the first and the last ten' },
      ),
      created_at: CreatedAt,
    },
    { title: 'Delivery', description: 'An event on its way to a webhook, with the attempts so far' },
  )
/** @param types every type of event */
export function webhookSchemas(types: readonly EventType[]) {
  const event_types = eventTypesSchema(types)
  const Webhook = webhookSchema(event_types)
  return {
    Webhook,
    NewWebhook: newWebhookSchema(Webhook),
    WebhookCreate: createSchema(event_types),
    WebhookUpdate: updateSchema(event_types),
    Delivery: deliverySchema(types),
  }
}
export type WebhookSchemas = ReturnType<typeof webhookSchemas>
export type Webhook = Static<WebhookSchemas['Webhook']>
export type WebhookCreate = Static<WebhookSchemas['WebhookCreate']>
export type WebhookUpdate = Static<WebhookSchemas['WebhookUpdate']>
export type Delivery = Static<WebhookSchemas['Delivery']>
