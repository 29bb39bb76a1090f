import Type, { type Static } from 'typebox'
import { TemplateId, ZoneSlug } from '../catalog/schema.ts'
import { CreatedAt, MonthPrice, nullable, UpdatedAt, uuid, visibleName } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { OperationId } from '../operations/schema.ts'

export const snapshotProblems = defineProblems({
  snapshot_not_found: { status: 404, title: 'No such snapshot' },
  snapshot_in_use: { status: 409, title: 'A server is being created from the snapshot' },
})

const SNAPSHOT = '01a1fb45-1af0-7d25-8c3e-4b5a69788796'
const SERVER = '01a1fb45-1ac2-75b7-a056-9ee82769d403'
export const SnapshotId = uuid(SNAPSHOT, 'Id of the snapshot', 'GET /snapshots')
export const SnapshotName = visibleName(100, 'before the upgrade')

export const Snapshot = Type.Object(
  {
    snapshot_id: SnapshotId,
    server_id: uuid(SERVER, 'The server whose disk was copied, which may be deleted by now'),
    name: SnapshotName,
    status: Type.Enum(['creating', 'available', 'error'], {
      description: '`available`: can be restored; `error`: it could not be made, and costs nothing',
      examples: ['available'],
    }),
    operation_id: nullable(OperationId, {
      description: 'The operation that makes it, of its server; null once it has ended',
      examples: [null],
    }),
    size_gb: nullable(Type.Integer({ examples: [2] }), {
      description: 'Size of the copy in GB, rounded up, which is billed; null until it is available',
    }),
    disk_gb: Type.Integer({
      description: 'Size of the copied disk in GB: the least that a server from it needs',
      examples: [20],
    }),
    consistency: nullable(Type.Enum(['filesystem', 'crash'], { examples: ['filesystem'] }), {
      description:
        '`filesystem`: the file systems were complete; `crash`: the copy is like a disk after a loss of power, which file systems and databases repair at the next start. Null until it is available',
    }),
    template_id: nullable(TemplateId, {
      description: 'Template of the copied system; null if its server was created from an image without one',
    }),
    zone_slug: ZoneSlug,
    price_month_rub: MonthPrice,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Snapshot', description: "A copy of a server's disk at one moment" },
)
export type Snapshot = Static<typeof Snapshot>

export const SnapshotUpdate = Type.Object(
  { name: Type.Optional(SnapshotName) },
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
})
