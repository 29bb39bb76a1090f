import Type, { type Static } from 'typebox'
import { TemplateId, ZoneSlug } from '../catalog/schema.ts'
import {
  CreatedAt,
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
import { OperationId } from '../operations/schema.ts'
import { OffsiteAt, SnapshotId } from './schema.ts'

export const imageProblems = defineProblems({
  image_not_found: { status: 404, title: 'No such image' },
  image_in_use: { status: 409, title: 'A server is being created from the image' },
  image_not_uploading: { status: 409, title: 'The image expects no file' },
  upload_offset: {
    status: 409,
    title: 'The upload continues at another place',
    members: {
      uploaded_bytes: Type.Integer({ description: 'Bytes that have arrived', examples: [16777216] }),
    },
  },
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
    content_bytes: nullable(Type.Integer({ examples: [null] }), {
      description:
        'Size in bytes of the file that it is made from; null if it is made from a snapshot, or the size is not known yet',
    }),
    uploaded_bytes: Type.Integer({
      description: 'Bytes of an uploaded file that have arrived; an upload continues here',
      examples: [0],
    }),
    offsite_at: OffsiteAt,
    zone_slug: ZoneSlug,
    labels: Labels,
    price_month_rub: MonthPrice,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Image', description: 'An image of your own, to create servers from' },
)
export type Image = Static<typeof Image>

/** The largest file that an image is made from. */
const MOST_FILE_BYTES = 1024 * 2 ** 30
/** The largest part of an upload. */
export const PART_BYTES = 16 * 2 ** 20

export const Sha256 = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description:
    'SHA-256 of the whole file in lower-case hex digits; if given, a file with another one is refused',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  errorMessage: 'must be 64 hex digits in lower case, as sha256sum prints them.',
})

export const ImageCreate = Type.Object(
  {
    name: ImageName,
    labels: Type.Optional(NewLabels),
    snapshot_id: Type.Optional({ ...SnapshotId, description: 'The snapshot to make it from' }),
    upload: Type.Optional(
      Type.Boolean({ description: '`true`: you upload its file afterwards', examples: [true] }),
    ),
    content_bytes: Type.Optional(
      Type.Integer({
        minimum: 512,
        maximum: MOST_FILE_BYTES,
        description: 'Size in bytes of the file that you will upload; required with `upload`',
        examples: [734003200],
      }),
    ),
    url: Type.Optional(
      Type.String({
        pattern: '^https?://',
        maxLength: 2048,
        description:
          'Public address of a file to make it from. The server there must send files in parts (HTTP range requests)',
        examples: ['https://example.com/disk.qcow2'],
        errorMessage: 'must begin with https:// or http://.',
      }),
    ),
    sha256: Type.Optional(Sha256),
    zone_slug: Type.Optional({
      ...ZoneSlug,
      description: 'Zone of the image; required unless it is made from a snapshot',
    }),
    os_family: Type.Optional(
      Type.String({
        pattern: '^[a-z][a-z0-9-]{0,31}$',
        description: 'Family of the operating system in the file, such as `debian`',
        examples: ['debian'],
        errorMessage: 'must be up to 32 lower-case letters, digits and dashes, such as debian.',
      }),
    ),
    default_username: Type.Optional(
      Type.String({
        pattern: '^[a-z_][a-z0-9_-]{0,31}$',
        description: 'User name for SSH, which cloud-init in the image sets up (default: `root`)',
        examples: ['debian'],
        errorMessage: 'must be a user name of up to 32 lower-case letters, digits, - and _, such as debian.',
      }),
    ),
  },
  {
    title: 'ImageCreate',
    description: 'An image to make: from exactly one of `snapshot_id`, `upload` and `url`',
    examples: [{ name: 'golden', snapshot_id: '01a1fb45-1af0-7d25-8c3e-4b5a69788796' }],
  },
)
export type ImageCreate = Static<typeof ImageCreate>

export const ImageImport = Type.Object(
  { sha256: Type.Optional(Sha256) },
  { title: 'ImageImport', description: 'What is known of the uploaded file', examples: [{}] },
)

export const ImageUpdate = Type.Object(
  { name: Type.Optional(ImageName), labels: Type.Optional(NewLabels) },
  {
    title: 'ImageUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
    examples: [{ name: 'golden' }],
  },
)

export const ImageQuery = Type.Object({ ...pagingQuery, label: Type.Optional(LabelSelector) })
