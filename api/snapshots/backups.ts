import { findAccount, lockAccount } from '../accounts/accounts.ts'
import { pricedFor } from '../accounts/prices.ts'
import { requireRoom } from '../accounts/quotas.ts'
import { frozenAccounts } from '../accounts/status.ts'
import { beginRate } from '../billing/rates.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { ApiError, found } from '../http/contract/problem.ts'
import { billedSnapshot, snapshotPrice } from './billing.ts'
import { planBoot } from './boot-checks.ts'
import { tell } from './events.ts'
import { snapshotProblems } from './schema.ts'
import {
  type Copy,
  copyColumns,
  dropSnapshot,
  lockSnapshot,
  ofAccount,
  snapshotQuota,
  writeSnapshot,
} from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { verifySoon } from './verification.ts'
import { billedGb } from './view.ts'

/** The most backups kept of a server; the oldest is deleted once another backup is ready. */
export const MOST_BACKUPS = 7
/** The most differences to one full backup; the next backup is full again. */
export const MOST_DIFFERENCES = 6
/** The days for which backups are kept after their server is deleted, or its backups are turned off. */
export const BACKUPS_KEPT_DAYS = 7
export const BACKUPS_KEPT_MS = BACKUPS_KEPT_DAYS * 24 * 3600_000
/** The most expiring backups of an account: otherwise short-lived servers would fill a disk. */
const MOST_EXPIRING = 70
const SOME = 200

/** True if a server is being created or restored from a snapshot or backup, whose row is locked. */
export type IsUsing = (tx: Queries, snapshotId: string) => Promise<boolean>

function backupsOf(db: Queries, serverId: string) {
  return db
    .selectFrom('snapshots')
    .where('server_id', '=', serverId)
    .where('item_type', '=', 'backup')
    .where('deleted_at', 'is', null)
}

