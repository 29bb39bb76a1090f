import { kind } from '../find.ts'

export const snapshotKind = kind({
  noun: 'snapshot',
  all: (berth) => berth.snapshots.listAll(),
  id: ({ snapshot_id }) => snapshot_id,
  name: ({ name }) => name,
})
