import { type RawBuilder, sql } from 'kysely'
import type { Static } from 'typebox'
import { chargedItems } from '../billing/metering.ts'
import type { Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { labelled } from '../database/labels.ts'
import { type Page, pageOf, preparedPage } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { type Event, record } from '../events/outbox.ts'
import type { VolumeQuery } from './schema.ts'
import type { VolumeTable } from './tables.ts'
import { volumeView } from './view.ts'

/** Selects the volumes of a server, and those with labels. */
type Filter = Static<typeof VolumeQuery>

/** Newest first. */
export function listVolumes(db: Queries, accountId: string, { server_id, label }: Filter, page: Page) {
  if (server_id === undefined && label === undefined) return wholePage(db, { accountId }, page)
  const all = newest(db, { accountId })
  const own = server_id === undefined ? all : all.where('server_id', '=', server_id)
  return pageOf(labelled(own, label), page)
}

function newest(db: Queries, { accountId }: { accountId: string }) {
  return present(db).where('account_id', '=', accountId).selectAll().orderBy('volume_id', 'desc')
}

const wholePage = preparedPage(newest)

export function findVolume(db: Queries, accountId: string, volumeId: string) {
  return present(db)
    .where('account_id', '=', accountId)
    .where('volume_id', '=', volumeId)
    .selectAll()
    .executeTakeFirst()
}

/** All volumes of an account. */
export function accountVolumes(db: Queries, accountId: string) {
  return present(db).where('account_id', '=', accountId).selectAll().execute()
}

/** Reads a volume, even a deleted one. */
export function getVolume(db: Queries, volumeId: string): Promise<VolumeTable> {
  return db.selectFrom('volumes').selectAll().where('volume_id', '=', volumeId).executeTakeFirstOrThrow()
}

/** Locks a volume's row until this transaction ends; undefined: the volume was deleted. */
export function lockVolume(tx: Queries, volumeId: string): Promise<VolumeTable | undefined> {
  return tx
    .updateTable('volumes')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('volume_id', '=', volumeId)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

/** Changes a volume, whose row is locked, and records the event. */
export async function updateVolume(
  tx: Queries,
  row: VolumeTable,
  change: Partial<VolumeTable> & { updated_at: number },
  type: Event['type'] = 'volume.updated',
): Promise<VolumeTable> {
  const after = { ...row, ...change }
  await tx.updateTable('volumes').set(change).where('volume_id', '=', row.volume_id).execute()
  await recordVolume(tx, type, after, change.updated_at)
  return after
}

function recordVolume(tx: Queries, type: Event['type'], row: VolumeTable, at: number): Promise<void> {
  return record(tx, [{ accountId: row.account_id, type, data: volumeView(row), at }])
}

/** Writes a new volume, and records the event. */
export async function insertVolume(tx: Queries, row: VolumeTable): Promise<void> {
  await tx.insertInto('volumes').values(row).execute()
  await recordVolume(tx, 'volume.created', row, row.created_at)
}

/** Queries the size of all volumes of an account in GB. */
export function sizesOf(db: Queries, accountId: string): RawBuilder<number> {
  const sizes = present(db).where('account_id', '=', accountId).select('size_gb')
  // PostgreSQL sums bigints to numeric, which its driver hands over as text.
  return sql<number>`(SELECT CAST(coalesce(sum(size_gb), 0) AS bigint) FROM (${sizes}) AS sizes)`
}

/** Queries an account's volumes. */
export function volumesIn(db: Queries, accountId: string) {
  return present(db).where('account_id', '=', accountId)
}

/** The volumes that a server has, or is about to get. */
export function volumesOf(db: Queries, serverId: string): Promise<VolumeTable[]> {
  return byServer.all(db, { serverId })
}

const byServer = prepared((db, { serverId }: { serverId: string }) =>
  present(db).selectAll().where('server_id', '=', serverId).orderBy('volume_id'),
)

/** Deletes some of the volumes that were deleted before a moment and never cost anything. @returns the number deleted */
export async function forgetVolumes(db: Queries, before: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('volumes')
    .leftJoin(chargedItems(db).as('charged'), 'charged.item_id', 'volumes.volume_id')
    .select('volume_id')
    .where('deleted_at', '<', before)
    .where('charged.item_id', 'is', null)
    .limit(limit)
  return deleteFound(db, 'volumes', 'volume_id', old)
}

function present(db: Queries) {
  return db.selectFrom('volumes').where('deleted_at', 'is', null)
}
