import { billingProblems } from '../../billing/schema.ts'
import { catalogProblems } from '../../catalog/schema.ts'
import { firewallProblems } from '../../firewalls/schema.ts'
import { type Route, route } from '../../http/contract/route.ts'
import type { OperationSchemas } from '../../operations/schema.ts'
import { imageProblems } from '../../snapshots/image-schema.ts'
import { snapshotProblems } from '../../snapshots/schema.ts'
import { accepted, acceptedBefore, accepting, conflict, STATE_ERRORS } from '../operation-replies.ts'
import { serverLoader } from '../rows.ts'
import { serverProblems } from '../schema.ts'
import { type RebuildOptions, rebuild } from './rebuild.ts'
import { RebuildRequest } from './schema.ts'

export interface RebuildRoutesOptions extends RebuildOptions {
  operationSchemas: OperationSchemas
}

/** The parts shared by routes that replace a server's disk. */
export function replacingDisk(options: RebuildRoutesOptions, type: 'rebuild' | 'restore') {
  return {
    params: { server_id: serverProblems.server_not_found },
    load: serverLoader(options.db),
    reply: { 202: options.operationSchemas.Operation },
    examples: { 202: accepting(type) },
    problems: {
      server_state_conflict: conflict(type, 'suspended'),
      not_supported: { feature: 'firewalls' },
    },
    errors: [
      ...STATE_ERRORS,
      serverProblems.delete_protected,
      billingProblems.insufficient_balance,
      firewallProblems.firewall_limit_reached,
      catalogProblems.not_supported,
    ],
    recover: acceptedBefore(options),
  }
}

export function rebuildRoutes(options: RebuildRoutesOptions): Route[] {
  const shared = replacingDisk(options, 'rebuild')
  return [
    route({
      id: 'rebuildServer',
      method: 'POST',
      path: '/servers/:server_id/rebuild',
      scope: 'servers:write',
      tag: 'Servers',
      summary: 'Replace the disk of a server by a new operating system',
      description:
        'All data on the disk is lost. It gets a template, or a snapshot or an image of its zone. Id, name, plan, addresses, ports, networks, firewalls and price stay; the host keys are new. The server is powered off once the image is ready, and runs afterwards, also if it was stopped. Refused while `delete_protection` is set.',
      ...shared,
      body: RebuildRequest,
      errors: [...shared.errors, snapshotProblems.snapshot_not_found, imageProblems.image_not_found],
      run: async ({ actor, loaded, body, remember, setHeader }) =>
        accepted((await rebuild(options, actor, loaded, body, remember)).operation, setHeader),
    }),
  ]
}
