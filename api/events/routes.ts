import Type from 'typebox'
import type { Database } from '../database/database.ts'
import type { Actor } from '../http/auth.ts'
import { DEFAULT_LIMIT, listOf, paged, pagingQuery } from '../http/paging.ts'
import { invalid, queryIssue } from '../http/problem.ts'
import { type Route, route } from '../http/route.ts'
import { listAudit } from './audit.ts'
import { AuditEntry, Event, EventQuery, EventStream, StreamQuery } from './schema.ts'
import { countAfter, eventsAfter, positionOf } from './store.ts'
import type { Streams } from './streams.ts'
import { visibleTo } from './types.ts'
import { auditView, eventView } from './view.ts'
import type { EventWorker } from './worker.ts'

const tag = 'Events'

export interface EventRoutesOptions {
  db: Database
  worker: EventWorker
  streams: Streams
}

export function eventRoutes(options: EventRoutesOptions): Route[] {
  return [listRoute(options), streamRoute(options), auditRoute(options)]
}

function listRoute({ db, worker }: EventRoutesOptions): Route {
  return route({
    id: 'listEvents',
    method: 'GET',
    path: '/events',
    scope: 'account:read',
    orScope: 'servers:read',
    tag,
    summary: 'List what has happened, eldest first',
    description:
      'Those of the last 30 days that the token may see: with `account:read` those of the account, with `servers:read` those of servers and operations. `after` is the cursor: the last event that you have seen. `total` counts what comes after it; the `Link` header names the next page.',
    query: EventQuery,
    reply: { 200: listOf(Event) },
    run: async ({ actor, query, url, setHeader }) => {
      // What has just been replied to is here as well.
      await worker.relay()
      const after = (await cursor(db, actor, query.after, 'after')) ?? 0
      const reader = { accountId: actor.accountId, types: visibleTo(actor), after }
      const limit = query.limit ?? DEFAULT_LIMIT
      const [items, total] = await Promise.all([
        eventsAfter(db, reader, { limit, offset: 0 }),
        countAfter(db, reader),
      ])
      setHeader('link', links(url, limit, items.length < total ? items.at(-1)?.event_id : undefined))
      return { items: items.map(eventView), total }
    },
  })
}

function streamRoute({ db, worker, streams }: EventRoutesOptions): Route {
  return route({
    id: 'streamEvents',
    method: 'GET',
    deed: 'follow',
    path: '/events/stream',
    scope: 'account:read',
    orScope: 'servers:read',
    tag,
    summary: 'Follow what happens as it does (server-sent events)',
    description:
      'Begins with what comes after `Last-Event-ID` (or `after`), without either with what is to come, and goes on until somebody hangs up. Its first message, and every heartbeat after 15 quiet seconds, has an `id` without data: it is where the reader is, and good as `Last-Event-ID`. A token holds at most 5 streams open, an account 20: more is a 429. A reader who takes nothing for 30 seconds is hung up on, and so is one whose token ends; come back with `Last-Event-ID` and nothing is missed.',
    query: StreamQuery,
    headers: { 'last-event-id': 'The last id that the stream has told; wins over `after`' },
    reply: { 200: EventStream },
    contentType: 'text/event-stream',
    run: async ({ actor, query, lastEventId, signal, setHeader }) => {
      await worker.relay()
      const after = await cursor(
        db,
        actor,
        lastEventId ?? query.after,
        lastEventId ? 'last-event-id' : 'after',
      )
      // Proxies that collect what they pass on are told not to.
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
    summary: 'List who changed what, and from where',
    description:
      "One entry for each request that changed something, with the token and the address that it came with, kept for a year. What the service does by itself is not among them. The operator's commands have neither token nor address.",
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
  const message = `There is no event ${eventId.slice(0, 36)}: events are kept for 30 days. Begin anew without ${name}.`
  const issue = queryIssue(name, 'not_found', message)
  throw invalid([name === 'after' ? issue : { ...issue, in: 'header' }])
}

/** Pages are named by where they begin; there is no way back. */
function links(url: string, limit: number, next: string | undefined): string {
  const [path = ''] = url.split('?')
  const first = `<${path}?limit=${limit}>; rel="first"`
  return next ? `${first}, <${path}?limit=${limit}&after=${next}>; rel="next"` : first
}
