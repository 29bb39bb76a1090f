import type { Drivers } from '../drivers/drivers.ts'
import { type Route, route } from '../http/contract/route.ts'
import { type MetricsOptions, serverMetrics } from '../monitoring/metrics.ts'
import { MetricsQuery, ServerMetrics } from '../monitoring/schema.ts'
import { serverFigures } from '../monitoring/stats.ts'
import { type DetailsOptions, serverDetails } from './details.ts'
import { ServerDetails, ServerStats } from './details-schema.ts'
import type { ServerLoader } from './rows.ts'
import { serverProblems } from './schema.ts'
import { statsView } from './view.ts'

const tag = 'Servers'
const params = { server_id: serverProblems.server_not_found }

export type DetailRoutesOptions = DetailsOptions & MetricsOptions & { drivers: Drivers }

/** Details of one server, and its resource usage. */
export function detailRoutes(options: DetailRoutesOptions, load: ServerLoader): Route[] {
  return [detailsRoute(options, load), ...monitoringRoutes(options, load)]
}

function detailsRoute(options: DetailRoutesOptions, load: ServerLoader): Route {
  return route({
    id: 'getServerDetails',
    method: 'GET',
    path: '/servers/:server_id/details',
    scope: 'servers:read',
    tag,
    summary: 'Get the details of a server, including SSH access',
    description:
      'Returns the server with its project, zone, template and preset, its host keys, its login, its cost this month, and the actions that its status allows. The password, if it has one, is shown only to a token that also holds `servers:write`.',
    params,
    load,
    reply: { 200: ServerDetails },
    run: async ({ actor, loaded, report }) => {
      const details = await serverDetails(options, actor, loaded)
      if (details.ssh.password !== null) report({ event: 'secret_shown', objectId: loaded.server_id })
      return details
    },
  })
}

function monitoringRoutes(options: DetailRoutesOptions, load: ServerLoader): Route[] {
  const path = '/servers/:server_id'
  return [
    route({
      id: 'getServerStats',
      method: 'GET',
      path: `${path}/stats`,
      scope: 'servers:read',
      tag,
      summary: 'Get the current resource usage of a server',
      description:
        'Measured on request; rates are relative to the last sample, a few seconds ago. Values that cannot be measured are null; while the server is off, most of them are.',
      params,
      load,
      reply: { 200: ServerStats },
      run: async ({ loaded }) => statsView(loaded, await serverFigures(options, loaded)),
    }),
    route({
      id: 'getServerMetrics',
      method: 'GET',
      path: `${path}/metrics`,
      scope: 'servers:read',
      tag,
      summary: 'Get the resource usage of a server over time',
      description:
        'Up to 30 days per request, by default the last hour. If samples that old are not kept at the resolution of `step`, or there would be more than 2,000 points, a longer step is used and returned in the reply.',
      params,
      load,
      query: MetricsQuery,
      reply: { 200: ServerMetrics },
      run: ({ loaded, query }) => serverMetrics(options, loaded.server_id, query),
    }),
  ]
}
