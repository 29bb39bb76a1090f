import type { Static } from 'typebox'
import { findAccount, takeRoom } from '../accounts/accounts.ts'
import { pricedFor } from '../accounts/prices.ts'
import type { Limited } from '../accounts/quotas.ts'
import { beginRate, changeRate } from '../billing/rates.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { labelled, labelsColumn } from '../database/labels.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import type { SnapshotState } from '../drivers/snapshots.ts'
import type { Quota } from '../feature.ts'
import { ApiError, found, type ProblemType } from '../http/contract/problem.ts'
import type { Engine } from '../operations/engine.ts'
import { cancelActive, type Subject } from '../operations/operations.ts'
import { billedSnapshot, snapshotPrice } from './billing.ts'
import { tell } from './events.ts'
import { type SnapshotQuery, type SnapshotUpdate, snapshotProblems } from './schema.ts'
import type { SnapshotTable } from './tables.ts'
import { billedGb } from './view.ts'

/** The snapshot and the backup that are being made of a server's disk. */
interface Copied {
  copying: string | null
  backing_up: string | null
}

/** The rows of servers, each of which names the copy that is being made of its disk. */
interface CopiedServers {
  lock(tx: Queries, serverId: string): Promise<Copied | undefined>
  update(tx: Queries, serverId: string, change: Partial<Copied> & { updated_at: number }): Promise<void>
  subject(serverId: string): Subject
  /** True if a server is being created or restored from a snapshot, whose row is locked. */
  isUsing(tx: Queries, snapshotId: string): Promise<boolean>
  /** The names of the servers with an ISO in their drive. */
  withIso(tx: Queries, isoId: string): Promise<string[]>
}

export interface SnapshotsOptions {
  db: Database
  clock: Clock
  engine: Engine
  serverRows: CopiedServers
}

/** Newest first. @param filter selects the snapshots, or backups, of a server, and those with labels */
export function listSnapshots(
  db: Queries,
  accountId: string,
  { server_id: serverId, label }: Static<typeof SnapshotQuery>,
  page: Page,
  type: 'snapshot' | 'backup' = 'snapshot',
) {
  const all = ofAccount(db, accountId, type)
  const own = serverId === undefined ? all : all.where('server_id', '=', serverId)
  return pageOf(labelled(own.selectAll(), label).orderBy('snapshot_id', 'desc'), page)
}

export function findSnapshot(
  db: Queries,
  accountId: string,
  snapshotId: string,
  type: SnapshotTable['item_type'] = 'snapshot',
) {
  return ofAccount(db, accountId, type).where('snapshot_id', '=', snapshotId).selectAll().executeTakeFirst()
}

export const snapshotQuota: Quota = {
  name: 'snapshots',
  description: 'Snapshots of servers',
  limit: 20,
  unpaid: 2,
  example: 0,
  count: (db, accountId) => countIn(ofAccount(db, accountId)),
}

/** The facts about a snapshot or an image once it is made. */
export type Copy = Omit<Extract<SnapshotState, { state: 'ready' }>, 'state'>

/** The time from making a copy to verifying it: after the night in which all are made, and within a day. */
const FIRST_VERIFIED_MS = 8 * 3600_000

/**
 * The columns of a copy once it is made. A copy that can be neither read nor exported is never verified or
 * sent.
 */
export function copyColumns({ bytes, diskGb, consistency, base, isOpaque }: Copy, now: number) {
  return {
    ...{ bytes, disk_gb: diskGb, consistency },
    ...{ base_id: base?.snapshotId ?? null, base_bytes: base?.bytes ?? 0 },
    verify_due_at: isOpaque ? null : now + FIRST_VERIFIED_MS,
    offsite_due_at: isOpaque ? null : now,
  }
}

/** A snapshot or an image that is about to be made. */
type Begun = Pick<
  SnapshotTable,
  | 'snapshot_id'
  | 'item_type'
  | 'account_id'
  | 'server_id'
  | 'operation_id'
  | 'name'
  | 'zone_slug'
  | 'pool'
  | 'disk_gb'
  | 'template_id'
  | 'ssh_keys'
  | 'password'
  | 'instance_id'
  | 'username'
> &
  Partial<Pick<SnapshotTable, 'status' | 'os_family' | 'content_bytes' | 'labels' | 'base_id'>>

