import { takeRoom } from '../accounts/accounts.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import { snapshotPrice } from './billing.ts'
import { tell } from './events.ts'
import { snapshotQuota } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { billedGb } from './view.ts'

/** A copy before it moves, and its price in the other account. */
export interface MovedCopy {
  before: SnapshotTable
  price: Pick<SnapshotTable, 'price_hour' | 'price_month'>
}

/** The snapshots and backups of a server, at the prices of another account. @param catalog at those prices */
export async function copiesOf(db: Queries, catalog: Catalog, serverId: string): Promise<MovedCopy[]> {
  const rows = await db
    .selectFrom('snapshots')
    .selectAll()
    .where('server_id', '=', serverId)
    .where('item_type', 'in', ['snapshot', 'backup'])
    .where('deleted_at', 'is', null)
    .orderBy('snapshot_id')
    .execute()
  return rows.map((before) => {
    const { price_hour, price_month, bytes, zone_slug, priced_at } = before
    const isFree = price_hour === 0 || bytes === null
    const price = isFree
      ? { price_hour, price_month }
      : snapshotPrice(catalog, zone_slug, billedGb(bytes), priced_at)
    return { before, price }
  })
}

/**
 * Gives copies of a server's disk to another account, whose row is locked, without the passwords and keys that a restore
 * would bring back.
 * @throws ApiError quota_exceeded
 */
export async function moveCopies(
  tx: Queries,
  copies: readonly MovedCopy[],
  { to, now }: { to: Pick<SnapshotTable, 'account_id' | 'project_id'>; now: number },
): Promise<void> {
  const snapshots = copies.filter(({ before }) => before.item_type === 'snapshot').length
  if (snapshots > 0) await takeRoom(tx, to.account_id, [snapshotQuota], { snapshots })
  for (const { before, price } of copies) {
    const change = { ...to, ...price, ssh_keys: '[]', password: null, labels: '{}', updated_at: now }
    await tx.updateTable('snapshots').set(change).where('snapshot_id', '=', before.snapshot_id).execute()
    await tell(tx, 'deleted', before, now)
    await tell(tx, 'created', { ...before, ...change }, now)
  }
}
