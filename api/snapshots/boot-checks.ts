import type { Queries } from '../database/database.ts'
import { type BootSign, bootSigns } from '../drivers/snapshots.ts'
import { tell } from './events.ts'
import { lockSnapshot, writeSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'

/** Half a day less than a week, so that the check stays in the same night of the week. */
const EVERY_MS = 6.5 * 24 * 3600_000

export type BootResult = BootSign | 'unproven' | 'failed'

/** Plans to boot a new backup, in place of its server's earlier ones, a week after the last boot. */
export async function planBoot(
  tx: Queries,
  { server_id, snapshot_id }: Pick<SnapshotTable, 'server_id' | 'snapshot_id'>,
  now: number,
): Promise<void> {
  const backups = tx
    .selectFrom('snapshots')
    .where('server_id', '=', server_id)
    .where('item_type', '=', 'backup')
  const last = await backups.select(({ fn }) => fn.max('boot_checked_at').as('at')).executeTakeFirst()
  await tx
    .updateTable('snapshots')
    .set({ boot_due_at: null })
    .where('server_id', '=', server_id)
    .where('boot_due_at', 'is not', null)
    .execute()
  const checkedAt = last?.at ?? null
  const boot_due_at = checkedAt === null ? now : Math.max(now, checkedAt + EVERY_MS)
  await writeSnapshot(tx, snapshot_id, { boot_due_at })
}

/** The backup of a pool that has been due to be booted for the longest time. */
export function nextBoot(db: Queries, pool: string, now: number): Promise<SnapshotTable | undefined> {
  return db
    .selectFrom('snapshots')
    .selectAll()
    .where('pool', '=', pool)
    .where('boot_due_at', '<=', now)
    .where('item_type', '=', 'backup')
    .where('status', '=', 'available')
    .where('deleted_at', 'is', null)
    .where('expires_at', 'is', null)
    .orderBy('boot_due_at')
    .orderBy('snapshot_id')
    .limit(1)
    .executeTakeFirst()
}

/** Changes when a backup is booted, unless a newer one is booted instead. */
export async function postponeBoot(db: Queries, snapshotId: string, at: number | null): Promise<void> {
  await db
    .updateTable('snapshots')
    .set({ boot_due_at: at })
    .where('snapshot_id', '=', snapshotId)
    .where('boot_due_at', 'is not', null)
    .execute()
}

/**
 * Records how a backup started. A backup that did not start stays available: its bytes are those of the
 * server's disk.
 */
export async function recordBoot(
  tx: Queries,
  snapshotId: string,
  boot_result: BootResult,
  now: number,
): Promise<void> {
  const row = await lockSnapshot(tx, snapshotId)
  if (row?.status !== 'available') return
  const hasBooted = bootSigns.some((sign) => sign === boot_result)
  const hasFailed = boot_result === 'failed'
  const verified: Partial<SnapshotTable> = hasBooted
    ? { verified_at: now, verified_by: 'boot' }
    : hasFailed && row.verified_by === 'boot'
      ? { verified_by: 'hash' }
      : {}
  const change = {
    ...{ boot_result, boot_checked_at: now, boot_due_at: now + EVERY_MS, updated_at: now },
    ...(hasFailed ? { failed_at: now } : {}),
    ...verified,
  }
  await writeSnapshot(tx, snapshotId, change)
  if (hasBooted || hasFailed) await tell(tx, hasFailed ? 'unbootable' : 'updated', { ...row, ...change }, now)
}

/** Counts backups by how they started when they were last booted, for the operator. */
export function countBoots(db: Queries) {
  return db
    .selectFrom('snapshots')
    .select(({ fn }) => ['boot_result as result', fn.countAll<number>().as('total')])
    .where('item_type', '=', 'backup')
    .where('deleted_at', 'is', null)
    .where('boot_result', 'is not', null)
    .groupBy('boot_result')
    .execute()
}
