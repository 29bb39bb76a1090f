import { changeRate } from '../billing/rates.ts'
import type { Queries } from '../database/database.ts'
import type { VerifyState } from '../drivers/snapshots.ts'
import { billedSnapshot } from './billing.ts'
import { tell } from './events.ts'
import { lockSnapshot, writeSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'

const WEEK_MS = 7 * 24 * 3600_000
const HOUR_MS = 3600_000
/** A copy that is not verified by then is overdue. */
const OVERDUE_MS = 24 * 3600_000

/** The available copies of a pool that are due to be verified, the longest overdue first. */
export function unverifiedCopies(db: Queries, pool: string, now: number, limit: number) {
  return db
    .selectFrom('snapshots')
    .select(['snapshot_id', 'server_id', 'base_id', 'offsite_at', 'offsite_place'])
    .where('pool', '=', pool)
    .where('verify_due_at', '<=', now)
    .where('deleted_at', 'is', null)
    .where('status', '=', 'available')
    .orderBy('verify_due_at')
    .orderBy('snapshot_id')
    .limit(limit)
    .execute()
}

/**
 * Records the result of a verification. A damaged copy can't be restored any more and costs nothing; its
 * files stay on the host for the operator.
 * @returns true if it is a damaged backup
 */
export async function recordVerified(
  tx: Queries,
  snapshotId: string,
  found: Exclude<VerifyState, { state: 'reading' | 'exported' }>,
  now: number,
): Promise<boolean> {
  const row = await lockSnapshot(tx, snapshotId)
  if (row?.status !== 'available') return false
  const isIntact = found.state === 'intact'
  // A copy that once booted has the same bytes.
  const verified_by = row.verified_by ?? 'hash'
  const change: Partial<SnapshotTable> = isIntact
    ? { verified_at: now, verified_by, verify_due_at: now + WEEK_MS, updated_at: now }
    : {
        ...{
          status: 'error',
          status_reason: 'It was found damaged.',
          verify_due_at: null,
          price_month: 0,
          price_hour: 0,
          updated_at: now,
        },
        ...(row.item_type === 'backup' ? { expires_at: now + WEEK_MS, failed_at: now } : {}),
      }
  await writeSnapshot(tx, snapshotId, change)
  if (!isIntact && row.price_hour > 0) await changeRate(tx, billedSnapshot(row), null, now)
  await tell(tx, isIntact ? 'updated' : 'failed', { ...row, ...change }, now)
  return row.item_type === 'backup' && !isIntact
}

/**
 * Makes the copies due for verification that share a full copy with a damaged one: damage in the full copy
 * affects all of them. A copy that was verified within the hour is left alone.
 */
export async function verifySharing(
  db: Queries,
  { snapshot_id, base_id }: Pick<SnapshotTable, 'snapshot_id' | 'base_id'>,
  now: number,
): Promise<void> {
  const full = base_id ?? snapshot_id
  await db
    .updateTable('snapshots')
    .set({ verify_due_at: now })
    .where('deleted_at', 'is', null)
    .where('status', '=', 'available')
    .where('snapshot_id', '<>', snapshot_id)
    .where((eb) => eb.or([eb('snapshot_id', '=', full), eb('base_id', '=', full)]))
    .where((eb) => eb.or([eb('verified_at', 'is', null), eb('verified_at', '<', now - HOUR_MS)]))
    .execute()
}

/** Makes a copy due for verification at once. */
export async function verifySoon(db: Queries, snapshotId: string, now: number): Promise<void> {
  await db
    .updateTable('snapshots')
    .set({ verify_due_at: now })
    .where('snapshot_id', '=', snapshotId)
    .where('status', '=', 'available')
    .execute()
}

/** Makes a copy that exists only off site due for verification in a week. */
export function verifyLater(db: Queries, snapshotId: string, now: number): Promise<void> {
  return verifyAt(db, snapshotId, now + WEEK_MS)
}

/** Changes the time at which a copy is verified. */
export function verifyAt(db: Queries, snapshotId: string, at: number): Promise<void> {
  return writeSnapshot(db, snapshotId, { verify_due_at: at })
}

/** Counts copies by the results of their verification, for the operator. */
export async function countCopies(db: Queries, now: number) {
  return db
    .selectFrom('snapshots')
    .select(({ eb, fn }) => [
      'item_type as kind',
      eb
        .case()
        .when('status', '=', 'error')
        .then('damaged')
        .when('verify_due_at', '<', now - OVERDUE_MS)
        .then('overdue')
        .when('verified_at', 'is', null)
        .then('new')
        .else('verified')
        .end()
        .as('state'),
      fn.countAll<number>().as('total'),
    ])
    .where('deleted_at', 'is', null)
    .where('bytes', 'is not', null)
    .groupBy(['item_type', 'state'])
    .execute()
}
