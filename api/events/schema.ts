import Type, { type Static } from 'typebox'
import { nullable, Timestamp, Uuid } from '../http/fields.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../http/paging.ts'
import { BEGINNING, eventTypeNames } from './types.ts'

export const EventTypeName = Type.Enum([...eventTypeNames], { description: 'What happened' })

export const Event = Type.Object(
  {
    event_id: Uuid,
    type: EventTypeName,
    created_at: Timestamp,
    data: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'What the API showed of the object at that moment; for server.status_changed also old_status and new_status',
        examples: [{ project_id: '01a1fb44-5997-73df-a23c-ea72e7720849', name: 'Shop' }],
      },
    ),
  },
  { title: 'Event' },
)
export type Event = Static<typeof Event>

const after = Type.Optional(
  Type.String({
    format: 'uuid',
    description: `The last event that you have seen: what came after it is shown. ${BEGINNING} is before all.`,
  }),
)

export const EventQuery = Type.Object({
  after,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'Items on a page' }),
  ),
})

export const StreamQuery = Type.Object({ after })

export const EventStream = Type.String({
  description:
    'Server-sent events: each has the id of the event, and the event as JSON in data. An id without data says how far the reader is.',
  examples: [
    'retry: 2000\nid: 01a1fb44-5997-73df-a23c-ea72e7720849\n\nid: 01a1fb44-5a10-7c1d-8e4b-6d5c4b3a2f1e\ndata: {"event_id":"01a1fb44-5a10-7c1d-8e4b-6d5c4b3a2f1e","type":"project.deleted","created_at":"2026-11-20T12:00:00.000Z","data":{}}\n\n',
  ],
})

export const AuditEntry = Type.Object(
  {
    audit_id: Uuid,
    action: Type.String({
      description: 'The operationId of the route, or a command of the operator',
      examples: ['createServer'],
    }),
    object_type: Type.String({ description: 'What was changed', examples: ['server'] }),
    object_id: nullable(Uuid),
    token_id: nullable(Uuid),
    address: nullable(Type.String({ description: 'Where the request came from', examples: ['192.0.2.7'] })),
    request_id: Uuid,
    created_at: Timestamp,
  },
  { title: 'AuditEntry' },
)
export type AuditEntry = Static<typeof AuditEntry>
