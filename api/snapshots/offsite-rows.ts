import { type ExpressionBuilder, sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'
import { writeKept, writeSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'

export type OffsiteRow = Pick<
  SnapshotTable,
  | 'snapshot_id'
  | 'pool'
  | 'base_id'
  | 'deleted_at'
  | 'offsite_place'
  | 'offsite_parts'
  | 'offsite_at'
  | 'offsite_sha256'
>
const columns = [
  ...(['snapshot_id', 'pool', 'base_id', 'deleted_at', 'offsite_place'] as const),
  ...(['offsite_parts', 'offsite_at', 'offsite_sha256'] as const),
] as const

const PARTED = { offsite_parts: 0, offsite_at: null, offsite_sha256: null } as const
const EMPTY = { offsite_place: null, ...PARTED } as const

/**
 * True for a full copy whose parts off site are needed by differences that are kept, or not yet removed
 * there.
 */
function isBelow(eb: ExpressionBuilder<Schema, 'snapshots'>) {
  return eb.exists(
    eb
      .selectFrom('snapshots as above')
      .select('above.snapshot_id')
      .whereRef('above.base_id', '=', 'snapshots.snapshot_id')
      .where((on) => on.or([on('above.deleted_at', 'is', null), on('above.offsite_place', 'is not', null)])),
  )
}

/**
 * Finds the copy that has waited longest to be sent off site, or to be removed from there. Full copies that
 * others need are found too, and postponed: a query that skipped them would read them all each time.
 */
export function nextDue(db: Queries, now: number) {
  return db
    .selectFrom('snapshots')
    .select(columns)
    .select((eb) => isBelow(eb).as('is_below'))
    .where('offsite_due_at', '<=', now)
    .where((eb) => eb.or([eb('deleted_at', 'is not', null), eb('status', '=', 'available')]))
    .orderBy('offsite_due_at')
    .orderBy('snapshot_id')
    .limit(1)
    .executeTakeFirst()
}

/** Makes a deleted full copy due at once, since it may have lost the last difference that needed it. */
export async function hasten(db: Queries, baseId: string, now: number): Promise<void> {
  const base = await db
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('snapshot_id', '=', baseId)
    .where('deleted_at', 'is not', null)
    .where('offsite_place', 'is not', null)
    .executeTakeFirst()
  if (base) await writeSnapshot(db, baseId, { offsite_due_at: now })
}

/** Postpones the removal of a deleted full copy that others need. */
export function putOff(db: Queries, snapshotId: string, dueAt: number): Promise<void> {
  return writeSnapshot(db, snapshotId, { offsite_due_at: dueAt })
}

export function findOffsite(db: Queries, snapshotId: string): Promise<OffsiteRow | undefined> {
  return db.selectFrom('snapshots').select(columns).where('snapshot_id', '=', snapshotId).executeTakeFirst()
}

const SOME = 500

/**
 * Makes all copies due that are not in this place, because the operator set another place before, or none.
 * Copies that can't be read, and so are never verified, are left alone.
 */
export async function sendAllTo(db: Queries, place: string, now: number): Promise<void> {
  for (;;) {
    const rows = await db
      .selectFrom('snapshots')
      .select('snapshot_id')
      .where('deleted_at', 'is', null)
      .where('status', '=', 'available')
      .where('verify_due_at', 'is not', null)
      .where((eb) =>
        eb.or([
          eb('offsite_place', '<>', place),
          eb.and([eb('offsite_at', 'is', null), eb('offsite_due_at', 'is', null)]),
        ]),
      )
      .limit(SOME)
      .execute()
    for (const { snapshot_id } of rows) await writeKept(db, snapshot_id, { ...EMPTY, offsite_due_at: now })
    if (rows.length < SOME) return
  }
}

/** Notes that parts of a copy are in a place. @returns false: it was deleted meanwhile */
export function noteParts(db: Queries, snapshotId: string, place: string, parts: number): Promise<boolean> {
  return writeKept(db, snapshotId, { offsite_place: place, offsite_parts: parts })
}

/**
 * Notes that a copy is complete off site, unless it was deleted meanwhile: a deleted copy is due to be
 * removed from there.
 */
export async function noteSent(db: Queries, snapshotId: string, sha256: string, now: number): Promise<void> {
  const whole = { offsite_at: now, offsite_sha256: sha256 }
  await writeKept(db, snapshotId, { ...whole, offsite_due_at: null, offsite_fault: null })
}

/** Notes that a copy off site is incomplete from here on. */
export function noteParted(db: Queries, snapshotId: string): Promise<void> {
  return writeSnapshot(db, snapshotId, PARTED)
}

/** Notes that nothing of a copy is off site. */
export function noteRemoved(db: Queries, snapshotId: string): Promise<void> {
  return writeSnapshot(db, snapshotId, { ...EMPTY, offsite_due_at: null, offsite_fault: null })
}

export function postpone(db: Queries, snapshotId: string, dueAt: number, fault: string): Promise<void> {
  return writeSnapshot(db, snapshotId, { offsite_due_at: dueAt, offsite_fault: fault.slice(0, 500) })
}

/** Notes that the copy off site is damaged. It is sent again if its host still has it. */
export function noteDamaged(db: Queries, snapshotId: string, dueAt: number, fault: string): Promise<void> {
  return writeSnapshot(db, snapshotId, {
    ...PARTED,
    offsite_due_at: dueAt,
    offsite_fault: fault.slice(0, 500),
  })
}

/**
 * Makes all differences to a full copy that is damaged off site due to be sent again. They still count as
 * there: some may have sent the full copy with them, and their host may have lost them.
 */
export async function sendAbove(db: Queries, baseId: string, dueAt: number, fault: string): Promise<void> {
  const above = await db
    .selectFrom('snapshots')
    .select('snapshot_id')
    .where('base_id', '=', baseId)
    .where('deleted_at', 'is', null)
    .where('offsite_at', 'is not', null)
    .execute()
  const change = { offsite_parts: 0, offsite_due_at: dueAt, offsite_fault: fault.slice(0, 500) }
  for (const { snapshot_id } of above) await writeKept(db, snapshot_id, change)
}

/** Counts copies by their state off site, for the operator. */
export async function countOffsite(db: Queries) {
  const rows = await db
    .selectFrom('snapshots')
    .select(({ eb, fn }) => [
      eb
        .case()
        .when('deleted_at', 'is not', null)
        .then('removing')
        .when('offsite_at', 'is not', null)
        .then('stored')
        .else('waiting')
        .end()
        .as('state'),
      fn.countAll<number>().as('total'),
      // A full copy counts once, however many differences it has.
      fn.coalesce(fn.sum<number>(eb('bytes', '-', eb.ref('base_bytes'))), sql<number>`0`).as('bytes'),
      fn.min('created_at').as('oldest_created_at'),
      fn.max('offsite_fault').as('fault'),
    ])
    .where((eb) =>
      eb.or([
        eb.and([
          eb('deleted_at', 'is', null),
          eb('status', '=', 'available'),
          eb('verify_due_at', 'is not', null),
        ]),
        eb.and([eb('deleted_at', 'is not', null), eb('offsite_place', 'is not', null)]),
      ]),
    )
    .groupBy('state')
    .execute()
  return rows.map((row) => ({ ...row, total: Number(row.total), bytes: Number(row.bytes) }))
}
