import type { Queries } from '../database/database.ts'
import { record } from '../events/outbox.ts'
import type { SnapshotTable } from './tables.ts'
import { imageView, snapshotView } from './view.ts'

const types = {
  snapshot: { created: 'snapshot.created', updated: 'snapshot.updated', deleted: 'snapshot.deleted' },
  image: { created: 'image.created', updated: 'image.updated', deleted: 'image.deleted' },
} as const

/** Records an event of a snapshot or an image. */
export function tell(
  tx: Queries,
  what: 'created' | 'updated' | 'deleted',
  row: SnapshotTable,
  at: number,
): Promise<void> {
  const data = row.item_type === 'image' ? imageView(row) : snapshotView(row)
  return record(tx, [{ accountId: row.account_id, type: types[row.item_type][what], data, at }])
}
