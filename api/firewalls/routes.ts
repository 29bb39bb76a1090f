import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Actor } from '../http/contract/auth.ts'
import { requireMatch } from '../http/contract/etag.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { ApiError, found, httpProblems } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import {
  attachFirewall,
  createFirewall,
  deleteFirewall,
  detachFirewall,
  type FirewallsOptions,
  findFirewall,
  firewallQuota,
  listFirewalls,
  updateFirewall,
} from './firewalls.ts'
import {
  Firewall,
  FirewallAttach,
  FirewallCreate,
  FirewallQuery,
  FirewallUpdate,
  firewallProblems,
} from './schema.ts'
import { type FirewallRow, firewallView } from './view.ts'

const tag = 'Firewalls'
const path = '/firewalls/:firewall_id'
const params = { firewall_id: firewallProblems.firewall_not_found }
const LIMITS = [firewallProblems.firewall_limit_reached, catalogProblems.not_supported]

export function firewallRoutes(options: FirewallsOptions): Route[] {
  return [...collectionRoutes(options), ...objectRoutes(options), ...serverRoutes(options)]
}

function located(row: FirewallRow, setHeader: SetHeader) {
  setHeader('location', `/v1/firewalls/${row.firewall_id}`)
  return firewallView(row)
}

function loader({ db }: FirewallsOptions) {
  return async ({ actor, params }: { actor: Pick<Actor, 'accountId'>; params: { firewall_id: string } }) =>
    found(await findFirewall(db, actor.accountId, params.firewall_id), firewallProblems.firewall_not_found)
}

function collectionRoutes(options: FirewallsOptions): Route[] {
  return [
    route({
      id: 'listFirewalls',
      method: 'GET',
      path: '/firewalls',
      scope: 'servers:read',
      tag,
      summary: 'List firewalls',
      description:
        'Returns the firewalls of the account, newest first. `server_id` selects the firewalls of one server, by its id or by its labels.',
      query: FirewallQuery,
      reply: { 200: listOf(Firewall) },
      run: (call) =>
        paged(call, (page) => listFirewalls(options, call.actor.accountId, call.query, page), firewallView),
    }),
    route({
      id: 'createFirewall',
      method: 'POST',
      path: '/firewalls',
      scope: 'servers:write',
      tag,
      summary: 'Create a firewall',
      description:
        'A server with a firewall accepts only the connections that a rule of its firewalls allows. Outgoing connections are allowed, unless one of the firewalls has an `out` rule: then only those that such a rule allows. Replies are always allowed. Without `label_selector`, a firewall has no effect until it is attached to a server.',
      body: FirewallCreate,
      reply: { 201: Firewall },
      problems: { quota_exceeded: atLimit(firewallQuota) },
      errors: [accountProblems.quota_exceeded, ...LIMITS],
      run: async ({ actor, body, remember, setHeader }) =>
        located(await createFirewall(options, actor.accountId, body, remember), setHeader),
      recover: async ({ actor, setHeader }, firewall_id) =>
        located(await loader(options)({ actor, params: { firewall_id } }), setHeader),
    }),
  ]
}

function objectRoutes(options: FirewallsOptions): Route[] {
  const load = loader(options)
  return [
    route({
      id: 'getFirewall',
      method: 'GET',
      hasEtag: true,
      path,
      scope: 'servers:read',
      tag,
      summary: 'Get a firewall',
      description:
        'Returns its rules, and the servers that it is attached to by id. To find the servers that its label selector matches, list servers with the same selector as `label`.',
      params,
      load,
      reply: { 200: Firewall },
      run: async ({ loaded }) => firewallView(loaded),
    }),
    route({
      id: 'updateFirewall',
      method: 'PATCH',
      path,
      scope: 'servers:write',
      tag,
      summary: 'Update a firewall',
      description:
        'The change takes effect on all servers within a second, also for open connections: those that are no longer allowed are closed. `rules` replaces all rules at once, never only some of them. With `If-Match`, the request fails with 412 if the firewall was changed meanwhile.',
      params,
      load,
      body: FirewallUpdate,
      reply: { 200: Firewall },
      errors: [httpProblems.precondition_failed, ...LIMITS],
      run: async ({ loaded, body, ifMatch }) => {
        const check = (current: FirewallRow) => requireMatch(ifMatch, firewallView(current))
        return firewallView(await updateFirewall(options, loaded, body, check))
      },
    }),
    route({
      id: 'deleteFirewall',
      method: 'DELETE',
      path,
      scope: 'servers:write',
      tag,
      summary: 'Delete a firewall',
      description:
        'Only a firewall that no server has, by its id or by its labels, can be deleted: otherwise servers would be left unprotected. Detach it first.',
      params,
      load,
      reply: { 204: null },
      errors: [firewallProblems.firewall_in_use],
      run: ({ loaded }) => deleteFirewall(options, loaded),
    }),
  ]
}

function serverRoutes(options: FirewallsOptions): Route[] {
  const load = loader(options)
  return [
    route({
      id: 'attachFirewall',
      method: 'POST',
      path: `${path}/servers`,
      scope: 'servers:write',
      tag,
      summary: 'Attach a firewall to servers',
      description:
        'Within a second the servers allow only the connections that their firewalls allow; this includes open connections. Servers that already have the firewall are not changed.',
      params,
      load,
      body: FirewallAttach,
      reply: { 200: Firewall },
      errors: LIMITS,
      run: async ({ loaded, body, remember }) =>
        firewallView(await attachFirewall(options, loaded, body.server_ids, remember)),
      recover: async ({ loaded }) => firewallView(loaded as FirewallRow), // what load returned
    }),
    route({
      id: 'detachFirewall',
      method: 'DELETE',
      path: `${path}/servers/:server_id`,
      scope: 'servers:write',
      tag,
      summary: 'Detach a firewall from a server',
      description:
        'Within a second its rules no longer apply to the server; a server without any firewall allows all connections. A server that has it by its labels keeps it: change the labels or the selector.',
      params: { ...params, server_id: options.serverNotFound },
      load: async ({ actor, params }) => {
        const firewall = await findFirewall(options.db, actor.accountId, params.firewall_id)
        if (firewall?.serverIds.includes(params.server_id)) return firewall
        throw new ApiError(options.serverNotFound, 'The firewall is not attached to such a server by its id.')
      },
      reply: { 204: null },
      run: ({ loaded, params }) => detachFirewall(options, loaded, params.server_id),
    }),
  ]
}
