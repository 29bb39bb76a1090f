import Type, { type Static } from 'typebox'
import { TemplateId, ZoneSlug } from '../catalog/schema.ts'
import { CreatedAt, MonthPrice, nullable, UpdatedAt, uuid, visibleName } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { OperationId } from '../operations/schema.ts'
import { SnapshotId } from './schema.ts'

export const imageProblems = defineProblems({
  image_not_found: { status: 404, title: 'No such image' },
  image_in_use: { status: 409, title: 'A server is being created from the image' },
})

export const ImageId = uuid('01a1fb45-1b0c-7c41-9d2e-5c6b7a889907', 'Id of the image', 'GET /images')
const ImageName = visibleName(100, 'golden')

export const Image = Type.Object(
  {
    image_id: ImageId,
    name: ImageName,
    status: Type.Enum(['uploading', 'importing', 'available', 'error'], {
      description:
        '`uploading`: its content is expected; `importing`: it is copied or checked; `available`: servers can be created from it; `error`: it can not be used, and costs nothing',
      examples: ['available'],
    }),
    status_reason: nullable(Type.String(), {
      description: 'Why it is in `error` and what to do, for people; null otherwise',
      examples: [null],
    }),
    operation_id: nullable(OperationId, {
      description: 'The operation that makes it; null before and after that',
      examples: [null],
    }),
    template_id: nullable(TemplateId, {
      description: 'The template that its system began with; null if that is not known',
    }),
    os_family: nullable(Type.String(), {
      description: 'Family of its operating system; null if it is not known, or that of its template',
      examples: [null],
    }),
    default_username: nullable(Type.String(), {
      description: 'User name for SSH; null: that of its template',
      examples: [null],
    }),
    min_disk_gb: nullable(Type.Integer({ examples: [20] }), {
      description: 'Smallest disk in GB of a server from it; null until it is known',
    }),
    size_gb: nullable(Type.Integer({ examples: [2] }), {
      description: 'Size of the image in GB, rounded up, which is billed; null until it is available',
    }),
    zone_slug: ZoneSlug,
    price_month_rub: MonthPrice,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Image', description: 'An image of your own, to create servers from' },
)
export type Image = Static<typeof Image>

export const ImageCreate = Type.Object(
  { name: ImageName, snapshot_id: SnapshotId },
  {
    title: 'ImageCreate',
    description: 'An image to make',
    examples: [{ name: 'golden', snapshot_id: '01a1fb45-1af0-7d25-8c3e-4b5a69788796' }],
  },
)
export type ImageCreate = Static<typeof ImageCreate>

export const ImageUpdate = Type.Object(
  { name: Type.Optional(ImageName) },
  {
    title: 'ImageUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
    examples: [{ name: 'golden' }],
  },
)

export const ImageQuery = Type.Object(pagingQuery)
