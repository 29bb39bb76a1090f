import { fundsLeft, insufficientBalance } from '../billing/ledger.ts'
import type { Queries } from '../database/database.ts'
import { ApiError } from '../http/contract/problem.ts'
import { findActive, inProgress } from '../operations/operations.ts'
import { costOrdered } from './cover.ts'
import { serverSubject } from './operations.ts'
import { serverProblems } from './schema.ts'
import { type Action, allowedIn, checkAction, SUSPENDED } from './states.ts'
import type { ServerTable } from './tables.ts'

/**
 * Checks that the status of a server, whose row is locked, allows an action.
 * @throws ApiError server_state_conflict, operation_in_progress, insufficient_balance
 */
export async function guard(tx: Queries, server: ServerTable, action: Action, force = false): Promise<void> {
  const verdict = checkAction(action, server, { force })
  if (verdict === 'allowed') return
  if (verdict === 'held' || (server.suspension_reason !== null && server.status === 'suspended'))
    throw conflict(server, action, `The operator has suspended this server: ${server.suspension_reason}`)
  if (verdict === 'insufficient_balance')
    throw insufficientBalance(
      await fundsLeft(tx, server.account_id),
      await costOrdered(tx, server.account_id),
      server.status_reason === SUSPENDED
        ? 'The server is suspended because the balance was used up; it resumes automatically once the balance covers all servers of the account. '
        : 'The server was suspended with its account and is about to resume. ',
    )
  if (verdict === 'operation_in_progress') {
    const active = await findActive(tx, serverSubject(server.server_id))
    const state =
      server.copying === null ? `The server is ${server.status}` : 'A snapshot of it is being made'
    throw inProgress(active, `${state}. Wait until that operation has finished.`)
  }
  if (verdict === 'rescue_conflict')
    throw new ApiError(
      serverProblems.rescue_conflict,
      server.rescue_id === null
        ? 'The server is not in rescue.'
        : `The server is in rescue, where ${action} is not possible. End that with unrescue first.`,
    )
  const needed = allowedIn[action].join(' or ')
  throw conflict(server, action, `The server is ${server.status}; ${action} requires it to be ${needed}.`)
}

function conflict({ status }: ServerTable, action: Action, detail: string): ApiError {
  return new ApiError(serverProblems.server_state_conflict, detail, {
    current_status: status,
    allowed_statuses: allowedIn[action],
  })
}

/** @throws ApiError delete_protected */
export function requireUnprotected({ delete_protection }: Pick<ServerTable, 'delete_protection'>): void {
  if (delete_protection)
    throw new ApiError(
      serverProblems.delete_protected,
      'The server is protected from deletion. Set delete_protection to false first.',
    )
}
