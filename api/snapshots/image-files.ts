import { sql } from 'kysely'
import { lockAccount } from '../accounts/accounts.ts'
import { requireRoom } from '../accounts/quotas.ts'
import { frozenAccounts } from '../accounts/status.ts'
import { findZone, onSale, unknownZone } from '../catalog/file.ts'
import { type Database, inTransactions, type Queries } from '../database/database.ts'
import { labelsColumn } from '../database/labels.ts'
import { DriverError } from '../drivers/driver.ts'
import type { Quota } from '../feature.ts'
import type { Actor } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, found, httpProblems, invalid } from '../http/contract/problem.ts'
import type { Part, Remember } from '../http/contract/route.ts'
import { flawOf } from '../webhooks/url.ts'
import { tell } from './events.ts'
import { type ImageCreate, imageProblems } from './image-schema.ts'
import { beginImport, type ImagesOptions, type ImportedType, imageQuota, NO_SERVER } from './images.ts'
import { isoQuota } from './isos.ts'
import {
  type Covering,
  coverSnapshot,
  dropSnapshot,
  insertSnapshot,
  lockSnapshot,
  requireSnapshot,
  writeSnapshot,
} from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { billedGb } from './view.ts'

/** Files that are becoming images take room on a host before anybody pays for them. */
export const fileQuota: Quota = {
  name: 'image_files_gb',
  description: 'Size in GB of all files that are being uploaded or imported as images or ISOs',
  limit: 200,
  unpaid: 10,
  example: 0,
  count: (db, accountId) => {
    const files = db
      .selectFrom('snapshots')
      .select('content_bytes')
      .where('account_id', '=', accountId)
      .where('item_type', 'in', ['image', 'iso'])
      .where('status', 'in', ['uploading', 'creating'])
      .where('deleted_at', 'is', null)
    // The sum is rounded up to whole GB, as in billedGb. PostgreSQL sums bigints to numeric, which its driver
    // hands over as text.
    return sql<number>`(SELECT (CAST(coalesce(sum(content_bytes), 0) AS bigint) + 1073741823) / 1073741824 FROM (${files}) AS files)`
  },
}

/**
 * Begins to make an image or ISO from a file that the customer uploads or the service fetches.
 * @throws ApiError validation_failed, not_supported, quota_exceeded, insufficient_balance
 */
export async function createFromFile(
  options: ImagesOptions,
  imageId: string,
  { accountId }: Actor,
  { name, url, content_bytes, zone_slug = '', ...more }: ImageCreate,
  remember: Remember,
  type: ImportedType = 'image',
): Promise<SnapshotTable> {
  const { db, clock, catalog, capacity, engine, downloads } = options
  if (!findZone(onSale(catalog), zone_slug))
    throw invalid([bodyIssue('zone_slug', 'not_found', unknownZone(catalog, zone_slug))])
  const flaw = url === undefined ? null : flawOf(url, downloads.addresses)
  if (flaw !== null) throw invalid([bodyIssue('url', 'invalid_format', `url ${flaw}`)])
  const place = { zone_slug, pool: capacity.poolOf(zone_slug) }
  await capacity.require(place, type === 'iso' ? 'isos' : 'images')
  const row = await db.transaction().execute(async (tx) => {
    const now = clock.now()
    const billed = { account_id: accountId, zone_slug, disk_gb: billedGb(content_bytes ?? 0) }
    const account = await requireSnapshot(tx, options, billed, now, type === 'iso' ? isoQuota : imageQuota)
    await requireRoom(tx, account, fileQuota, billedGb(content_bytes ?? 1))
    const data = { ...(url === undefined ? {} : { url }), sha256: more.sha256 ?? null }
    const begun = { accountId, imageId, type, step: 'download' as const, data, now }
    const operation_id = url === undefined ? null : (await beginImport(tx, begun)).operation_id
    const made = await insertSnapshot(
      tx,
      {
        ...{ snapshot_id: imageId, item_type: type, account_id: accountId, operation_id, name },
        ...{ ...place, ...NO_SERVER, disk_gb: 0, template_id: '', content_bytes: content_bytes ?? null },
        username: more.default_username ?? 'root',
        os_family: more.os_family ?? null,
        ...labelsColumn(more.labels),
        status: url === undefined ? 'uploading' : 'creating',
      },
      now,
    )
    await remember(tx, imageId)
    return made
  })
  if (url !== undefined) engine.wake()
  return row
}

/**
 * Records the size of a file that the service fetches, once the size is known, and checks the cost of its image.
 * @throws ApiError quota_exceeded, insufficient_balance, image_not_found
 */
export async function announceFile(
  tx: Queries,
  options: Covering,
  { account_id, snapshot_id, zone_slug }: SnapshotTable,
  { content_bytes, now }: { content_bytes: number; now: number },
): Promise<void> {
  const account = await lockAccount(tx, account_id)
  const row = found(await lockSnapshot(tx, snapshot_id), imageProblems.image_not_found)
  if (row.content_bytes === content_bytes) return
  const disk_gb = billedGb(content_bytes)
  await requireRoom(tx, account, fileQuota, disk_gb)
  await coverSnapshot(tx, options, { account_id, zone_slug, disk_gb }, now)
  await writeSnapshot(tx, snapshot_id, { content_bytes })
}

