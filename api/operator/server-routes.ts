import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import { firewallProblems } from '../firewalls/schema.ts'
import { MOMENT } from '../http/contract/fields.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found, type ProblemType } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { networkProblems } from '../networks/schema.ts'
import { findOperation } from '../operations/operations.ts'
import type { OperationSchemas } from '../operations/schema.ts'
import { operationView } from '../operations/view.ts'
import { portProblems } from '../ports/schema.ts'
import type { MovingOptions } from '../servers/moving.ts'
import { accepting, busy, conflict, STATE_ERRORS } from '../servers/operation-replies.ts'
import { serverSubject } from '../servers/operations.ts'
import { ServerCreate, ServerUpdate } from '../servers/order-schema.ts'
import { type PasswordOptions, resetPassword } from '../servers/password/password.ts'
import { type RebuildOptions, rebuild } from '../servers/rebuild/rebuild.ts'
import { RebuildRequest } from '../servers/rebuild/schema.ts'
import { rescue, unrescue } from '../servers/rescue/rescue.ts'
import { RescueRequest, UnrescueRequest } from '../servers/rescue/schema.ts'
import { serverProblems } from '../servers/schema.ts'
import type { ServerTable } from '../servers/tables.ts'
import { snapshotProblems } from '../snapshots/schema.ts'
import { operatedOperation, operatorProblems } from './schema.ts'
import {
  OperatedServer,
  OperatedServerQuery,
  ServerMove,
  ServerReason,
  ServerStop,
  ServerTermination,
} from './server-schema.ts'
import * as operated from './servers.ts'

const tag = 'Operator'

export interface OperatorServerOptions
  extends operated.OperatedServersOptions,
    PasswordOptions,
    MovingOptions,
    Omit<RebuildOptions, 'clock' | 'engine' | 'db'> {
  operationSchemas: OperationSchemas
}

/** The servers of all accounts, without their secrets, passwords and consoles. */
export function operatorServerRoutes(options: OperatorServerOptions): Route[] {
  return [
    ...readingRoutes(options),
    orderRoute(options),
    updateRoute(options),
    ...holdingRoutes(options),
    moveRoute(options),
    ...powerRoutes(options),
    deleteRoute(options),
    ...systemRoutes(options),
    ...rescueRoutes(options),
  ]
}

const AUDITED = 'The audit of its account names the operator and the reason.'

/** The parts that routes about one server share. */
function onServer({ db }: OperatorServerOptions) {
  return {
    params: { server_id: serverProblems.server_not_found },
    load: ({ params: { server_id } }: { params: { server_id: string } }) =>
      operated.findOperatedServer(db, server_id),
  }
}

/** The parts shared by routes that begin an operation. */
function beginning(options: OperatorServerOptions, type: Parameters<typeof accepting>[0]) {
  const { db, clock } = options
  return {
    ...onServer(options),
    method: 'POST',
    scope: 'operator:write',
    tag,
    reply: { 202: operatedOperation(options.operationSchemas) },
    examples: { 202: accepting(type) },
    recover: async ({ loaded }: { loaded: ServerTable }, operationId: string) => {
      const { account_id, server_id } = loaded
      const operation = await findOperation(
        db,
        account_id,
        operationId,
        clock.now(),
        serverSubject(server_id),
      )
      return { account_id, ...operationView(found(operation, serverProblems.server_not_found)) }
    },
  } as const
}

/** Errors if the host has no room for the server, or the balance does not cover it. */
const TURN_ON_ERRORS: readonly ProblemType[] = [
  accountProblems.account_suspended,
  billingProblems.insufficient_balance,
  firewallProblems.firewall_limit_reached,
  catalogProblems.not_supported,
]

function readingRoutes(options: OperatorServerOptions): Route[] {
  return [
    route({
      id: 'listOperatedServers',
      method: 'GET',
      path: '/operator/servers',
      scope: 'operator:read',
      tag,
      summary: 'List the servers of all accounts',
      description:
        'Newest first; filters are combined with and. Deleted servers are not listed. No reply has passwords, user data or consoles.',
      query: OperatedServerQuery,
      reply: { 200: listOf(OperatedServer) },
      run: (call) =>
        paged(
          call,
          (page) => operated.listOperatedServers(options, call.query, page),
          (server) => server,
        ),
    }),
    route({
      id: 'getOperatedServer',
      method: 'GET',
      path: '/operator/servers/:server_id',
      scope: 'operator:read',
      tag,
      summary: 'Get a server of any account',
      description:
        'The server with its account, its address for SSH and its operation in progress. A deleted server is a 404.',
      ...onServer(options),
      reply: { 200: OperatedServer },
      run: ({ loaded }) => operated.showOperatedServer(options, loaded.server_id),
    }),
  ]
}

