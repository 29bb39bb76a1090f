import type { Queries } from '../database/database.ts'
import { record } from '../events/outbox.ts'
import type { SnapshotTable } from './tables.ts'
import { backupView, imageView, isoView, snapshotView } from './view.ts'

const types = {
  snapshot: {
    created: 'snapshot.created',
    updated: 'snapshot.updated',
    failed: 'snapshot.updated',
    unbootable: 'snapshot.updated',
    deleted: 'snapshot.deleted',
  },
  image: {
    created: 'image.created',
    updated: 'image.updated',
    failed: 'image.updated',
    unbootable: 'image.updated',
    deleted: 'image.deleted',
  },
  iso: {
    created: 'iso.created',
    updated: 'iso.updated',
    failed: 'iso.updated',
    unbootable: 'iso.updated',
    deleted: 'iso.deleted',
  },
  backup: {
    created: 'backup.created',
    updated: 'backup.verified',
    failed: 'backup.failed',
    unbootable: 'backup.boot_failed',
    deleted: 'backup.deleted',
  },
} as const
const views = { snapshot: snapshotView, image: imageView, backup: backupView, iso: isoView }

/** Records an event of a snapshot, an image or a backup. */
export function tell(
  tx: Queries,
  what: keyof (typeof types)['backup'],
  row: SnapshotTable,
  at: number,
): Promise<void> {
  const data = views[row.item_type](row)
  return record(tx, [{ accountId: row.account_id, type: types[row.item_type][what], data, at }])
}
