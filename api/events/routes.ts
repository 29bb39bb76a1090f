import Type from 'typebox'
import type { Database } from '../database/database.ts'
import type { RecentReads } from '../database/replica.ts'
import type { Actor } from '../http/contract/auth.ts'
import { DEFAULT_LIMIT, listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { invalid, queryIssue } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { listAudit } from './audit.ts'
import { AuditEntry, EventQuery, EventStream, eventSchema, StreamQuery } from './schema.ts'
import { countAfter, END, eventsAfter, positionOf } from './store.ts'
import type { Streams } from './streams.ts'
import { type EventScopes, eventTypesOf, visibleTo } from './types.ts'
import { auditView, eventView } from './view.ts'
import type { EventWorker } from './worker.ts'

const tag = 'Events'

export interface EventRoutesOptions {
  db: Database
  recent: RecentReads
  eventWorker: EventWorker
  streams: Streams
  eventScopes: EventScopes
}

export function eventRoutes(options: EventRoutesOptions): Route[] {
  return [listRoute(options), streamRoute(options), auditRoute(options)]
}

function listRoute({ db, recent, eventWorker, eventScopes }: EventRoutesOptions): Route {
  return route({
    id: 'listEvents',
    method: 'GET',
    path: '/events',
    scope: 'account:read',
    orScope: 'servers:read',
    tag,
    summary: 'List events, oldest or newest first',
    description:
      'The events of the last 30 days that the token may see: with `account:read` those of the account, with `servers:read` those of servers and operations. `after` is the cursor: the last event that you have seen. `total` counts the events that follow it in the order of the list; the `Link` header has the next page. To miss nothing, read oldest first and continue from the last event.',
    query: EventQuery,
    reply: { 200: listOf(eventSchema(eventTypesOf(eventScopes))) },
    run: async ({ actor, query, url, setHeader }) => {
      // The list includes events of requests that were just answered.
      await eventWorker.relay()
      const { limit = DEFAULT_LIMIT, order = 'asc' } = query
      const after = (await cursor(db, actor, query.after, 'after')) ?? (order === 'asc' ? 0 : END)
      const reader = { accountId: actor.accountId, types: visibleTo(actor, eventScopes), after, order }
      const [items, total] = await recent((from) =>
        Promise.all([eventsAfter(from, reader, { limit, offset: 0 }), countAfter(from, reader)]),
      )
      const next = items.length < total ? items.at(-1)?.event_id : undefined
      setHeader('link', links(url, { limit, order }, next))
      return { items: items.map(eventView), total }
    },
  })
}

function streamRoute({ db, eventWorker, streams }: EventRoutesOptions): Route {
  return route({
    id: 'streamEvents',
    method: 'GET',
    deed: 'follow',
    path: '/events/stream',
    scope: 'account:read',
    orScope: 'servers:read',
    tag,
    summary: 'Follow events as they happen (server-sent events)',
    description:
      'Starts after `Last-Event-ID` (or `after`), or else with the next new event. The first message, and a heartbeat whenever nothing was sent for 15 seconds, has an `id` and no data: send it as `Last-Event-ID` to continue from there. A token can have up to 5 streams, an account 20; more is a 429. A client that reads nothing for 30 seconds, or whose token ends, is disconnected; a client that reconnects with `Last-Event-ID` misses nothing.',
    query: StreamQuery,
    headers: { 'last-event-id': 'The last id that the stream has sent; takes precedence over `after`' },
    reply: { 200: EventStream },
    contentType: 'text/event-stream',
    run: async ({ actor, query, lastEventId, signal, setHeader }) => {
      await eventWorker.relay()
      const after = await cursor(
        db,
        actor,
        lastEventId ?? query.after,
        lastEventId ? 'last-event-id' : 'after',
      )
      // This turns off buffering in proxies.
      setHeader('x-accel-buffering', 'no')
      return streams.open(actor, after, signal)
    },
  })
}

function auditRoute({ db }: EventRoutesOptions): Route {
  return route({
    id: 'listAudit',
    method: 'GET',
    path: '/account/audit',
    scope: 'account:read',
    tag,
    summary: 'List the audit log: who changed what, and from where',
    description:
      'One entry for each request that changed something, with its token and address, kept for a year. Changes by the service itself are not listed. Operator commands are listed without token and address, and name the operator; a credit has its `amount`.',
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(AuditEntry) },
    run: (call) => paged(call, (page) => listAudit(db, call.actor.accountId, page), auditView),
  })
}

/** @throws ApiError validation_failed */
async function cursor(
  db: Database,
  { accountId }: Actor,
  eventId: string | undefined,
  name: string,
): Promise<number | undefined> {
  if (eventId === undefined) return undefined
  const position = await positionOf(db, accountId, eventId.toLowerCase())
  if (position !== undefined) return position
  const message = `No such event: ${eventId.slice(0, 36)}. Events are kept for 30 days. Start again without ${name}.`
  const issue = queryIssue(name, 'not_found', message)
  throw invalid([name === 'after' ? issue : { ...issue, in: 'header' }])
}

/** Pages are addressed by a cursor, so there are no links to previous pages. */
function links(url: string, { limit, order }: { limit: number; order: string }, next?: string): string {
  const [path = ''] = url.split('?')
  const page = `${path}?limit=${limit}${order === 'asc' ? '' : `&order=${order}`}`
  const first = `<${page}>; rel="first"`
  return next ? `${first}, <${page}&after=${next}>; rel="next"` : first
}
