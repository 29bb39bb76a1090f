import { billingProblems } from '../../billing/schema.ts'
import { catalogProblems } from '../../catalog/schema.ts'
import { firewallProblems } from '../../firewalls/schema.ts'
import { type Route, route } from '../../http/contract/route.ts'
import { accepted, acceptedBefore, accepting, conflict, STATE_ERRORS } from '../operation-replies.ts'
import type { RebuildRoutesOptions } from '../rebuild/routes.ts'
import { serverLoader } from '../rows.ts'
import { serverProblems } from '../schema.ts'
import { rescue, unrescue } from './rescue.ts'
import { RescueRequest, UnrescueRequest } from './schema.ts'

export function rescueRoutes(options: RebuildRoutesOptions): Route[] {
  const shared = (type: 'rescue' | 'unrescue') => ({
    method: 'POST' as const,
    scope: 'servers:write' as const,
    tag: 'Servers',
    params: { server_id: serverProblems.server_not_found },
    load: serverLoader(options.db),
    reply: { 202: options.operationSchemas.Operation },
    examples: { 202: accepting(type) },
    problems: {
      server_state_conflict: conflict(type, 'suspended'),
      not_supported: { feature: type === 'rescue' ? ('rescue' as const) : ('firewalls' as const) },
    },
    errors: [
      ...STATE_ERRORS,
      billingProblems.insufficient_balance,
      firewallProblems.firewall_limit_reached,
      catalogProblems.not_supported,
      ...(type === 'unrescue' ? [serverProblems.rescue_conflict] : []),
    ],
    recover: acceptedBefore(options),
  })
  return [
    route({
      id: 'rescueServer',
      path: '/servers/:server_id/rescue',
      summary: 'Boot a server into a rescue system',
      description:
        'Shuts the server down, powers it off if that takes longer than a minute, and boots a small Linux beside its disk, with the same addresses, ports and firewalls. Log in as `root`, with the password that the details show while `rescue` is true, or with the given SSH keys; the disk of the server is `/dev/vdc`. Until `unrescue`, each start boots the rescue system; another call makes it anew, with a new login. A stopped server runs afterwards.',
      ...shared('rescue'),
      body: RescueRequest,
      run: async ({ actor, loaded, body, remember, setHeader }) =>
        accepted((await rescue(options, actor, loaded, body, remember)).operation, setHeader),
    }),
    route({
      id: 'unrescueServer',
      path: '/servers/:server_id/unrescue',
      summary: 'Boot a server from its own disk again',
      description:
        'Shuts the rescue system down and deletes it, and boots the server from its own disk; it runs afterwards, also if it was stopped.',
      ...shared('unrescue'),
      body: UnrescueRequest,
      run: async ({ loaded, remember, setHeader }) =>
        accepted((await unrescue(options, loaded, remember)).operation, setHeader),
    }),
  ]
}
