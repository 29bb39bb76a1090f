import Type, { type Static } from 'typebox'
import { NewLabels, uuid } from '../../http/contract/fields.ts'
import { BackupId, SnapshotId, SnapshotName } from '../../snapshots/schema.ts'
import { oneOfTwo } from '../order-schema.ts'

const SERVER = '01a1fb45-1ac2-75b7-a056-9ee82769d403'

export const SnapshotCreate = Type.Object(
  {
    server_id: uuid(SERVER, 'The server whose disk to copy', 'GET /servers'),
    name: Type.Optional({
      ...SnapshotName,
      description: 'Name. Default: the name of the server and the time',
    }),
    labels: Type.Optional(NewLabels),
  },
  {
    title: 'SnapshotCreate',
    description: 'A snapshot to make',
    examples: [{ server_id: SERVER, name: 'before the upgrade' }],
  },
)
export type SnapshotCreate = Static<typeof SnapshotCreate>

export const RestoreRequest = Type.Object(
  { snapshot_id: Type.Optional(SnapshotId), backup_id: Type.Optional(BackupId) },
  {
    title: 'RestoreRequest',
    description: 'The snapshot or the backup of the same server to return to',
    examples: [{ snapshot_id: '01a1fb45-1af0-7d25-8c3e-4b5a69788796' }],
    allOf: oneOfTwo('snapshot_id', 'backup_id'),
  },
)
export type RestoreRequest = Static<typeof RestoreRequest>