/**
 * Keeps a part of an uploaded file.
 * @throws ApiError image_not_uploading, upload_offset, validation_failed, backend_unavailable
 */
export async function receivePart(
  { db, clock, drivers }: ImagesOptions,
  row: SnapshotTable,
  { offset, bytes, content }: Part,
): Promise<SnapshotTable> {
  const { snapshot_id, pool, uploaded_bytes, content_bytes } = row
  requireUploading(row)
  if (offset !== uploaded_bytes) throw offsetProblem(uploaded_bytes)
  if (offset + bytes > Number(content_bytes))
    throw new ApiError(
      httpProblems.payload_too_large,
      `The part ends at byte ${offset + bytes}, and the file was announced with ${content_bytes} bytes.`,
    )
  try {
    await drivers.at(pool).receive(snapshot_id, offset, content)
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    // The host lost the file: the upload begins again.
    if (error.code === 'not_found')
      throw offsetProblem(
        (await changed(db, row, { uploaded_bytes: 0, updated_at: clock.now() })).uploaded_bytes,
      )
    throw new ApiError(
      httpProblems.backend_unavailable,
      'The host of the image has no room, or does not answer. What was uploaded is kept; go on later.',
      {},
      { 'retry-after': '60' },
    )
  }
  return changed(db, row, { uploaded_bytes: offset + bytes, updated_at: clock.now() })
}

/**
 * Changes how much of a file its host has, unless another part was counted meanwhile.
 * @throws ApiError image_not_found, image_not_uploading, upload_offset
 */
async function changed(
  db: Queries,
  { snapshot_id, uploaded_bytes }: SnapshotTable,
  change: Pick<SnapshotTable, 'uploaded_bytes' | 'updated_at'>,
): Promise<SnapshotTable> {
  const kept = await db
    .updateTable('snapshots')
    .set(change)
    .where('snapshot_id', '=', snapshot_id)
    .where('status', '=', 'uploading')
    .where('uploaded_bytes', '=', uploaded_bytes)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (kept) return kept
  const now = await db
    .selectFrom('snapshots')
    .selectAll()
    .where('snapshot_id', '=', snapshot_id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  requireUploading(found(now, imageProblems.image_not_found))
  throw offsetProblem(Number(now?.uploaded_bytes))
}

function requireUploading({ status }: SnapshotTable): void {
  if (status !== 'uploading')
    throw new ApiError(
      imageProblems.image_not_uploading,
      'The image expects no file. Create another one with "upload": true.',
    )
}

function offsetProblem(uploaded_bytes: number): ApiError {
  return new ApiError(
    imageProblems.upload_offset,
    `${uploaded_bytes} bytes have arrived. Continue with Upload-Offset: ${uploaded_bytes}.`,
    { uploaded_bytes },
  )
}

/**
 * Begins to turn an uploaded file into an image.
 * @throws ApiError image_not_found, image_not_uploading, upload_offset
 */
export async function importUpload(
  { db, clock, engine }: ImagesOptions,
  { snapshot_id, account_id }: SnapshotTable,
  sha256: string | null,
  remember: Remember,
): Promise<SnapshotTable> {
  const row = await db.transaction().execute(async (tx) => {
    const now = clock.now()
    await lockAccount(tx, account_id)
    const kept = found(await lockSnapshot(tx, snapshot_id), imageProblems.image_not_found)
    requireUploading(kept)
    if (kept.uploaded_bytes !== kept.content_bytes) throw offsetProblem(kept.uploaded_bytes)
    const type = kept.item_type === 'iso' ? 'iso' : 'image'
    const begun = { accountId: account_id, imageId: snapshot_id, type, data: { sha256 }, now } as const
    const { operation_id } = await beginImport(tx, { ...begun, step: 'import' })
    const change = { status: 'creating' as const, operation_id, updated_at: now }
    await writeSnapshot(tx, snapshot_id, change)
    await tell(tx, 'updated', { ...kept, ...change }, now)
    await remember(tx, snapshot_id)
    return { ...kept, ...change }
  })
  engine.wake()
  return row
}

/** The days after which an upload that nobody continues is deleted. */
export const UPLOAD_DAYS = 3

/** Deletes uploads that nobody has continued since a moment. @returns the number deleted */
export async function dropIdleUploads(db: Database, before: number, limit: number): Promise<number> {
  const idle = await db
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('status', '=', 'uploading')
    .where('updated_at', '<', before)
    .where('deleted_at', 'is', null)
    .where('account_id', 'not in', frozenAccounts(db))
    .limit(limit)
    .execute()
  await inTransactions(db, idle, async (tx, { snapshot_id }) => {
    const row = await lockSnapshot(tx, snapshot_id)
    // The customer may have continued it since the list was read.
    if (row?.status === 'uploading' && row.updated_at < before)
      await dropSnapshot(tx, snapshot_id, before + UPLOAD_DAYS * 24 * 3600_000)
  })
  return idle.length
}
