import Type, { type Static } from 'typebox'
import { ZoneSlug } from '../catalog/schema.ts'
import { CreatedAt, MonthPrice, nullable, UpdatedAt, uuid, visibleName } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { OperationId } from '../operations/schema.ts'
import { Sha256 } from './image-schema.ts'

export const isoProblems = defineProblems({
  iso_not_found: { status: 404, title: 'No such ISO' },
  iso_in_use: { status: 409, title: 'The ISO is in the drive of a server' },
  iso_is_public: { status: 409, title: "The ISO is the operator's" },
})

export const IsoId = uuid('01a1fb45-1b44-7d63-8e2f-6c7b8a990817', 'Id of the ISO', 'GET /isos')
const IsoName = visibleName(100, 'installer')

export const Iso = Type.Object(
  {
    iso_id: IsoId,
    type: Type.Enum(['private', 'public'], {
      description:
        '`private`: your own; `public`: one that the operator offers to all customers, which is free, counts toward no quota, and can only be put into drives',
      examples: ['private'],
    }),
    slug: nullable(Type.String({ examples: [null] }), {
      description: 'Short name of a `public` ISO, unique among them; null for your own',
    }),
    name: IsoName,
    status: Type.Enum(['uploading', 'importing', 'available', 'error'], {
      description:
        '`uploading`: its content is expected; `importing`: it is fetched or checked; `available`: it can be put into drives; `error`: it can not be used, and costs nothing',
      examples: ['available'],
    }),
    status_reason: nullable(Type.String(), {
      description: 'Why it is in `error` and what to do, for people; null otherwise',
      examples: [null],
    }),
    operation_id: nullable(OperationId, {
      description: 'The operation that fetches or checks it; null before and after that',
      examples: [null],
    }),
    size_gb: nullable(Type.Integer({ examples: [1] }), {
      description:
        'Size in GB, rounded up, which is billed; null until it is available, and for a `public` one',
    }),
    content_bytes: nullable(Type.Integer({ examples: [662700032] }), {
      description: 'Size of the file in bytes; null until it is known, and for a `public` one',
    }),
    uploaded_bytes: Type.Integer({
      description: 'Bytes of an uploaded file that have arrived; an upload continues here',
      examples: [662700032],
    }),
    zone_slug: nullable(ZoneSlug, {
      description: 'Zone whose servers can have it; null for a `public` one: every zone with `isos`',
    }),
    price_month_rub: MonthPrice,
    created_at: nullable(CreatedAt, { description: 'When it was created; null for a `public` one' }),
    updated_at: nullable(UpdatedAt, { description: 'When it last changed; null for a `public` one' }),
  },
  { title: 'Iso', description: 'An ISO image for the drives of servers: your own, or one of the operator' },
)
export type Iso = Static<typeof Iso>

/** The largest ISO. */
const MOST_ISO_BYTES = 32 * 2 ** 30

export const IsoCreate = Type.Object(
  {
    name: IsoName,
    zone_slug: { ...ZoneSlug, description: 'Zone whose servers can have it; it must have `isos`' },
    upload: Type.Optional(
      Type.Boolean({ description: '`true`: you upload its file afterwards', examples: [true] }),
    ),
    content_bytes: Type.Optional(
      Type.Integer({
        minimum: 34_816,
        maximum: MOST_ISO_BYTES,
        description: 'Size in bytes of the file that you will upload; required with `upload`',
        examples: [662700032],
      }),
    ),
    url: Type.Optional(
      Type.String({
        pattern: '^https?://',
        maxLength: 2048,
        description:
          'Public address to fetch it from. The server there must send files in parts (HTTP range requests)',
        examples: ['https://example.com/installer.iso'],
        errorMessage: 'must begin with https:// or http://.',
      }),
    ),
    sha256: Type.Optional(Sha256),
  },
  {
    title: 'IsoCreate',
    description: 'An ISO to upload or to fetch: exactly one of `upload` and `url`',
    examples: [{ name: 'installer', zone_slug: 'local-1', url: 'https://example.com/installer.iso' }],
  },
)
export type IsoCreate = Static<typeof IsoCreate>

export const IsoUpdate = Type.Object(
  { name: Type.Optional(IsoName) },
  {
    title: 'IsoUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
    examples: [{ name: 'installer' }],
  },
)

export const IsoQuery = Type.Object(pagingQuery)
