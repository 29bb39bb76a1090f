import { balanceOf } from '../billing/ledger.ts'
import { changeRate } from '../billing/rates.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Engine } from '../operations/engine.ts'
import { becomeSuspended, orderOperation, SUSPENDED } from './lifecycle/procedures.ts'
import { listOverdue, listResumable, lockServer, updateServer } from './store.ts'

interface SuspensionOptions {
  db: Database
  clock: Clock
  engine: Engine
  /** How long servers go on after the balance is used up. */
  graceMs: number
}

/**
 * Suspends the servers of accounts whose balance has been used up for longer than the time of grace, and resumes
 * them after a top-up. What is in the middle of an operation gets its turn at a later look.
 */
export async function suspendAndResume(options: SuspensionOptions): Promise<void> {
  const { db, clock, engine, graceMs } = options
  for (const { server_id } of await listOverdue(db, clock.now() - graceMs))
    await db.transaction().execute((tx) => suspend(tx, server_id, options))
  for (const { server_id } of await listResumable(db))
    await db.transaction().execute((tx) => resume(tx, server_id, options))
  engine.wake()
}

/** A machine that may be on is stopped for real: by an operation, which ends in `suspended`. */
async function suspend(tx: Queries, serverId: string, { clock }: SuspensionOptions): Promise<void> {
  const server = await lockServer(tx, serverId)
  // Read once more behind the lock: the top-up may have come meanwhile.
  if (!server || (await balanceOf(tx, server.account_id)) > 0) return
  if (server.status === 'stopped') return becomeSuspended(tx, server, 'stopped', clock.now())
  if (server.status !== 'running' && server.status !== 'error') return
  // What was broken is not started again.
  const suspend = server.status === 'running' ? 'running' : 'stopped'
  await orderOperation(tx, server, 'stop', { suspend }, clock.now())
  await updateServer(tx, serverId, { status: 'stopping', status_reason: SUSPENDED, updated_at: clock.now() })
}

async function resume(tx: Queries, serverId: string, { clock }: SuspensionOptions): Promise<void> {
  const now = clock.now()
  const server = await lockServer(tx, serverId)
  if (server?.status !== 'suspended' || (await balanceOf(tx, server.account_id)) <= 0) return
  const isStarted = server.suspended_from === 'running'
  if (isStarted) await orderOperation(tx, server, 'start', {}, now)
  await updateServer(tx, serverId, {
    status: isStarted ? 'starting' : 'stopped',
    status_reason: null,
    suspended_from: null,
    updated_at: now,
  })
  await changeRate(tx, server, server, now)
}
