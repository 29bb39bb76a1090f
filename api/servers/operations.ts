import type { Size } from '../catalog/capacity.ts'
import type { Plan } from '../catalog/plans.ts'
import type { HostKey } from '../drivers/driver.ts'
import type { Subject } from '../operations/operations.ts'
import { dataOf } from '../operations/procedure.ts'
import type { OperationTable } from '../operations/tables.ts'
import type { ServerTable } from './tables.ts'

/** What an operation keeps that may turn a machine on. */
export interface BootData {
  /** False: the server is created and left off. */
  start_on_create?: boolean
  /** By when the guest must answer on ssh; there from power-on on. Milliseconds since the epoch. */
  ready_by?: number
  /** What the guest's ssh showed. */
  host_keys?: HostKey[]
}

/** What an operation keeps that turns a machine off. */
export interface OffData {
  /** Without asking the guest. */
  force?: boolean
  /** How long the guest may take to shut down. */
  timeout_seconds?: number
  /** When that time is over; there once the guest was asked. Milliseconds since the epoch. */
  off_by?: number
  /** The server becomes suspended rather than stopped, and after a top-up this. */
  suspend?: NonNullable<ServerTable['suspended_from']>
}

export interface ResizeData {
  plan: Plan
  /** What the new plan has more of; it is reserved until the operation ends. */
  growth: Size
}

/** What can be carried out on a server, and what each of it keeps. */
export interface ServerOperations {
  create: BootData
  start: BootData
  stop: OffData
  reboot: BootData & OffData
  resize: ResizeData
  delete: object
}
export type ServerOperation = keyof ServerOperations

const MINUTE = 60_000

/** Where an operation begins and when it has taken too long, also with a download or a full start queue before it. */
export const plans: {
  readonly [Type in ServerOperation]: { deadlineMs: number; first(data: ServerOperations[Type]): string }
} = {
  create: { first: () => 'image', deadlineMs: 90 * MINUTE },
  start: { first: () => 'image', deadlineMs: 60 * MINUTE },
  stop: { first: ({ force }) => (force ? 'power_off' : 'shutdown'), deadlineMs: 20 * MINUTE },
  reboot: { first: ({ force }) => (force ? 'reset' : 'shutdown'), deadlineMs: 60 * MINUTE },
  resize: { first: () => 'define', deadlineMs: 10 * MINUTE },
  delete: { first: () => 'destroy', deadlineMs: 60 * MINUTE },
}
export const operationTypes = Object.keys(plans)

/** What servers are called as the subjects of operations. */
export const SUBJECT_TYPE = 'server'

export function subjectOf(serverId: string): Subject {
  return { subject_type: SUBJECT_TYPE, subject_id: serverId }
}

/** What an operation on a server keeps, where it is of this type. */
export function dataIf<Type extends ServerOperation>(
  type: Type,
  operation: OperationTable | undefined,
): ServerOperations[Type] | null {
  return operation?.type === type ? dataOf<ServerOperations[Type]>(operation) : null
}
