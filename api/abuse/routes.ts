import type { Database } from '../database/database.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { AbuseQuery, AbuseSign } from './schema.ts'
import { listSigns } from './signs.ts'

export function abuseRoutes({ db }: { db: Database }): Route[] {
  return [
    route({
      id: 'listAbuseSigns',
      method: 'GET',
      path: '/operator/abuse',
      scope: 'operator:read',
      tag: 'Operator',
      summary: 'List signs of abuse, each with what to do',
      description:
        'Signs of all accounts, those seen last first; filters are combined with and. The service looks every ten minutes at what it measures anyway; a sign is no proof, and nothing follows from it by itself. A sign that is seen again within an hour continues; a later one replaces it.',
      query: AbuseQuery,
      reply: { 200: listOf(AbuseSign) },
      run: (call) =>
        paged(
          call,
          (page) => listSigns(db, call.query, page),
          (sign) => sign,
        ),
    }),
  ]
}