function orderRoute(options: OperatorServerOptions): Route {
  return route({
    id: 'createOperatedServer',
    method: 'POST',
    path: '/operator/accounts/:account_id/servers',
    scope: 'operator:write',
    tag,
    summary: 'Create a server for an account',
    description:
      'As `POST /servers` of the account, whose balance pays and whose quotas hold. The owner sees it at once, and the operator in the audit; the password is shown to the owner alone.',
    params: { account_id: operatorProblems.account_not_found },
    load: async ({ params: { account_id } }) => operated.requireAccount(options.db, account_id),
    body: ServerCreate,
    reply: { 202: OperatedServer },
    examples: { 202: { ...busy('create'), updated_at: MOMENT } },
    errors: [
      accountProblems.account_suspended,
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      catalogProblems.capacity_unavailable,
      catalogProblems.not_supported,
      portProblems.port_taken,
      networkProblems.network_address_unavailable,
      serverProblems.server_not_found,
      snapshotProblems.snapshot_not_found,
    ],
    run: ({ params: { account_id }, body, remember }) =>
      operated.orderFor(options, account_id, body, remember),
    recover: (_call, serverId) => operated.showOperatedServer(options, serverId),
  })
}

function updateRoute(options: OperatorServerOptions): Route {
  return route({
    id: 'updateOperatedServer',
    method: 'PATCH',
    path: '/operator/servers/:server_id',
    scope: 'operator:write',
    tag,
    summary: 'Change a server of any account, or resize it while it is stopped',
    description:
      'As `PATCH /servers/{server_id}` of its owner: a change of plan is an operation and a 202, at the price of the catalogue. The audit of its account names the operator.',
    ...onServer(options),
    body: ServerUpdate,
    reply: { 200: OperatedServer, 202: OperatedServer },
    examples: { 202: busy('resize') },
    problems: { server_state_conflict: conflict('resize', 'running') },
    errors: [
      ...STATE_ERRORS,
      accountProblems.account_suspended,
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      catalogProblems.capacity_unavailable,
    ],
    run: async ({ loaded, body, setStatus }) => {
      const { server, isBegun } = await operated.updateOperatedServer(options, loaded, body)
      if (isBegun) setStatus(202)
      return server
    },
  })
}

function holdingRoutes(options: OperatorServerOptions): Route[] {
  const texts = {
    suspend: {
      summary: 'Suspend one server of any account',
      description: `It is shut down at once, or after its operation in progress; it costs nothing, and its owner can only delete it. It stays suspended until \`resume\`, whatever its account pays, and the owner sees the reason as \`suspension_reason\`. ${AUDITED}`,
    },
    resume: {
      summary: 'Resume a server that an operator suspended',
      description: `It starts if it ran before, as soon as its account is active and the balance covers its servers. One that is not suspended stays as it is. ${AUDITED}`,
    },
  }
  return (['suspend', 'resume'] as const).map((type) =>
    route({
      id: `${type}Server`,
      method: 'POST',
      path: `/operator/servers/:server_id/${type}`,
      scope: 'operator:write',
      tag,
      ...texts[type],
      ...onServer(options),
      body: ServerReason,
      reply: { 200: OperatedServer },
      run: ({ loaded, body: { reason }, report, remember }) => {
        const isHeld = type === 'suspend'
        report({ event: isHeld ? 'server_suspended' : 'server_resumed', objectId: loaded.server_id })
        return operated.holdServer(options, loaded.server_id, { isHeld, reason, remember })
      },
      recover: ({ loaded }) => operated.showOperatedServer(options, loaded.server_id),
    }),
  )
}

function moveRoute(options: OperatorServerOptions): Route {
  return route({
    id: 'moveServer',
    method: 'POST',
    path: '/operator/servers/:server_id/move',
    scope: 'operator:write',
    tag,
    summary: 'Move a stopped server to another account',
    description:
      'Its ports, addresses, snapshots and backups go with it, and the other account pays from this second on, at its own prices and within its quotas. Everything else must be detached first: `server_attached` names it all, and nothing is moved. The account before has no access any more; description, labels, user data, SSH keys and passwords are forgotten, but what is on the disk stays. The audits of both accounts name the operator and the reason.',
    ...onServer(options),
    body: ServerMove,
    reply: { 200: OperatedServer },
    problems: {
      server_state_conflict: { current_status: 'running', allowed_statuses: ['stopped'] },
    },
    errors: [
      ...STATE_ERRORS,
      serverProblems.rescue_conflict,
      serverProblems.server_attached,
      accountProblems.account_suspended,
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
    ],
    run: ({ loaded, body: { reason, ...receiver }, report, remember }) => {
      report({ event: 'server_moved', objectId: loaded.server_id })
      return operated.moveOperatedServer(options, loaded.server_id, { receiver, reason, remember })
    },
    recover: ({ loaded }) => operated.showOperatedServer(options, loaded.server_id),
  })
}

const POWER = {
  start: 'Start a server of any account',
  stop: 'Stop a server of any account',
  reboot: 'Reboot a server of any account',
}

