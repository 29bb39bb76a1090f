import Type, { type Static } from 'typebox'
import { CreatedAt, money, nullable, uuid } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { BEGINNING, type EventType } from './types.ts'

export const EventId = uuid('01a1fb44-5a20-7c1d-8e4b-6d5c4b3a2f1e', 'Id of the event')

/** @param types every type of event */
export const eventSchema = (types: readonly EventType[]) =>
  Type.Object(
    {
      event_id: EventId,
      type: Type.Enum([...types], { description: 'Type of the event', examples: ['project.created'] }),
      created_at: CreatedAt,
      data: Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'The object as the API showed it at that moment; for server.status_changed also old_status and new_status',
          examples: [{ project_id: '01a1fb44-5997-73df-a23c-ea72e7720849', name: 'Shop' }],
        },
      ),
    },
    { title: 'Event', description: 'A change of something that the account owns' },
  )
export type Event = Static<ReturnType<typeof eventSchema>>

const after = Type.Optional(
  Type.String({
    ...EventId,
    description: `The last event that you have seen; the events after it are returned. ${BEGINNING} is before all events.`,
  }),
)

export const EventQuery = Type.Object({
  after,
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { default: 'asc', description: 'Oldest first (asc) or newest first (desc)' }),
  ),
  limit: pagingQuery.limit,
})

export const StreamQuery = Type.Object({ after })

export const EventStream = Type.String({
  description:
    'Server-sent events: id is the event id, data the event as JSON. An id without data is a position to continue from.',
  examples: [
    'retry: 2000\nid: 01a1fb44-5997-73df-a23c-ea72e7720849\n\nid: 01a1fb44-5a10-7c1d-8e4b-6d5c4b3a2f1e\ndata: {"event_id":"01a1fb44-5a10-7c1d-8e4b-6d5c4b3a2f1e","type":"project.deleted","created_at":"2026-11-20T12:00:00.000Z","data":{}}\n\n',
  ],
})

export const AuditEntry = Type.Object(
  {
    audit_id: uuid('01a1fb44-5a30-7c1d-8e4b-6d5c4b3a2f1e', 'Id of the entry'),
    action: Type.String({
      description: 'The operationId of the route, or an operator command',
      examples: ['createServer'],
    }),
    object_type: Type.String({ description: 'Type of the object that was changed', examples: ['server'] }),
    object_id: nullable(uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403'), {
      description: 'Id of the object that was changed; null if the entry is not about a single object',
    }),
    amount: nullable(money('Amount'), {
      description:
        'Amount that the operator added to the balance, in rubles with two decimals, negative for a debit; null for all other requests',
      examples: [null],
    }),
    token_id: nullable(uuid('01a1fb44-5a01-7b9e-9f55-3a0e9a1b2c3d'), {
      description: 'The token of the request; null for a person, or a command of the operator',
    }),
    person_id: nullable(uuid('01a1fb44-5b00-7c3e-9d1f-4a5b6c7d8e9f'), {
      description: 'The person who was signed in; null for a token, or a command of the operator',
    }),
    person_email: nullable(Type.String({ examples: ['ann@example.com'] }), {
      description: 'E-mail address of the person at that moment; null for others',
    }),
    address: nullable(Type.String({ examples: ['192.0.2.7'] }), {
      description: 'IP address that the request came from; null for a command of the operator',
    }),
    request_id: uuid('6a1de9b8-52f4-4b0c-9d57-0e1f5b0a7c55', '`X-Request-Id` of the reply'),
    created_at: CreatedAt,
  },
  { title: 'AuditEntry', description: 'A request that changed something, or a command of the operator' },
)
export type AuditEntry = Static<typeof AuditEntry>