/** The time of a server's newest backup; null: it has none. */
export async function newestBackupAt(db: Queries, serverId: string): Promise<number | null> {
  const newest = await backupsOf(db, serverId)
    .select('created_at')
    .orderBy('snapshot_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest?.created_at ?? null
}

/**
 * Returns the full backup on which a server's next backup may build; null: the next one is full, too. The
 * backup after a damaged one is full: the damage may be in the full backup that all its differences share.
 */
export async function fullBackup(db: Queries, serverId: string): Promise<string | null> {
  const newest = await backupsOf(db, serverId)
    .select(['snapshot_id', 'base_id', 'status'])
    .where('status', 'in', ['available', 'error'])
    .orderBy('snapshot_id', 'desc')
    .limit(MOST_DIFFERENCES)
    .execute()
  const last = newest.find(({ base_id, status }) => base_id === null || status === 'error')
  return last?.status === 'available' ? last.snapshot_id : null
}

/**
 * Records that a backup is available; null: it could not be made. The server's oldest backups make room for
 * it.
 * @param expiresAt the time at which the backup is deleted, because its server's backups are off; null: none
 */
export async function finishBackup(
  tx: Queries,
  backupId: string,
  {
    made,
    expiresAt,
    isUsing,
    now,
  }: { made: Copy | null; expiresAt: number | null; isUsing: IsUsing; now: number },
): Promise<void> {
  const row = await lockSnapshot(tx, backupId)
  if (row?.status !== 'creating') return
  const state = { operation_id: null, updated_at: now, expires_at: expiresAt }
  const change: Partial<SnapshotTable> = made
    ? { ...state, status: 'available', ...copyColumns(made, now) }
    : { ...state, status: 'error', deleted_at: now, failed_at: now }
  await writeSnapshot(tx, backupId, change)
  await tell(tx, made ? 'created' : 'failed', { ...row, ...change }, now)
  // A full copy in place of a difference may mean that the host found the earlier full copy damaged, so that
  // copy is verified.
  if (made && !made.base && !made.isExported && row.base_id !== null) await verifySoon(tx, row.base_id, now)
  if (made && expiresAt === null) await planBoot(tx, row, now)
  if (made) await dropBeyond(tx, row.server_id, isUsing, now)
}

/** Deletes a server's backups beyond the newest. A backup in use is deleted after a later backup. */
async function dropBeyond(tx: Queries, serverId: string, isUsing: IsUsing, now: number): Promise<void> {
  const old = await backupsOf(tx, serverId)
    .select('snapshot_id')
    .where('status', '=', 'available')
    .orderBy('snapshot_id', 'desc')
    .limit(SOME)
    .offset(MOST_BACKUPS)
    .execute()
  for (const { snapshot_id } of old)
    if (!(await isUsing(tx, snapshot_id))) await dropSnapshot(tx, snapshot_id, now)
}

/**
 * Sets the time at which the backups of a server without further backups are deleted, and limits the
 * account's expiring backups.
 */
export async function expireBackups(
  tx: Queries,
  { server_id, account_id }: { server_id: string; account_id: string },
  at: number,
  now: number,
): Promise<void> {
  await setExpiry(tx, server_id, at, now)
  const excess = await ofAccount(tx, account_id, 'backup')
    .select('snapshot_id')
    .where('expires_at', 'is not', null)
    .orderBy('snapshot_id', 'desc')
    .limit(SOME)
    .offset(MOST_EXPIRING)
    .execute()
  for (const { snapshot_id } of excess)
    await writeSnapshot(tx, snapshot_id, { expires_at: now, updated_at: now })
}

/** Keeps the backups of a server whose backups are turned on again. */
export function retainBackups(tx: Queries, serverId: string, now: number): Promise<void> {
  return setExpiry(tx, serverId, null, now)
}

async function setExpiry(
  tx: Queries,
  serverId: string,
  expires_at: number | null,
  updated_at: number,
): Promise<void> {
  await tx
    .updateTable('snapshots')
    .set({ expires_at, updated_at })
    .where('server_id', '=', serverId)
    .where('item_type', '=', 'backup')
    .where('deleted_at', 'is', null)
    .execute()
}

/** Queries some of the backups that have expired. */
export function expiredBackups(db: Queries, now: number) {
  return expired.all(db, { now })
}

const expired = prepared((db, { now }: { now: number }) =>
  db
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('expires_at', '<=', now)
    .where('deleted_at', 'is', null)
    .where('item_type', '=', 'backup')
    .where('account_id', 'not in', frozenAccounts(db))
    .orderBy('expires_at')
    .limit(SOME),
)

/** Deletes an expired backup, unless a server is being created from it. */
export async function dropExpired(
  tx: Queries,
  backupId: string,
  isUsing: IsUsing,
  now: number,
): Promise<void> {
  const row = await lockSnapshot(tx, backupId)
  if (row?.item_type !== 'backup' || row.expires_at === null || row.expires_at > now) return
  if (!(await isUsing(tx, backupId))) await dropSnapshot(tx, backupId, now)
}

/**
 * Turns a backup into a snapshot of the same id, which is billed from then on and does not expire.
 * @throws ApiError backup_not_found, backup_not_ready, quota_exceeded, insufficient_balance
 */
export async function keepBackup(
  tx: Queries,
  {
    catalog,
    requireCover,
  }: { catalog: Catalog; requireCover: (tx: Queries, accountId: string, added: number) => Promise<void> },
  { account_id, snapshot_id }: SnapshotTable,
  { name, now }: { name: string | undefined; now: number },
): Promise<SnapshotTable> {
  const account = await lockAccount(tx, account_id)
  const row = found(await lockSnapshot(tx, snapshot_id), snapshotProblems.backup_not_found)
  if (row.item_type !== 'backup')
    throw new ApiError(snapshotProblems.backup_not_found, 'It is a snapshot already.')
  if (row.status !== 'available')
    throw new ApiError(snapshotProblems.backup_not_ready, 'Wait until the backup is available.')
  await requireRoom(tx, account, snapshotQuota)
  const priced = await pricedFor(tx, catalog, account_id)
  const price = snapshotPrice(priced, row.zone_slug, billedGb(row.bytes ?? 0), now)
  if (price.price_hour > 0) await requireCover(tx, account_id, price.price_hour)
  const { default_project_id: project_id } = await findAccount(tx, account_id)
  const change = {
    ...{ item_type: 'snapshot' as const, expires_at: null, project_id, name: name ?? row.name },
    ...{ ...price, priced_at: now, updated_at: now },
  }
  await writeSnapshot(tx, snapshot_id, change)
  const kept = { ...row, ...change }
  if (price.price_hour > 0) await beginRate(tx, billedSnapshot(kept), price, now)
  await tell(tx, 'deleted', row, now)
  await tell(tx, 'created', kept, now)
  return kept
}

/** A backup that failed, for a mail about it. */
export interface FailedBackup {
  serverId: string
  fault: 'missing' | 'damaged' | 'unbootable'
}

/** Queries the accounts with failed backups about which no mail was sent, and since when. */
export function failedBackups(db: Queries) {
  return db
    .selectFrom('snapshots')
    .select(({ fn }) => ['account_id', fn.min<number>('failed_at').as('since')])
    .where('failed_at', 'is not', null)
    .groupBy('account_id')
}

/** Notes that an account's failed backups were mailed. Call it in the transaction that queues the mails. */
export async function takeFailedBackups(tx: Queries, accountId: string): Promise<FailedBackup[]> {
  const rows = await tx
    .updateTable('snapshots')
    .set({ failed_at: null })
    .where('account_id', '=', accountId)
    .where('failed_at', 'is not', null)
    .returning(['server_id', 'status', 'bytes'])
    .execute()
  return rows.map(({ server_id: serverId, status, bytes }) => {
    if (status !== 'error') return { serverId, fault: 'unbootable' }
    return { serverId, fault: bytes === null ? 'missing' : 'damaged' }
  })
}