function powerRoutes(options: OperatorServerOptions): Route[] {
  return (['start', 'stop', 'reboot'] as const).map((type) =>
    route({
      id: `${type}OperatedServer`,
      path: `/operator/servers/:server_id/${type}`,
      summary: POWER[type],
      description: `As \`POST /servers/{server_id}/${type}\` of its owner, whose account must allow it. ${AUDITED}`,
      ...beginning(options, type),
      body: type === 'start' ? ServerReason : ServerStop,
      problems: {
        server_state_conflict: conflict(type, type === 'start' ? 'running' : 'stopped'),
        not_supported: { feature: 'firewalls' },
      },
      errors: [...STATE_ERRORS, ...(type === 'stop' ? [] : TURN_ON_ERRORS)],
      run: ({ loaded, body: { reason, ...request }, remember }) =>
        operated.begun(options, loaded, { reason, isStop: type === 'stop' }, (actor) =>
          options.servers.power(actor, loaded.server_id, { ...request, type }, remember),
        ),
    }),
  )
}

function deleteRoute(options: OperatorServerOptions): Route {
  return route({
    id: 'deleteOperatedServer',
    path: '/operator/servers/:server_id/delete',
    summary: 'Delete a server of any account, and its disk',
    description: `All data on its disk is lost for good, at once. One with \`delete_protection\` needs \`force\`. ${AUDITED}`,
    ...beginning(options, 'delete'),
    body: ServerTermination,
    errors: [serverProblems.delete_protected],
    run: ({ loaded, body: { reason, force }, report, remember }) => {
      report({ event: 'server_deleted', objectId: loaded.server_id })
      return operated.begun(options, loaded, { reason, isDeletion: true }, () =>
        options.servers.remove(loaded.server_id, { isForced: force, remember }),
      )
    },
  })
}

function systemRoutes(options: OperatorServerOptions): Route[] {
  return [
    route({
      id: 'rebuildOperatedServer',
      path: '/operator/servers/:server_id/rebuild',
      summary: 'Replace the disk of a server of any account by a new operating system',
      description:
        'As `POST /servers/{server_id}/rebuild` of its owner: all data on the disk is lost. The audit of its account names the operator.',
      ...beginning(options, 'rebuild'),
      body: RebuildRequest,
      problems: {
        server_state_conflict: conflict('rebuild', 'suspended'),
        not_supported: { feature: 'firewalls' },
      },
      errors: [
        ...STATE_ERRORS,
        ...TURN_ON_ERRORS,
        serverProblems.delete_protected,
        snapshotProblems.snapshot_not_found,
      ],
      run: ({ loaded, body, remember }) =>
        operated.begun(options, loaded, {}, (actor) => rebuild(options, actor, loaded, body, remember)),
    }),
    route({
      id: 'resetOperatedServerPassword',
      path: '/operator/servers/:server_id/reset_password',
      summary: 'Set a new password on a running server of any account',
      description:
        'As `POST /servers/{server_id}/reset_password` of its owner, who alone can read the new password. The audit of its account names the operator.',
      ...beginning(options, 'reset_password'),
      problems: {
        server_state_conflict: conflict('reset_password', 'stopped'),
        not_supported: { feature: 'reset_password' },
      },
      errors: [
        ...STATE_ERRORS,
        accountProblems.account_suspended,
        billingProblems.insufficient_balance,
        catalogProblems.not_supported,
      ],
      run: ({ loaded, remember }) =>
        operated.begun(options, loaded, {}, () => resetPassword(options, loaded, remember)),
    }),
  ]
}

function rescueRoutes(options: OperatorServerOptions): Route[] {
  const shared = (type: 'rescue' | 'unrescue') => ({
    ...beginning(options, type),
    problems: {
      server_state_conflict: conflict(type, 'suspended'),
      not_supported: { feature: type === 'rescue' ? ('rescue' as const) : ('firewalls' as const) },
    },
    errors: [
      ...STATE_ERRORS,
      ...TURN_ON_ERRORS,
      ...(type === 'unrescue' ? [serverProblems.rescue_conflict] : []),
    ],
  })
  return [
    route({
      id: 'rescueOperatedServer',
      path: '/operator/servers/:server_id/rescue',
      summary: 'Boot a server of any account into a rescue system',
      description:
        'As `POST /servers/{server_id}/rescue` of its owner, with SSH keys of the account; a generated password is shown to the owner alone. The audit of its account names the operator.',
      ...shared('rescue'),
      body: RescueRequest,
      run: ({ loaded, body, remember }) =>
        operated.begun(options, loaded, {}, (actor) => rescue(options, actor, loaded, body, remember)),
    }),
    route({
      id: 'unrescueOperatedServer',
      path: '/operator/servers/:server_id/unrescue',
      summary: 'Boot a server of any account from its own disk again',
      description:
        'As `POST /servers/{server_id}/unrescue` of its owner. The audit of its account names the operator.',
      ...shared('unrescue'),
      body: UnrescueRequest,
      run: ({ loaded, remember }) =>
        operated.begun(options, loaded, {}, () => unrescue(options, loaded, remember)),
    }),
  ]
}