/**
 * Checks that an account may have another snapshot or image, whose cost the balance must cover as if the disk
 * were full. The account's row is locked from here on.
 * @returns the account
 * @throws ApiError quota_exceeded, insufficient_balance
 */
export async function requireSnapshot(
  tx: Queries,
  options: Covering,
  copy: Covered,
  now: number,
  quota = snapshotQuota,
): Promise<Limited> {
  const account = await takeRoom(tx, copy.account_id, [quota])
  await coverSnapshot(tx, options, copy, now)
  return account
}

/** Parts that check what a snapshot or an image will cost. */
export interface Covering {
  catalog: Catalog
  requireCover: (tx: Queries, accountId: string, added: number) => Promise<void>
}

type Covered = Pick<SnapshotTable, 'account_id' | 'zone_slug' | 'disk_gb'>

/**
 * Checks that the balance of an account, whose row is locked, lasts with another snapshot or image of a size.
 * @throws ApiError insufficient_balance
 */
export async function coverSnapshot(
  tx: Queries,
  { catalog, requireCover }: Covering,
  { account_id, zone_slug, disk_gb }: Covered,
  now: number,
): Promise<void> {
  const priced = await pricedFor(tx, catalog, account_id)
  const { price_hour } = snapshotPrice(priced, zone_slug, disk_gb, now)
  if (price_hour > 0) await requireCover(tx, account_id, price_hour)
}

/** Writes the row of a snapshot or an image that has begun. */
export async function insertSnapshot(tx: Queries, begun: Begun, now: number): Promise<SnapshotTable> {
  const { default_project_id: project_id } = await findAccount(tx, begun.account_id)
  const row: SnapshotTable = {
    ...{ status: 'creating', status_reason: null, os_family: null, content_bytes: null, uploaded_bytes: 0 },
    ...{ labels: '{}', base_id: null },
    ...begun,
    project_id,
    ...{ bytes: null, base_bytes: 0, consistency: null },
    ...{ expires_at: null, verified_at: null, verified_by: null, verify_due_at: null },
    ...{ boot_due_at: null, boot_checked_at: null, boot_result: null },
    ...{ offsite_due_at: null, offsite_place: null, offsite_parts: 0 },
    ...{ offsite_at: null, offsite_sha256: null, offsite_fault: null, failed_at: null },
    ...{ price_month: 0, price_hour: 0, priced_at: now },
    ...{ created_at: now, updated_at: now, deleted_at: null, discarded: 0 },
  }
  await tx.insertInto('snapshots').values(row).execute()
  // The event of a backup follows once it is made.
  if (row.item_type !== 'backup') await tell(tx, 'created', row, now)
  return row
}

/**
 * Records that a snapshot or an image is available, and begins its billing.
 * @param made null: it could not be made; only images show the reason
 */
export async function finishSnapshot(
  tx: Queries,
  catalog: Catalog,
  snapshotId: string,
  made: Copy | null,
  now: number,
  reason: string | null = null,
): Promise<void> {
  const row = await lockSnapshot(tx, snapshotId)
  if (row?.status !== 'creating') return
  const priced = await pricedFor(tx, catalog, row.account_id)
  const price = made && snapshotPrice(priced, row.zone_slug, billedGb(made.bytes), now)
  // ISOs are not copied off site: their source still has them.
  const isOffsite = row.item_type !== 'iso'
  const copy = made && { ...copyColumns(made, now), ...(isOffsite ? {} : { offsite_due_at: null }) }
  const status = made ? ('available' as const) : ('error' as const)
  const ended = { operation_id: null, status_reason: reason, updated_at: now }
  const change = { status, ...ended, ...copy, ...price, priced_at: now }
  await writeSnapshot(tx, snapshotId, change)
  if (price && price.price_hour > 0) await beginRate(tx, billedSnapshot(row), price, now)
  await tell(tx, 'updated', { ...row, ...change }, now)
}

/**
 * Deletes a snapshot, image or backup, whose row need not be locked. Its billing ends, and a later sweep
 * removes it from its host.
 */
