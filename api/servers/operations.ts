import type { Plan } from '../catalog/plans.ts'
import type { Size } from '../catalog/usage.ts'
import type { HostKey } from '../drivers/driver.ts'
import type { SnapshotState } from '../drivers/snapshots.ts'
import type { Subject } from '../operations/operations.ts'
import { dataOf } from '../operations/procedure.ts'
import type { OperationTable } from '../operations/tables.ts'
import type { ServerTable } from './tables.ts'

/** Time that a guest may take from power-on to its SSH banner. Emulated guests on a busy host need minutes. */
export const BOOT_MS = 300_000

/** Data of an operation that may turn a machine on. */
export interface BootData {
  /** If false, the server is created but not turned on. */
  start_on_create?: boolean
  /** Deadline for the guest to answer on SSH, set at power-on. Milliseconds since the epoch. */
  ready_by?: number
  /** True once the machine has its disk. */
  has_disk?: boolean
  /** Host keys that the guest's SSH presented. */
  host_keys?: HostKey[]
}

/** Data of an operation that turns a machine off. */
export interface OffData {
  /** True to power off without shutting down the guest. */
  force?: boolean
  /** Time that the guest may take to shut down. */
  timeout_seconds?: number
  /** End of that time, set when the shutdown was requested. Milliseconds since the epoch. */
  off_by?: number
  /** If set, the server becomes suspended instead of stopped, and returns to this status after a top-up. */
  suspend?: NonNullable<ServerTable['suspended_from']>
}

export interface ResizeData {
  plan: Plan
  /** Growth from the old plan to the new one; it is reserved until the operation ends. */
  growth: Size
  /** True if only the disk grows, while the server runs. */
  isLive?: boolean
}

/** Data of a rebuild: columns of the server's row, which change once the old disk is gone. */
export interface RebuildData extends BootData {
  login: Pick<ServerTable, 'template_id' | 'source_id' | 'username' | 'ssh_keys' | 'password' | 'user_data'>
  /** The instance of the next disk (default: a new one, named after the operation). */
  instance_id?: string
  /** If set, the server stays suspended, and returns to this status after a top-up. */
  suspend?: NonNullable<ServerTable['suspended_from']>
}

/** Data of a rescue: a column of the server's row, which changes once the machine is off. */
export interface RescueData extends BootData, OffData {
  rescue_login: string
}

export interface SnapshotData {
  snapshot_id: string
  /** The full backup on which the copy may build as an incremental one; undefined: the copy is full. */
  base_id?: string
  /** The finished copy. */
  made?: Omit<Extract<SnapshotState, { state: 'ready' }>, 'state'>
}

/** Data of a new password, sealed; it becomes a column of the server's row once the guest has it. */
export interface PasswordData {
  password: string
}

/** Types of operations on a server, each with its data. */
export interface ServerOperations {
  create: BootData
  start: BootData
  stop: OffData
  reboot: BootData & OffData
  resize: ResizeData
  rebuild: RebuildData
  reset_password: PasswordData
  restore: RebuildData
  rescue: RescueData
  unrescue: BootData & OffData
  snapshot: SnapshotData
  backup: SnapshotData
  delete: object
}
export type ServerOperation = keyof ServerOperations

const MINUTE = 60_000

/** The first step of each operation, and its deadline, which allows for a download, a full start queue, or a copy that lies off site. */
export const plans: {
  readonly [Type in ServerOperation]: { deadlineMs: number; first(data: ServerOperations[Type]): string }
} = {
  create: { first: () => 'image', deadlineMs: 90 * MINUTE },
  start: { first: () => 'image', deadlineMs: 60 * MINUTE },
  stop: { first: ({ force }) => (force ? 'power_off' : 'shutdown'), deadlineMs: 20 * MINUTE },
  reboot: { first: ({ force }) => (force ? 'reset' : 'shutdown'), deadlineMs: 60 * MINUTE },
  resize: { first: ({ isLive }) => (isLive ? 'grow' : 'define'), deadlineMs: 10 * MINUTE },
  rebuild: { first: () => 'prepare', deadlineMs: 90 * MINUTE },
  reset_password: { first: () => 'set', deadlineMs: 5 * MINUTE },
  restore: { first: () => 'prepare', deadlineMs: 12 * 60 * MINUTE },
  rescue: { first: () => 'prepare', deadlineMs: 90 * MINUTE },
  unrescue: { first: () => 'shutdown', deadlineMs: 60 * MINUTE },
  snapshot: { first: () => 'copy', deadlineMs: 12 * 60 * MINUTE },
  backup: { first: () => 'copy', deadlineMs: 12 * 60 * MINUTE },
  // A delete ignores its deadline (Procedure.endsDone).
  delete: { first: () => 'destroy', deadlineMs: 60 * MINUTE },
}
export const operationTypes = Object.keys(plans)

/** The name of servers as subjects of operations. */
export const SERVER_SUBJECT = 'server'

export function serverSubject(serverId: string): Subject {
  return { subject_type: SERVER_SUBJECT, subject_id: serverId }
}

/** The data of an operation if it is of this type, else null. */
export function dataIf<Type extends ServerOperation>(
  type: Type,
  operation: OperationTable | undefined,
): ServerOperations[Type] | null {
  return operation?.type === type ? dataOf<ServerOperations[Type]>(operation) : null
}

/** The name of servers' drives as subjects of operations, which leave the status of the server as it is. */
export const DRIVE_SUBJECT = 'drive'

export function driveSubject(serverId: string): Subject {
  return { subject_type: DRIVE_SUBJECT, subject_id: serverId }
}

/** Data of a change of the ISO in a drive. The server's row already names the new ISO. */
export interface DriveData {
  before: string | null
}

/** The types of operations on drives. */
export const driveTypes = ['insert_iso', 'eject_iso'] as const
