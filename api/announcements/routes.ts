import Type from 'typebox'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import {
  type Announcing,
  announcementsFor,
  announcementView,
  createAnnouncement,
  endAnnouncement,
  findAnnouncement,
  listAnnouncements,
  operatedView,
  updateAnnouncement,
} from './announcements.ts'
import {
  Announcement,
  AnnouncementCreate,
  AnnouncementUpdate,
  announcementProblems,
  MOST_OPEN,
  OperatedAnnouncement,
} from './schema.ts'

const path = '/operator/announcements'
const one = `${path}/:announcement_id` as const
const tag = 'Operator'

export function announcementRoutes(options: Announcing): Route[] {
  return [customersRoute(options), listRoute(options), createRoute(options), ...oneRoutes(options)]
}

function customersRoute(options: Announcing): Route {
  return route({
    id: 'listAnnouncements',
    method: 'GET',
    path: '/announcements',
    scope: 'account:read',
    tag: 'Account',
    summary: 'List announcements of the operator',
    description:
      'Planned maintenance, incidents and news about all zones, or about zones in which the account has servers, in the order in which they begin. Those that have ended are left out.',
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(Announcement) },
    run: (call) =>
      paged(call, (page) => announcementsFor(options, call.actor.accountId, page), announcementView),
  })
}

function listRoute({ db, clock }: Announcing): Route {
  return route({
    id: 'listOperatedAnnouncements',
    method: 'GET',
    path,
    scope: 'operator:read',
    tag,
    summary: 'List all announcements',
    description: 'All announcements, newest first. One that has ended is kept for a year.',
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(OperatedAnnouncement) },
    run: (call) => paged(call, (page) => listAnnouncements(db, page), operatedView(clock.now())),
  })
}

function createRoute(options: Announcing): Route {
  return route({
    id: 'createAnnouncement',
    method: 'POST',
    path,
    scope: 'operator:write',
    tag,
    summary: 'Announce maintenance, an incident or news',
    description: `Customers with servers in its zones see it in the console and by \`GET /announcements\` at once, and their owners get one mail in their language unless they muted such mails. At most ${MOST_OPEN} may be open. A repeat with the same body returns the first announcement with 200, unless that was changed or ended.`,
    body: AnnouncementCreate,
    reply: { 201: OperatedAnnouncement, 200: OperatedAnnouncement },
    errors: [announcementProblems.too_many_announcements],
    isRepeatable: true,
    run: async ({ body, report, setStatus }) => {
      const { row, isNew } = await createAnnouncement(options, body)
      report({ event: 'announcement_changed', objectId: row.announcement_id })
      setStatus(isNew ? 201 : 200)
      return operatedView(options.clock.now())(row)
    },
  })
}

function oneRoutes(options: Announcing): Route[] {
  const { db, clock } = options
  const onOne = {
    tag,
    params: { announcement_id: announcementProblems.announcement_not_found },
    load: ({ params }: { params: { announcement_id: string } }) =>
      findAnnouncement(db, params.announcement_id),
  }
  return [
    route({
      id: 'getOperatedAnnouncement',
      method: 'GET',
      path: one,
      scope: 'operator:read',
      ...onOne,
      summary: 'Get an announcement',
      description: 'The announcement with its two texts. `mailed_at` is null until all its mails are queued.',
      reply: { 200: OperatedAnnouncement },
      run: async ({ loaded }) => operatedView(clock.now())(loaded),
    }),
    route({
      id: 'updateAnnouncement',
      method: 'PATCH',
      path: one,
      scope: 'operator:write',
      ...onOne,
      summary: 'Change an announcement',
      description:
        'Changes the fields in the body and leaves the others as they are. Nobody gets a second mail. A later `ends_at` opens one again whose planned end has passed.',
      body: AnnouncementUpdate,
      reply: { 200: OperatedAnnouncement },
      errors: [announcementProblems.announcement_ended, announcementProblems.too_many_announcements],
      run: async ({ loaded: { announcement_id: id }, body, report }) => {
        report({ event: 'announcement_changed', objectId: id })
        return operatedView(clock.now())(await updateAnnouncement(options, id, body))
      },
    }),
    route({
      id: 'endAnnouncement',
      method: 'POST',
      path: `${one}/end`,
      scope: 'operator:write',
      ...onOne,
      summary: 'End an announcement',
      description:
        'Customers no longer see it, and mails about it that are not queued yet are not sent. One that has ended stays as it is.',
      reply: { 200: OperatedAnnouncement },
      isRepeatable: true,
      run: async ({ loaded: { announcement_id: id }, report }) => {
        report({ event: 'announcement_changed', objectId: id })
        return operatedView(clock.now())(await endAnnouncement(options, id))
      },
    }),
  ]
}
