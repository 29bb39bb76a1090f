import Type, { type Static } from 'typebox'
import { ZoneSlug } from '../catalog/schema.ts'
import { MOST_VOLUME_GB } from '../drivers/volumes.ts'
import {
  CreatedAt,
  HourPrice,
  LabelSelector,
  Labels,
  MonthPrice,
  NewLabels,
  nullable,
  UpdatedAt,
  uuid,
  visibleName,
} from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const volumeProblems = defineProblems({
  volume_not_found: { status: 404, title: 'No such volume' },
  volume_in_use: { status: 409, title: 'A server has the volume' },
  volume_detached: { status: 409, title: 'No server has the volume' },
})

const SERVER = '01a1fb45-1ac2-75b7-a056-9ee82769d403'
const Name = visibleName(100, 'data')
const SizeGb = Type.Integer({
  minimum: 1,
  maximum: MOST_VOLUME_GB,
  description: 'Size in GB; it can grow, but not shrink',
  examples: [20],
})

export const Volume = Type.Object(
  {
    volume_id: uuid('01a1fb45-1b02-7a3e-8c5d-6f1e2d3c4b5a', 'Id of the volume'),
    name: Name,
    size_gb: SizeGb,
    zone_slug: ZoneSlug,
    status: Type.Enum(['available', 'attaching', 'attached', 'detaching', 'deleting'], {
      description:
        '`available`: no server has it; `attached`: a server has it, or gets it when it starts; the others last as long as an operation',
      examples: ['attached'],
    }),
    server_id: nullable(uuid(SERVER, 'The server that has the volume'), {
      description: 'The server that has the volume, or is about to; null if none has',
    }),
    device: nullable(
      Type.String({ examples: ['/dev/disk/by-id/scsi-0BERTH_Volume_01a1fb451b027a3e8c5d6f1e2d3c4b5a'] }),
      {
        description:
          'Path of the volume in the guest: a block device, or in a container a folder; null while no server has it',
      },
    ),
    labels: Labels,
    price_month_rub: MonthPrice,
    price_hour_rub: HourPrice,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Volume', description: 'A disk that can be moved between servers of its zone' },
)
export type Volume = Static<typeof Volume>

export const VolumeCreate = Type.Object(
  { name: Name, zone_slug: ZoneSlug, size_gb: SizeGb, labels: Type.Optional(NewLabels) },
  {
    title: 'VolumeCreate',
    description: 'A volume to create',
    examples: [{ name: 'data', zone_slug: 'local-1', size_gb: 20 }],
  },
)
export type VolumeCreate = Static<typeof VolumeCreate>

export const VolumeUpdate = Type.Object(
  { name: Type.Optional(Name), size_gb: Type.Optional(SizeGb), labels: Type.Optional(NewLabels) },
  {
    title: 'VolumeUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
    examples: [{ size_gb: 40 }],
  },
)
export type VolumeUpdate = Static<typeof VolumeUpdate>

export const VolumeAttach = Type.Object(
  { server_id: uuid(SERVER, 'Server of the same zone to attach the volume to', 'GET /servers') },
  {
    title: 'VolumeAttach',
    description: 'The server that gets a volume',
    examples: [{ server_id: SERVER }],
  },
)

export const VolumeQuery = Type.Object({
  ...pagingQuery,
  server_id: Type.Optional(uuid(SERVER, 'Only the volumes of this server', 'GET /servers')),
  label: Type.Optional(LabelSelector),
})
