import Type from 'typebox'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { notFound } from '../../http/contract/problem.ts'
import { type Route, route } from '../../http/contract/route.ts'
import { peopleProblems, Session } from '../person/schema.ts'
import { endSession, listSessions } from '../person/sessions.ts'
import { sessionView } from '../person/view.ts'

/** The browsers that a person is signed in with. */
export function sessionRoutes({ db, clock }: { db: Database; clock: Clock }): Route[] {
  return [
    route({
      id: 'listSessions',
      method: 'GET',
      path: '/account/sessions',
      scope: 'person',
      tag: 'Person',
      summary: 'List the sessions of the person',
      description: 'The browsers that the person is signed in with, newest first; at most 20.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Session) },
      run: (call) =>
        paged(
          call,
          (page) => listSessions(db, clock, call.signedIn.personId, page),
          (row) => sessionView(row, call.signedIn.sessionId),
        ),
    }),
    route({
      id: 'endSession',
      method: 'DELETE',
      path: '/account/sessions/:session_id',
      scope: 'person',
      tag: 'Person',
      summary: 'End a session of the person',
      description: 'Signs that browser out. Its event streams and consoles are closed.',
      params: { session_id: peopleProblems.session_not_found },
      reply: { 204: null },
      run: async ({ signedIn, params, report }) => {
        if (!(await endSession(db, signedIn.personId, params.session_id)))
          throw notFound(peopleProblems.session_not_found)
        report({ event: 'session_revoked', objectId: params.session_id })
      },
    }),
  ]
}
