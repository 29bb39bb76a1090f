import type { Actor } from '../../http/contract/auth.ts'
import { found, invalid } from '../../http/contract/problem.ts'
import type { Remember } from '../../http/contract/route.ts'
import { begin, type Started } from '../begin.ts'
import { guard } from '../guard.ts'
import { loginColumns, readLogin } from '../login.ts'
import type { RescueData, ServerOperations } from '../operations.ts'
import { type RebuildOptions, requireMeans } from '../rebuild/rebuild.ts'
import { serverProblems } from '../schema.ts'
import { lockServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import type { RescueRequest } from './schema.ts'

/**
 * Begins to boot a server into the rescue system, beside which it keeps its disk.
 * @throws ApiError validation_failed, server_not_found, server_state_conflict, operation_in_progress,
 *   insufficient_balance, not_supported
 */
export async function rescue(
  options: RebuildOptions,
  actor: Actor,
  server: ServerTable,
  request: RescueRequest,
  remember: Remember,
): Promise<Started> {
  await options.capacity.require(server, 'rescue')
  const { keys, issues } = await readLogin(options.db, actor.accountId, request)
  if (issues.length > 0) throw invalid(issues)
  const { ssh_keys, password } = loginColumns(options.secrets, keys, null)
  const data: RescueData = { rescue_login: JSON.stringify({ ssh_keys, password }) }
  return turn(options, server, 'rescue', data, remember)
}

/**
 * Begins to boot a server from its own disk again.
 * @throws ApiError server_not_found, server_state_conflict, rescue_conflict, operation_in_progress, insufficient_balance
 */
export function unrescue(options: RebuildOptions, server: ServerTable, remember: Remember): Promise<Started> {
  return turn(options, server, 'unrescue', {}, remember)
}

async function turn<Type extends 'rescue' | 'unrescue'>(
  options: RebuildOptions,
  { server_id }: ServerTable,
  type: Type,
  data: ServerOperations[Type],
  remember: Remember,
): Promise<Started> {
  const { db, clock, engine } = options
  const started = await db.transaction().execute(async (tx) => {
    const server = found(await lockServer(tx, server_id), serverProblems.server_not_found)
    await guard(tx, server, type)
    await requireMeans(tx, options, server, type)
    const begun = await begin(tx, server, type, data, { now: clock.now() })
    await remember(tx, begun.operation.operation_id)
    return begun
  })
  engine.wake()
  return started
}
