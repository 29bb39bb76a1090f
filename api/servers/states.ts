import type { ServerOperation } from './operations.ts'
import type { ServerStatus, ServerTable } from './tables.ts'

export type { ServerStatus }

/** The actions on a server. `update` changes metadata, `resize` the configuration, `grow_disk` only its disk. */
export const actions = [
  'start',
  'stop',
  'reboot',
  'console',
  'update',
  'resize',
  'grow_disk',
  'rebuild',
  'reset_password',
  'restore',
  'rescue',
  'unrescue',
  'snapshot',
  'delete',
] as const
export type Action = (typeof actions)[number]

/** The operation that a transient status belongs to. Every other status is stable. */
export const transient = {
  creating: 'create',
  starting: 'start',
  stopping: 'stop',
  rebooting: 'reboot',
  resizing: 'resize',
  rebuilding: 'rebuild',
  resetting_password: 'reset_password',
  restoring: 'restore',
  rescuing: 'rescue',
  unrescuing: 'unrescue',
  deleting: 'delete',
} as const satisfies Partial<Record<ServerStatus, StatusOperation>>

/** An operation that has a status of its own: all but copies of the disk. */
export type StatusOperation = Exclude<ServerOperation, 'snapshot' | 'backup'>

/** True if an operation is active on the server, and its status shows it: both are written together. */
export function isTransient(status: ServerStatus): boolean {
  return status in transient
}

/** True if an operation is active on the server. */
export function isBusy({
  status,
  copying,
  backing_up,
}: Pick<ServerTable, 'status' | 'copying' | 'backing_up'>): boolean {
  return copying !== null || backing_up !== null || isTransient(status)
}

/** The status of a server while an operation of this type is carried out. */
export const statusDuring = Object.fromEntries(
  Object.entries(transient).map(([status, type]) => [type, status]),
  // The inverse of a one-to-one table; fromEntries forgets the keys.
) as Record<StatusOperation, keyof typeof transient>

export const statuses = [
  'creating',
  'running',
  'stopped',
  'starting',
  'stopping',
  'rebooting',
  'resizing',
  'rebuilding',
  'resetting_password',
  'restoring',
  'rescuing',
  'unrescuing',
  'suspended',
  'error',
  'deleting',
] as const satisfies readonly ServerStatus[]

/** Statuses in which a machine may be on. */
export const poweredStatuses = [
  'creating',
  'running',
  'starting',
  'stopping',
  'rebooting',
  'resizing',
  'rebuilding',
  'resetting_password',
  'restoring',
  'rescuing',
  'unrescuing',
] as const satisfies readonly ServerStatus[]

/** The state rules: in which statuses an action is accepted. Guards, allowed_actions and the docs read this table. */
export const allowedIn = {
  start: ['stopped', 'error'],
  stop: ['running', 'error'],
  reboot: ['running', 'error'],
  console: poweredStatuses,
  resize: ['stopped'],
  grow_disk: ['running', 'stopped'],
  rebuild: ['running', 'stopped', 'error'],
  reset_password: ['running'],
  restore: ['running', 'stopped', 'error'],
  rescue: ['running', 'stopped', 'error'],
  unrescue: ['running', 'stopped', 'error'],
  snapshot: ['running', 'stopped'],
  update: statuses.filter((status) => status !== 'deleting'),
  delete: statuses,
} as const satisfies Record<Action, readonly ServerStatus[]>

/** The actions that `delete_protection` forbids, because the data on the disk is lost with them. */
const losesDisk: readonly Action[] = ['rebuild', 'restore', 'delete']

/** The actions that concern the system on the server's own disk, which does not run in rescue. */
const onOwnSystem: readonly Action[] = ['reset_password', 'snapshot']

/**
 * The actions that are possible while a snapshot is being made. A forced stop is possible, too: it cancels the
 * snapshot.
 */
const whileCopying: readonly Action[] = ['console', 'update', 'delete']

