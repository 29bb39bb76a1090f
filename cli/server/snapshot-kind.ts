import type { Backup, Snapshot } from '@berth/sdk'
import { kind } from '../find.ts'

export const snapshotKind = kind({
  noun: 'snapshot',
  all: (berth) => berth.snapshots.listAll(),
  id: ({ snapshot_id }) => snapshot_id,
  name: ({ name }) => name,
})

export const backupKind = kind({
  noun: 'backup',
  all: (berth) => berth.backups.listAll(),
  id: ({ backup_id }) => backup_id,
  name: ({ name }) => name,
})

/** Snapshots and backups together, of which a disk can be created. */
export const copyKind = kind<Snapshot | Backup>({
  noun: 'snapshot',
  async *all(berth) {
    yield* berth.snapshots.listAll()
    yield* berth.backups.listAll()
  },
  id: (copy) => ('snapshot_id' in copy ? copy.snapshot_id : copy.backup_id),
  name: ({ name }) => name,
})
