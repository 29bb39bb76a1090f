import { findAccount, lockAccount } from '../accounts/accounts.ts'
import { isClosed } from '../accounts/status.ts'
import type { AccountTable } from '../accounts/tables.ts'
import { fundsLeft } from '../billing/ledger.ts'
import type { Clock } from '../clock.ts'
import {
  attemptAll,
  type Database,
  inTransaction,
  inTransactions,
  type Queries,
} from '../database/database.ts'
import { found } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import type { Engine } from '../operations/engine.ts'
import { snapshotsOfClosed } from '../snapshots/queries.ts'
import { dropSnapshot } from '../snapshots/snapshots.ts'
import { billServer } from './backup-pricing.ts'
import { begin } from './begin.ts'
import { missingToResume } from './cover.ts'
import { beginDelete } from './deletion.ts'
import { serverProblems } from './schema.ts'
import { HELD, isOff, SUSPENDED, suspendable } from './states.ts'
import { lockServer, updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'
import {
  listDoomed,
  listHeld,
  listHeldAlone,
  listOverdue,
  listReprieved,
  listResumable,
} from './to-suspend.ts'

export interface SuspensionOptions {
  db: Database
  clock: Clock
  engine: Engine
  /** Time that servers keep running after the balance is used up. */
  graceMs: number
  /** The time after which suspended servers are deleted; null: never. */
  keepSuspendedMs: number | null
}

/**
 * Suspends the servers of accounts that are suspended or closed, or whose balance has been used up for longer than the
 * grace period, and resumes them when the account is active and its balance covers them. Servers with an operation in
 * progress are handled at a later check, and one that fails keeps no other waiting.
 */
export async function suspendAndResume(options: SuspensionOptions): Promise<void> {
  const { db, clock, engine, graceMs } = options
  const suspendAll = (servers: readonly { server_id: string }[]) =>
    inTransactions(db, servers, (tx, { server_id }) => suspend(tx, server_id, options))
  try {
    await attemptAll([
      async () => suspendAll([...(await listHeld(db)), ...(await listHeldAlone(db))]),
      async () => suspendAll(await listOverdue(db, clock.now() - graceMs)),
      async () =>
        inTransactions(db, await resumable(db), (tx, { server_id }) => resume(tx, server_id, options)),
      () => deleteOrKeep(options),
      async () =>
        inTransactions(db, await snapshotsOfClosed(db, clock.now() - CLOSED_MS), (tx, copy) =>
          dropOfClosed(tx, copy, clock.now()),
        ),
    ])
  } finally {
    engine.wake()
  }
}

/** Days between the closing of an account and the deletion of its servers, in which the operator can reopen it. */
export const CLOSED_DAYS = 7
const CLOSED_MS = CLOSED_DAYS * 24 * 3600_000

/** Deletes a copy of a closed account, unless the account was reopened since the copies were listed. */
async function dropOfClosed(
  tx: Queries,
  { snapshot_id, account_id }: { snapshot_id: string; account_id: string },
  now: number,
): Promise<void> {
  await lockAccount(tx, account_id)
  if (await isClosed(tx, account_id)) await dropSnapshot(tx, snapshot_id, now)
}

/**
 * Sets the time at which suspended servers will be deleted, and deletes those whose time has come. An announced time
 * holds even if the setting changes, unless it is turned off.
 */
async function deleteOrKeep({ db, clock, keepSuspendedMs }: SuspensionOptions): Promise<void> {
  const now = clock.now()
  const isKept = keepSuspendedMs === null
  if (isKept) await reprieve(db, await listReprieved(db), now)
  await inTransactions(db, await listDoomed(db, now, { onlyClosed: isKept }), async (tx, { server_id }) => {
    const server = await lockServer(tx, server_id)
    if (server?.status !== 'suspended') return
    const account = await findAccount(tx, server.account_id)
    if (account.frozen_at !== null) return
    const isClosed = account.status === 'closed'
    const keepMs = isClosed ? CLOSED_MS : keepSuspendedMs
    if (keepMs === null) return
    if (server.delete_at === null)
      return updateServer(tx, server, { delete_at: now + keepMs, updated_at: now })
    // The account has just paid, so the next check resumes the server.
    const isPaid = (await reasonToSuspend(tx, server, account)) === null
    if (isPaid && !(await missingToResume(tx, server.account_id))) return
    if (server.delete_at <= now) await beginDelete(tx, server, now)
  })
}

/** Cancels the planned deletion of these servers. */
async function reprieve(db: Queries, servers: readonly { server_id: string }[], now: number): Promise<void> {
  for (const { server_id } of servers)
    await inTransaction(db, async (tx) => {
      const server = await lockServer(tx, server_id)
      if (server) await updateServer(tx, server, { delete_at: null, updated_at: now })
    })
}

/** Cancels the planned deletion of an account's servers, because the account is reopened or frozen. */
export async function reprieveAll(tx: Queries, accountId: string, now: number): Promise<void> {
  await reprieve(tx, await listReprieved(tx, accountId), now)
}

/**
 * Lists the servers to resume. An account's servers resume together: the cost of one that resumed first could prevent
 * the others.
 */
async function resumable(db: Database) {
  const missing = new Map<string, number | null>()
  const servers = await listResumable(db)
  for (const { account_id } of servers)
    if (!missing.has(account_id)) missing.set(account_id, await missingToResume(db, account_id))
  return servers.filter(
    ({ account_id, status_reason }) => status_reason !== SUSPENDED || !missing.get(account_id),
  )
}

/** Suspends a server. If its machine may be on, an operation stops the machine and ends in `suspended`. */
async function suspend(
  tx: Queries,
  serverId: string,
  { clock }: Pick<SuspensionOptions, 'clock'>,
): Promise<void> {
  const now = clock.now()
  const server = await lockServer(tx, serverId)
  if (!server || server.copying !== null) return
  // The reason is read again under the lock, because a top-up may have arrived meanwhile.
  const account = await findAccount(tx, server.account_id)
  const reason = await reasonToSuspend(tx, server, account)
  if (reason === null) return
  const suspend = suspendable[server.status]
  if (!suspend) return
  if (isOff(server.status)) return becomeSuspended(tx, server, { from: suspend, reason, now })
  // A frozen account's guest is powered off at once: its owner may have prepared it to destroy evidence during a
  // shutdown.
  const force = reason === 'account_suspended' && account.frozen_at !== null
  await begin(
    tx,
    server,
    'stop',
    { suspend, ...(force ? { force } : {}) },
    { now, change: { status_reason: reason } },
  )
}

/** Suspends a server, whose row is locked: it costs nothing until a top-up or the operator resumes it. */
export async function becomeSuspended(
  tx: Queries,
  server: ServerTable,
  { from, reason, now }: { from: NonNullable<ServerTable['suspended_from']>; reason: string; now: number },
): Promise<void> {
  await updateServer(tx, server, {
    status: 'suspended',
    status_reason: reason,
    suspended_from: from,
    started_at: null,
    updated_at: now,
  })
  if (server.billed_since !== null) await billServer(tx, server, false, now)
}

/** @param known the server's account, if it was read since the server was locked */
async function reasonToSuspend(
  tx: Queries,
  { account_id, suspension_reason }: ServerTable,
  known?: AccountTable,
): Promise<string | null> {
  if ((known ?? (await findAccount(tx, account_id))).status !== 'active') return 'account_suspended'
  if (suspension_reason !== null) return HELD
  return (await fundsLeft(tx, account_id)) > 0 ? null : SUSPENDED
}

/**
 * Suspends a single server, at once or after its operation in progress, or lets it resume.
 * @param reason the operator's reason, which the customer sees; null: the server may resume
 * @throws ApiError server_not_found
 */
export async function hold(
  options: Pick<SuspensionOptions, 'db' | 'clock' | 'engine'>,
  serverId: string,
  reason: string | null,
  remember: Remember = async () => {},
): Promise<void> {
  const { db, clock, engine } = options
  await db.transaction().execute(async (tx) => {
    const server = found(await lockServer(tx, serverId), serverProblems.server_not_found)
    await remember(tx, serverId)
    if (server.suspension_reason === reason) return
    const now = clock.now()
    const change = {
      suspension_reason: reason,
      hold_changed_at: changedAt(server, reason, now),
      updated_at: now,
    }
    if (reason === null) await updateServer(tx, server, { ...change, ...(await leftOver(tx, server)) })
    else await updateServer(tx, server, { ...change, ...(await heldNow(tx, server)) })
    if (reason !== null) await suspend(tx, serverId, options)
    else if (!(await missingToResume(tx, server.account_id))) await resume(tx, serverId, options)
  })
  engine.wake()
}

/** The time from which a mail about a hold is due; null: the hold ended before its mail was sent. */
function changedAt(server: ServerTable, reason: string | null, now: number): number | null {
  return reason === null && server.hold_changed_at !== null ? null : now
}

/** The further changes to a server that the operator suspends while it is already suspended for another reason. */
async function heldNow(tx: Queries, server: ServerTable): Promise<Partial<ServerTable>> {
  const isClosed = (await findAccount(tx, server.account_id)).status === 'closed'
  return server.status !== 'suspended' || isClosed ? {} : { status_reason: HELD, delete_at: null }
}

/** The further changes to a suspended server that the operator releases: any remaining reason comes from its account. */
async function leftOver(tx: Queries, server: ServerTable): Promise<Partial<ServerTable>> {
  if (server.status !== 'suspended') return {}
  const rest = await reasonToSuspend(tx, { ...server, suspension_reason: null })
  return { status_reason: rest ?? SUSPENDED }
}

async function resume(
  tx: Queries,
  serverId: string,
  { clock }: Pick<SuspensionOptions, 'clock'>,
): Promise<void> {
  const now = clock.now()
  const server = await lockServer(tx, serverId)
  if (server?.status !== 'suspended' || (await reasonToSuspend(tx, server)) !== null) return
  const change = { status_reason: null, suspended_from: null, delete_at: null }
  if (server.suspended_from === 'running') await begin(tx, server, 'start', {}, { now, change })
  else await updateServer(tx, server, { ...change, status: 'stopped', updated_at: now })
  // A server that was never billed, such as one whose create failed, stays free.
  if (server.billed_since !== null) await billServer(tx, server, true, now)
}
