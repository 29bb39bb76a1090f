import Type, { type Static } from 'typebox'
import { TemplateId, ZoneSlug } from '../catalog/schema.ts'
import {
  CreatedAt,
  LabelSelector,
  Labels,
  MonthPrice,
  NewLabels,
  nullable,
  timestamp,
  UpdatedAt,
  uuid,
  visibleName,
} from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { OperationId } from '../operations/schema.ts'

export const snapshotProblems = defineProblems({
  snapshot_not_found: { status: 404, title: 'No such snapshot' },
  snapshot_in_use: { status: 409, title: 'A server is being created from the snapshot' },
  backup_not_found: { status: 404, title: 'No such backup' },
  backup_not_ready: { status: 409, title: 'The backup is still being made' },
})

const SNAPSHOT = '01a1fb45-1af0-7d25-8c3e-4b5a69788796'
const SERVER = '01a1fb45-1ac2-75b7-a056-9ee82769d403'
export const SnapshotId = uuid(SNAPSHOT, 'Id of the snapshot', 'GET /snapshots')
export const SnapshotName = visibleName(100, 'before the upgrade')

export const OffsiteAt = nullable(timestamp('When it was stored off site', '2026-11-21T03:10:00.000Z'), {
  description:
    'Since when a whole, encrypted copy of it lies outside of its host, so that it outlives the host; null: none does, the operator has set no place, or the zone of its server has no `backups`, as those with containers may not',
})

/** The fields of a copy of a disk. */
const copy = {
  server_id: uuid(SERVER, 'The server whose disk was copied, which may be deleted by now'),
  name: SnapshotName,
  status: Type.Enum(['creating', 'available', 'error'], {
    description:
      '`available`: can be restored; `error`: it could not be made, or was found damaged, and costs nothing',
    examples: ['available'],
  }),
  operation_id: nullable(OperationId, {
    description: 'The operation that makes it, of its server; null once it has ended',
    examples: [null],
  }),
  size_gb: nullable(Type.Integer({ examples: [2] }), {
    description:
      'Size of the copy in GB, rounded up, which is billed if it is a snapshot; where servers are containers, the size of the disk. Null until it is available',
  }),
  kind: nullable(Type.Enum(['full', 'difference'], { examples: ['full'] }), {
    description:
      '`full`: it has the whole disk; `difference`: it has what differs from an earlier backup, whose data it keeps, and needs no other. Null until it is available',
  }),
  bytes: nullable(Type.Integer({ examples: [1_288_490_188] }), {
    description:
      'Bytes of the copy itself, compressed, without the full copy that a difference shares with others; where servers are containers, the size of the disk, as the storage shares its blocks. Null until it is available',
  }),
  disk_gb: Type.Integer({
    description: 'Size of the copied disk in GB: the least that a server from it needs',
    examples: [20],
  }),
  consistency: nullable(Type.Enum(['filesystem', 'crash'], { examples: ['filesystem'] }), {
    description:
      '`filesystem`: the file systems were complete; `crash`: the copy is like a disk after a loss of power, which file systems and databases repair at the next start. Null until it is available',
  }),
  verified_at: nullable(timestamp('When it was verified', '2026-11-21T10:00:00.000Z'), {
    description:
      'When the service last found the copy intact, which it looks for every week; null: not yet. Where servers are containers, it is the copy off site that is read, and none is without one',
  }),
  verified_by: nullable(Type.Enum(['hash', 'boot'], { examples: ['hash'] }), {
    description:
      'How: `hash`, every byte is as it was made; `boot`, its system started as well. Null if `verified_at` is',
  }),
  boot_checked_at: nullable(timestamp('When it was booted', '2026-11-22T02:10:00.000Z'), {
    description:
      "When it was last booted to see if it starts: at night, once a week, each server's newest backup, on a disk that is thrown away and without a network; null: never",
  }),
  boot_result: nullable(
    Type.Enum(['agent', 'console', 'init', 'unproven', 'failed'], { examples: ['agent'] }),
    {
      description:
        '`agent`: its guest agent answered; `console`: a login appeared on its console; `init`: its services run, as the first process of a container shows; `unproven`: its kernel, or that process, ran for ten minutes, and nothing shows if the rest did; `failed`: it did not start. Null: it was never booted',
    },
  ),
  offsite_at: OffsiteAt,
  template_id: nullable(TemplateId, {
    description: 'Template of the copied system; null if its server was created from an image without one',
  }),
  zone_slug: ZoneSlug,
  created_at: CreatedAt,
  updated_at: UpdatedAt,
}

export const Snapshot = Type.Object(
  { snapshot_id: SnapshotId, ...copy, labels: Labels, price_month_rub: MonthPrice },
  { title: 'Snapshot', description: "A copy of a server's disk at one moment" },
)
export type Snapshot = Static<typeof Snapshot>

const BACKUP = '01a1fb45-1b33-7c52-9d1e-5b6a79889706'
export const BackupId = uuid(BACKUP, 'Id of the backup', 'GET /backups')

export const Backup = Type.Object(
  {
    backup_id: BackupId,
    ...copy,
    expires_at: nullable(timestamp('When it will be deleted', '2026-12-01T02:00:00.000Z'), {
      description:
        'When it will be deleted, because its server was, or has no backups any more; null while newer backups decide',
      examples: [null],
    }),
  },
  { title: 'Backup', description: "A daily copy of a server's disk, included in the price of its backups" },
)
export type Backup = Static<typeof Backup>

export const BackupKeep = Type.Object(
  {
    name: Type.Optional({
      ...SnapshotName,
      description: 'Name of the snapshot. Default: that of the backup',
    }),
  },
  {
    title: 'BackupKeep',
    description: 'A backup to turn into a snapshot; the body can be omitted',
    examples: [{ name: 'before the upgrade' }],
  },
)

export const BackupQuery = Type.Object({
  ...pagingQuery,
  server_id: Type.Optional(uuid(SERVER, 'Only the backups of this server, which may be deleted by now')),
})

export const SnapshotUpdate = Type.Object(
  { name: Type.Optional(SnapshotName), labels: Type.Optional(NewLabels) },
  {
    title: 'SnapshotUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
    examples: [{ name: 'before the upgrade' }],
  },
)

export const SnapshotQuery = Type.Object({
  ...pagingQuery,
  server_id: Type.Optional(uuid(SERVER, 'Only the snapshots of this server', 'GET /servers')),
  label: Type.Optional(LabelSelector),
})