export async function dropSnapshot(tx: Queries, snapshotId: string, now: number): Promise<void> {
  const row = await lockSnapshot(tx, snapshotId)
  if (!row) return
  const secrets = { ssh_keys: '[]', password: null }
  const offsite_due_at = row.offsite_place === null ? null : now
  const change = { ...secrets, operation_id: null, offsite_due_at, updated_at: now, deleted_at: now }
  await writeSnapshot(tx, snapshotId, change)
  if (row.price_hour > 0) await changeRate(tx, billedSnapshot(row), null, now)
  const isUntold = row.item_type === 'backup' && row.status === 'creating'
  if (!isUntold) await tell(tx, 'deleted', { ...row, ...change }, now)
}

/**
 * Deletes a snapshot or a backup. If it is still being made, that operation is canceled.
 * @throws ApiError snapshot_not_found, snapshot_in_use
 */
export async function deleteSnapshot(
  { db, clock, engine, serverRows }: SnapshotsOptions,
  { snapshot_id, server_id }: SnapshotTable,
): Promise<void> {
  const canceled = await db.transaction().execute(async (tx) => {
    const now = clock.now()
    const server = await serverRows.lock(tx, server_id)
    found(await lockSnapshot(tx, snapshot_id), snapshotProblems.snapshot_not_found)
    if (await serverRows.isUsing(tx, snapshot_id))
      throw new ApiError(
        snapshotProblems.snapshot_in_use,
        'A server is being created or restored from it. Wait for that operation, or delete the server.',
      )
    await dropSnapshot(tx, snapshot_id, now)
    const copies = ['copying', 'backing_up'] as const
    const field = copies.find((name) => server?.[name] === snapshot_id)
    if (!field) return undefined
    await serverRows.update(tx, server_id, { [field]: null, updated_at: now })
    return cancelActive(tx, serverRows.subject(server_id), now)
  })
  if (canceled) engine.canceled(canceled)
}

/** Records that nothing of a snapshot is left on its host. */
export async function discarded(db: Queries, snapshotId: string): Promise<void> {
  await db.updateTable('snapshots').set({ discarded: 1 }).where('snapshot_id', '=', snapshotId).execute()
}

/**
 * Changes the name and the labels of a snapshot or an image.
 * @throws ApiError snapshot_not_found, or the given problem, if it was deleted since
 */
export function updateSnapshot(
  { db, clock }: Pick<SnapshotsOptions, 'db' | 'clock'>,
  { snapshot_id }: SnapshotTable,
  { labels, ...rest }: Static<typeof SnapshotUpdate>,
  problem: ProblemType = snapshotProblems.snapshot_not_found,
): Promise<SnapshotTable> {
  return db.transaction().execute(async (tx) => {
    const now = clock.now()
    const row = found(await lockSnapshot(tx, snapshot_id), problem)
    const change = { ...rest, ...labelsColumn(labels), updated_at: now }
    const changed = { ...row, ...change }
    await writeSnapshot(tx, snapshot_id, change)
    await tell(tx, 'updated', changed, now)
    return changed
  })
}

/** Finds an available snapshot or image of the account, which can't be deleted until this transaction ends. */
export async function holdSnapshot(
  tx: Queries,
  accountId: string,
  snapshotId: string,
): Promise<SnapshotTable | null> {
  const row = await lockSnapshot(tx, snapshotId)
  const isDisk = row?.item_type !== 'iso'
  return isDisk && row?.account_id === accountId && row.status === 'available' ? row : null
}

/** The row of a snapshot or an image, which no other transaction changes until this one ends. */
export function lockSnapshot(tx: Queries, snapshotId: string) {
  return tx
    .updateTable('snapshots')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('snapshot_id', '=', snapshotId)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

export async function writeSnapshot(
  tx: Queries,
  snapshotId: string,
  change: Partial<SnapshotTable>,
): Promise<void> {
  await tx.updateTable('snapshots').set(change).where('snapshot_id', '=', snapshotId).execute()
}

/** Writes to a row unless it was deleted. @returns false if it was deleted */
export async function writeKept(
  tx: Queries,
  snapshotId: string,
  change: Partial<SnapshotTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('snapshots')
    .set(change)
    .where('snapshot_id', '=', snapshotId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The snapshots, images or backups of an account. */
export function ofAccount(db: Queries, accountId: string, type: SnapshotTable['item_type'] = 'snapshot') {
  return db
    .selectFrom('snapshots')
    .where('account_id', '=', accountId)
    .where('item_type', '=', type)
    .where('deleted_at', 'is', null)
}
