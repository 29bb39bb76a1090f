import { requireGrace } from '../../billing/ledger.ts'
import type { Capacity } from '../../catalog/capacity.ts'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { found } from '../../http/contract/problem.ts'
import type { Remember } from '../../http/contract/route.ts'
import type { Engine } from '../../operations/engine.ts'
import { generatePassword, type Secrets } from '../../secrets.ts'
import { begin, type Started } from '../begin.ts'
import { guard } from '../guard.ts'
import { serverProblems } from '../schema.ts'
import { lockServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'

export interface PasswordOptions {
  db: Database
  clock: Clock
  capacity: Capacity
  secrets: Secrets
  engine: Engine
  /** Time that servers keep running after the balance is used up. */
  graceMs: number
}

/**
 * Begins to set a new password for the login user of a running server.
 * @throws ApiError server_not_found, server_state_conflict, operation_in_progress, insufficient_balance, not_supported
 */
export async function resetPassword(
  { db, clock, capacity, secrets, engine, graceMs }: PasswordOptions,
  loaded: ServerTable,
  remember: Remember,
): Promise<Started> {
  await capacity.require(loaded, 'reset_password')
  const password = secrets.seal(generatePassword())
  const started = await db.transaction().execute(async (tx) => {
    const server = found(await lockServer(tx, loaded.server_id), serverProblems.server_not_found)
    await guard(tx, server, 'reset_password')
    const now = clock.now()
    // Otherwise a guest that never takes one would keep its server from being suspended.
    await requireGrace(tx, server.account_id, server.price_hour, now - graceMs)
    // The reason stays, because a new password changes nothing about how the guest boots.
    const change = { status_reason: server.status_reason }
    const begun = await begin(tx, server, 'reset_password', { password }, { now, change })
    await remember(tx, begun.operation.operation_id)
    return begun
  })
  engine.wake()
  return started
}