/** The actions on a server that the operator wants suspended. Others would keep it busy, so that it never is. */
const whileHeld: readonly Action[] = ['stop', ...whileCopying]

/** A forced stop replaces an operation that turns the machine off anyway. */
const forcedStopIn: readonly ServerStatus[] = [
  ...allowedIn.stop,
  'stopping',
  'rebooting',
  'rescuing',
  'unrescuing',
]

export type Verdict =
  | 'allowed'
  | 'operation_in_progress'
  | 'server_state_conflict'
  | 'held'
  | 'rescue_conflict'
  | 'insufficient_balance'

/** The columns that decide which actions are allowed. */
export type ActionState = Pick<ServerTable, 'status' | 'copying' | 'rescue_id' | 'suspension_reason'>

export function checkAction(
  action: Action,
  { status, copying, rescue_id, suspension_reason }: ActionState,
  { force = false } = {},
): Verdict {
  const allowed: readonly ServerStatus[] = action === 'stop' && force ? forcedStopIn : allowedIn[action]
  const mayJoin = copying === null || whileCopying.includes(action) || (action === 'stop' && force)
  if (!mayJoin) return 'operation_in_progress'
  if (allowed.includes(status)) {
    const isWrong = rescue_id === null ? action === 'unrescue' : onOwnSystem.includes(action)
    if (isWrong) return 'rescue_conflict'
    return suspension_reason === null || whileHeld.includes(action) ? 'allowed' : 'held'
  }
  if (status in transient) return 'operation_in_progress'
  return status === 'suspended' && action === 'start' ? 'insufficient_balance' : 'server_state_conflict'
}

/** The machine should be on, and no operation is in progress on it. */
export const watchedIn: readonly ServerStatus[] = ['running']

/** The machine should be off, and no operation is in progress on it. */
export const offIn: readonly ServerStatus[] = ['stopped', 'suspended']

/** The actions besides `start` after which a server runs. */
const endsOn: readonly Action[] = ['reboot', 'rebuild', 'restore', 'rescue', 'unrescue']

/** True if an action turns on a machine that is off: a reboot of a server in `error` is a start. */
export function turnsOn(action: Action, status: ServerStatus): boolean {
  return action === 'start' || (endsOn.includes(action) && status !== 'running')
}

/** Statuses that can be suspended, each with the status after a top-up. A broken server is not started again. */
export const suspendable: Partial<Record<ServerStatus, 'running' | 'stopped'>> = {
  running: 'running',
  stopped: 'stopped',
  error: 'stopped',
}
// The keys of a table of statuses.
export const suspendableIn = Object.keys(suspendable) as ServerStatus[]

/** The status reason of a running server whose guest has not answered yet; the reconciler keeps probing it. */
export const BOOT_TIMEOUT = 'boot_timeout'

/** The status reason of a server that is suspended because the balance is used up. */
export const SUSPENDED = 'balance_depleted'

/** The status reason of a server that the operator has suspended by itself. */
export const HELD = 'server_suspended'

/** True if the machine is known to be off, so that nothing has to be stopped. */
export const isOff = (status: ServerStatus): boolean => status === 'stopped'

/** True if a server that has run costs nothing. */
export const isFree = (status: ServerStatus): boolean => status === 'suspended' || status === 'deleting'

/** Statuses of servers that are about to be billed. */
export const becomingBilledIn = [
  'creating',
  'starting',
  'rebooting',
  'resizing',
  'rebuilding',
  'restoring',
  'rescuing',
  'unrescuing',
] as const satisfies readonly ServerStatus[]

/** The actions that are allowed now. */
export function allowedActions(server: ActionState & Pick<ServerTable, 'delete_protection'>): Action[] {
  return actions.filter((action) => {
    if (losesDisk.includes(action) && server.delete_protection) return false
    return checkAction(action, server) === 'allowed'
  })
}
