import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { found, type ProblemType } from '../http/contract/problem.ts'
import type { SetHeader } from '../http/contract/route.ts'
import { findActive, findOperation } from '../operations/operations.ts'
import { OPERATION, type Operation, operationProblems } from '../operations/schema.ts'
import type { OperationTable } from '../operations/tables.ts'
import { operationView } from '../operations/view.ts'
import { plans, type ServerOperation, serverSubject } from './operations.ts'
import { serverProblems } from './schema.ts'
import { allowedIn, isBusy, type ServerStatus, type StatusOperation, statusDuring } from './states.ts'
import type { ServerTable } from './tables.ts'

/** Errors of a server that is not in a state for the request. */
export const STATE_ERRORS: readonly ProblemType[] = [
  serverProblems.server_state_conflict,
  operationProblems.operation_in_progress,
]

/** The example of a refusal on the route of this action. */
export function conflict(action: keyof typeof allowedIn, current_status: ServerStatus) {
  return { current_status, allowed_statuses: allowedIn[action] }
}

/** The example of an operation that has just been accepted. */
export function accepting(type: ServerOperation) {
  const step = plans[type].first({} as never) // no type needs its data for the usual first step
  return { type, step, status: 'pending', progress: 0, started_at: null, finished_at: null }
}

/** The example of a server whose operation has just been accepted: its machine is off. */
export function busy(type: StatusOperation) {
  const { status, progress } = accepting(type)
  const current_operation = { operation_id: OPERATION, type, status, progress }
  return { status: statusDuring[type], started_at: null, current_operation }
}

export function operationPath({ server_id, operation_id }: OperationTable): string {
  return `/v1/servers/${server_id}/operations/${operation_id}`
}

export function accepted(
  operation: OperationTable,
  setHeader: (name: string, value: string) => void,
): Operation {
  setHeader('location', operationPath(operation))
  return operationView(operation)
}

/** Replies to a repeated request with the operation that the first one began. @throws ApiError server_not_found */
export function acceptedBefore({ db, clock }: { db: Database; clock: Clock }) {
  return async (
    {
      actor,
      loaded,
      setHeader,
    }: { actor: { accountId: string }; loaded: { server_id: string }; setHeader: SetHeader },
    operationId: string,
  ): Promise<Operation> => {
    const subject = serverSubject(loaded.server_id)
    const operation = await findOperation(db, actor.accountId, operationId, clock.now(), subject)
    return accepted(found(operation, serverProblems.server_not_found), setHeader)
  }
}

/** The operation that is in progress on a server. */
export async function activeOn(
  db: Database,
  server: Pick<ServerTable, 'server_id' | 'status' | 'copying' | 'backing_up'>,
): Promise<OperationTable | undefined> {
  return isBusy(server) ? findActive(db, serverSubject(server.server_id)) : undefined
}
