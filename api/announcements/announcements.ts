import { hash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { type Catalog, findZone, unknownZone } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import { type Database, lockName, type Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { countOf, type Page, pageOf } from '../database/page.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { readMoment } from '../http/contract/moment.ts'
import { ApiError, bodyIssue, invalid } from '../http/contract/problem.ts'
import { zonesOf } from '../servers/queries.ts'
import {
  type Announcement,
  type AnnouncementCreate,
  type AnnouncementUpdate,
  announcementProblems,
  MOST_OPEN,
  type OperatedAnnouncement,
} from './schema.ts'
import type { AnnouncementTable } from './tables.ts'

export interface Announcing {
  db: Database
  clock: Clock
  catalog: Catalog
}

/** All announcements, newest first. */
export function listAnnouncements(db: Queries, page: Page) {
  return pageOf(db.selectFrom('announcements').selectAll().orderBy('announcement_id', 'desc'), page)
}

/** @throws ApiError announcement_not_found */
export async function findAnnouncement(db: Queries, announcementId: string): Promise<AnnouncementTable> {
  const row = await db
    .selectFrom('announcements')
    .selectAll()
    .where('announcement_id', '=', announcementId)
    .executeTakeFirst()
  if (!row) throw new ApiError(announcementProblems.announcement_not_found, 'No such announcement.')
  return row
}

/** The announcements that concern an account and have not ended, in the order in which they begin. */
export async function announcementsFor({ db, clock }: Announcing, accountId: string, page: Page) {
  const open = await openOnes(db, clock.now()).selectAll().orderBy('starts_at').execute()
  const isOfSome = open.some(({ zones }) => zones !== ALL)
  const own = new Set(isOfSome ? await zonesOf(db, accountId) : [])
  const items = open.filter(({ zones }) => zones === ALL || zonesIn(zones).some((slug) => own.has(slug)))
  return { items: items.slice(page.offset, page.offset + page.limit), total: items.length }
}

const ALL = '[]'

/**
 * Creates an announcement. A repeat of the same request finds it, unless it was changed or has ended.
 * @throws ApiError validation_failed, too_many_announcements
 */
export async function createAnnouncement(
  place: Announcing,
  { kind, text, zones = [], starts_at, ends_at = null }: AnnouncementCreate,
): Promise<{ row: AnnouncementTable; isNew: boolean }> {
  const { db, clock } = place
  const now = clock.now()
  const times = { starts_at: momentOf('starts_at', starts_at ?? null), ends_at: momentOf('ends_at', ends_at) }
  const content = { kind, text_en: text.en, text_ru: text.ru, zones: JSON.stringify(zones) }
  const row: AnnouncementTable = {
    ...{ announcement_id: uuid(), ...content, starts_at: times.starts_at ?? now, ends_at: times.ends_at },
    digest: hash('sha256', JSON.stringify([content, times])),
    ...{ ended_at: null, mailed_to: '', mailed_at: null, created_at: now, updated_at: now },
  }
  check(place.catalog, zones, row)
  if (row.ends_at !== null && row.ends_at <= now)
    throw invalid([bodyIssue('ends_at', 'below_minimum', 'ends_at must be in the future.')])
  return db.transaction().execute(async (tx) => {
    await lockOpen(tx)
    const { numInsertedOrUpdatedRows = 0n } = await tx
      .insertInto('announcements')
      .values(row)
      .onConflict((conflict) => conflict.column('digest').where('ended_at', 'is', null).doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) return { row: await earlier(tx, row), isNew: false }
    await requireRoom(tx, now, row.announcement_id)
    return { row, isNew: true }
  })
}

function earlier(tx: Queries, { digest }: AnnouncementTable): Promise<AnnouncementTable> {
  const open = tx.selectFrom('announcements').selectAll().where('ended_at', 'is', null)
  return open.where('digest', '=', digest).executeTakeFirstOrThrow()
}

/**
 * Changes an announcement that the operator has not ended: one whose planned end has passed can last longer.
 * @throws ApiError validation_failed, announcement_ended, too_many_announcements
 */
export async function updateAnnouncement(
  place: Announcing,
  announcementId: string,
  { kind, text, zones, starts_at, ends_at }: AnnouncementUpdate,
): Promise<AnnouncementTable> {
  const { db, clock, catalog } = place
  const now = clock.now()
  const change: Partial<AnnouncementTable> = {
    ...(kind && { kind }),
    ...(text && { text_en: text.en, text_ru: text.ru }),
    ...(zones && { zones: JSON.stringify(zones) }),
    ...(starts_at !== undefined && { starts_at: momentOf('starts_at', starts_at) ?? now }),
    ...(ends_at !== undefined && { ends_at: momentOf('ends_at', ends_at) }),
    ...{ digest: null, updated_at: now },
  }
  return db.transaction().execute(async (tx) => {
    await lockOpen(tx)
    const row = await tx
      .updateTable('announcements')
      .set(change)
      .where('announcement_id', '=', announcementId)
      .where('ended_at', 'is', null)
      .returningAll()
      .executeTakeFirst()
    if (!row)
      throw new ApiError(
        announcementProblems.announcement_ended,
        'Nothing changed: it has ended. Create another.',
      )
    check(catalog, zones ?? [], row)
    await requireRoom(tx, now, announcementId)
    return row
  })
}

/** Ends an announcement, if it has not ended yet. */
export async function endAnnouncement(
  { db, clock }: Announcing,
  announcementId: string,
): Promise<AnnouncementTable> {
  const now = clock.now()
  await db
    .updateTable('announcements')
    .set({ ended_at: now, updated_at: now })
    .where('announcement_id', '=', announcementId)
    .where('announcement_id', 'in', openOnes(db, now).select('announcement_id'))
    .execute()
  return findAnnouncement(db, announcementId)
}

/** A query of the announcements that have not ended. */
export function openOnes(db: Queries, now: number) {
  return db
    .selectFrom('announcements')
    .where('ended_at', 'is', null)
    .where((eb) => eb.or([eb('ends_at', 'is', null), eb('ends_at', '>', now)]))
}

/** Serializes checks of the limit: row locks would miss the rows that concurrent transactions insert. */
const lockOpen = (tx: Queries) => lockName(tx, 'announcements')

/**
 * Enforces the limit of open announcements, under the lock that opening another one takes.
 * @throws ApiError too_many_announcements
 */
async function requireRoom(tx: Queries, now: number, itself: string): Promise<void> {
  const open = openOnes(tx, now).where('announcement_id', '<>', itself)
  if ((await countOf(open.selectAll())) >= MOST_OPEN)
    throw new ApiError(
      announcementProblems.too_many_announcements,
      `${MOST_OPEN} announcements have not ended. End one of them first.`,
    )
}

/** @throws ApiError validation_failed */
function check(catalog: Catalog, zones: readonly string[], row: AnnouncementTable): void {
  const unknown = zones.find((slug) => !findZone(catalog, slug))
  if (unknown !== undefined) throw invalid([bodyIssue('zones', 'not_found', unknownZone(catalog, unknown))])
  if (row.ends_at !== null && row.ends_at <= row.starts_at)
    throw invalid([bodyIssue('ends_at', 'below_minimum', 'ends_at must be after starts_at.')])
}

/** @throws ApiError validation_failed */
function momentOf(field: 'starts_at' | 'ends_at', text: string | null): number | null {
  return text === null ? null : readMoment(field, text)
}

export function zonesIn(json: string): string[] {
  const zones: string[] = JSON.parse(json)
  return zones
}

export function announcementView(row: AnnouncementTable): Announcement {
  return {
    announcement_id: row.announcement_id,
    kind: row.kind,
    text: { en: row.text_en, ru: row.text_ru },
    zones: zonesIn(row.zones),
    starts_at: isoTime(row.starts_at),
    ends_at: isoTimeOrNull(row.ends_at),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}

export const operatedView =
  (now: number) =>
  (row: AnnouncementTable): OperatedAnnouncement => ({
    ...announcementView(row),
    ended_at: isoTimeOrNull(
      row.ended_at ?? (row.ends_at !== null && row.ends_at <= now ? row.ends_at : null),
    ),
    mailed_at: isoTimeOrNull(row.mailed_at),
  })

/** Deletes some announcements that ended before a moment. @returns the number deleted */
export function forgetAnnouncements(db: Database, before: number, limit: number): Promise<number> {
  const ended = db
    .selectFrom('announcements')
    .select('announcement_id')
    .where((eb) => eb.or([eb('ended_at', '<', before), eb('ends_at', '<', before)]))
    .limit(limit)
  return deleteFound(db, 'announcements', 'announcement_id', ended)
}
