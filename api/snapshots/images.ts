import type { Capacity } from '../catalog/capacity.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import { labelled, labelsColumn } from '../database/labels.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Quota } from '../feature.ts'
import type { Actor } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { cancelActive, insertOperation, type Subject, subjectIsGone } from '../operations/operations.ts'
import type { DownloadOptions } from './download.ts'
import { type ImageCreate, imageProblems } from './image-schema.ts'
import {
  type Copy,
  dropSnapshot,
  findSnapshot,
  holdSnapshot,
  insertSnapshot,
  lockSnapshot,
  ofAccount,
  requireSnapshot,
  type SnapshotsOptions,
} from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { billedGb } from './view.ts'

export interface ImagesOptions extends SnapshotsOptions {
  catalog: Catalog
  capacity: Capacity
  requireCover: (tx: Queries, accountId: string, added: number) => Promise<void>
  drivers: Drivers
  /** Downloads files from remote servers. */
  downloads: DownloadOptions
}

/** The name of images as subjects of operations. */
export const IMAGE_SUBJECT = 'image'

/** The name of ISOs as subjects of operations. */
export const ISO_SUBJECT = 'iso'

/** The types of things whose content comes as a file. */
export type ImportedType = 'image' | 'iso'

export function importSubject(type: ImportedType, id: string): Subject {
  return { subject_type: { image: IMAGE_SUBJECT, iso: ISO_SUBJECT }[type], subject_id: id }
}

/** The data of the operation that makes an image. */
export interface ImportData {
  /** The snapshot from which the image is made; undefined: it is made from a file. */
  snapshot_id?: string
  /** The hash that the file must have, if any. */
  sha256?: string | null
  /** The address of the file, if the service fetches it. */
  url?: string
  /** The bytes received so far, the size of the file, and its version at that address. */
  received?: number
  total?: number
  version?: string
  /** The image, once it is made. */
  made?: Copy
}

const IMPORT_MS = 12 * 3600_000

/** Newest first. */
export function listImages(db: Queries, accountId: string, label: string | undefined, page: Page) {
  return pageOf(
    labelled(ofAccount(db, accountId, 'image').selectAll(), label).orderBy('snapshot_id', 'desc'),
    page,
  )
}

export const imageQuota: Quota = {
  name: 'images',
  description: 'Images of your own',
  limit: 10,
  unpaid: 1,
  example: 0,
  count: (db, accountId) => countIn(ofAccount(db, accountId, 'image')),
}

/**
 * Begins to make an image from a snapshot.
 * @throws ApiError validation_failed, not_supported, quota_exceeded, insufficient_balance
 */
export async function createFromSnapshot(
  options: ImagesOptions,
  imageId: string,
  { accountId }: Actor,
  { name, labels, snapshot_id = '' }: ImageCreate,
  remember: Remember,
): Promise<SnapshotTable> {
  const { db, clock, capacity, engine } = options
  const missing = () =>
    invalid([bodyIssue('snapshot_id', 'not_found', `No available snapshot: ${snapshot_id}.`)])
  const candidate = await findSnapshot(db, accountId, snapshot_id)
  if (candidate?.status !== 'available') throw missing()
  await capacity.require(candidate, 'images')
  const row = await db.transaction().execute(async (tx) => {
    const now = clock.now()
    const place = { ...candidate, disk_gb: billedGb(candidate.bytes ?? 0) }
    await requireSnapshot(tx, options, place, now, imageQuota)
    // The account is locked before the snapshot, as by orders.
    const snapshot = await holdSnapshot(tx, accountId, snapshot_id)
    if (!snapshot) throw missing()
    const { zone_slug, pool, disk_gb, template_id, username, os_family } = snapshot
    const begun = { accountId, imageId, step: 'import' as const, data: { snapshot_id }, now }
    const { operation_id } = await beginImport(tx, begun)
    const made = await insertSnapshot(
      tx,
      {
        ...{ snapshot_id: imageId, item_type: 'image', account_id: accountId, operation_id, name },
        ...{ zone_slug, pool, disk_gb, template_id, username, os_family, ...NO_SERVER },
        ...labelsColumn(labels),
      },
      now,
    )
    await remember(tx, imageId)
    return made
  })
  engine.wake()
  return row
}

/** An image belongs to no server, and each server from it gets a login of its own. */
export const NO_SERVER = { server_id: '', ssh_keys: '[]', password: null, instance_id: '' }

/** Begins the operation that makes an image or an ISO. */
export function beginImport(
  tx: Queries,
  { accountId, imageId, type = 'image', step, data, now }: BegunImport,
): ReturnType<typeof insertOperation> {
  return insertOperation(tx, {
    ...{ accountId, subject: importSubject(type, imageId), serverId: null, type: 'import', step, data },
    ...{ now, deadlineAt: now + IMPORT_MS },
  })
}

interface BegunImport {
  accountId: string
  imageId: string
  type?: ImportedType
  /** The first step: a file that the service fetches is downloaded before it is imported. */
  step: 'download' | 'import'
  data: ImportData
  now: number
}

/**
 * Deletes an image. If it is still being made, that operation is canceled.
 * @throws ApiError image_not_found, image_in_use
 */
export async function deleteImage(
  { db, clock, engine, serverRows }: ImagesOptions,
  { snapshot_id }: SnapshotTable,
): Promise<void> {
  const canceled = await db.transaction().execute(async (tx) => {
    const now = clock.now()
    found(await lockSnapshot(tx, snapshot_id), imageProblems.image_not_found)
    if (await serverRows.isUsing(tx, snapshot_id))
      throw new ApiError(
        imageProblems.image_in_use,
        'A server is being created from it. Wait for that operation, or delete the server.',
      )
    await dropSnapshot(tx, snapshot_id, now)
    const subject = importSubject('image', snapshot_id)
    const ended = await cancelActive(tx, subject, now)
    await subjectIsGone(tx, subject, now)
    return ended
  })
  if (canceled) engine.canceled(canceled)
}
