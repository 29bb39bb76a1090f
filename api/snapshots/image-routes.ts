import { v7 as uuid } from 'uuid'
import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { bodyIssue, found, type Issue, invalid } from '../http/contract/problem.ts'
import { type Remember, type Route, route, type SetHeader } from '../http/contract/route.ts'
import { OPERATION } from '../operations/schema.ts'
import { createFromFile, importUpload, receivePart } from './image-files.ts'
import {
  Image,
  ImageCreate,
  ImageImport,
  ImageQuery,
  ImageUpdate,
  imageProblems,
  PART_BYTES,
} from './image-schema.ts'
import { createFromSnapshot, deleteImage, type ImagesOptions, imageQuota, listImages } from './images.ts'
import { findSnapshot, updateSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { imageView } from './view.ts'

const tag = 'Images'
const path = '/images'

export function imageRoutes(options: ImagesOptions): Route[] {
  return [listRoute(options), createRoute(options), ...uploadRoutes(options), ...objectRoutes(options)]
}

/** A reply that leads to the image. */
function shown(row: SnapshotTable, setHeader: SetHeader) {
  setHeader('location', `/v1/images/${row.snapshot_id}`)
  return imageView(row)
}

async function find({ db }: ImagesOptions, { accountId }: Actor, imageId: string): Promise<SnapshotTable> {
  return found(await findSnapshot(db, accountId, imageId, 'image'), imageProblems.image_not_found)
}

function listRoute({ db }: ImagesOptions): Route {
  return route({
    id: 'listOwnImages',
    method: 'GET',
    path,
    scope: 'servers:read',
    tag,
    summary: 'List images',
    description:
      'Returns the images of the account, newest first. Operating systems on offer to everybody are templates: `GET /templates`.',
    query: ImageQuery,
    reply: { 200: listOf(Image) },
    run: (call) =>
      paged(call, (page) => listImages(db, call.actor.accountId, call.query.label, page), imageView),
  })
}

function createRoute(options: ImagesOptions): Route {
  return route({
    id: 'createImage',
    method: 'POST',
    path,
    scope: 'servers:write',
    tag,
    summary: 'Make an image',
    description:
      'From a snapshot, which it outlives; from a file at a public `url`; or with `upload` from a file that you send next. Files are qcow2, raw, VMDK, VHD or VHDX disks without a backing file; their content decides. Wait for its `operation_id`. It is billed by the GB once it is available; servers of its zone can be created from it and rebuilt to it.',
    body: ImageCreate,
    reply: { 202: Image },
    examples: {
      202: { status: 'importing', operation_id: OPERATION, size_gb: null, price_month_rub: '0.00' },
    },
    problems: { quota_exceeded: atLimit(imageQuota), not_supported: { feature: 'images' } },
    errors: [
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      catalogProblems.not_supported,
      imageProblems.image_not_found,
    ],
    run: async ({ actor, body, remember, setHeader }) =>
      shown(await create(options, actor, body, remember), setHeader),
    recover: async ({ actor, setHeader }, imageId) => shown(await find(options, actor, imageId), setHeader),
  })
}

/** The ways to make an image, each with the fields that it requires and those that it forbids. */
const sources = {
  snapshot_id: {
    make: createFromSnapshot,
    needs: [],
    excludes: ['zone_slug', 'content_bytes', 'sha256', 'os_family', 'default_username'],
  },
  upload: { make: createFromFile, needs: ['zone_slug', 'content_bytes'], excludes: ['sha256'] },
  url: { make: createFromFile, needs: ['zone_slug'], excludes: ['content_bytes'] },
} as const
const sourceNames = ['snapshot_id', 'upload', 'url'] as const

/** @throws ApiError as createFromSnapshot and createFromFile */
function create(options: ImagesOptions, actor: Actor, body: ImageCreate, remember: Remember) {
  const [first, second] = sourceNames.filter((name) => body[name] ?? false)
  if (first === undefined)
    throw invalid([
      bodyIssue('snapshot_id', 'required', 'snapshot_id is required, or upload or url instead.'),
    ])
  const { make, needs, excludes } = sources[first]
  const issues: Issue[] = [
    ...[...excludes, ...(second ? [second] : [])]
      .filter((name) => name in body)
      .map((name) => bodyIssue(name, 'mutually_exclusive', `${name} cannot be combined with ${first}.`)),
    ...needs
      .filter((name) => !(name in body))
      .map((name) => bodyIssue(name, 'required', `${name} is required with ${first}.`)),
  ]
  if (issues.length > 0) throw invalid(issues)
  return make(options, uuid(), actor, body, remember)
}

function uploadRoutes(options: ImagesOptions): Route[] {
  const object = {
    tag,
    scope: 'servers:write' as const,
    params: { image_id: imageProblems.image_not_found },
    load: ({ actor, params }: { actor: Actor; params: { image_id: string } }) =>
      find(options, actor, params.image_id),
  }
  const problems = { upload_offset: { uploaded_bytes: PART_BYTES } }
  const errors = [imageProblems.image_not_uploading, imageProblems.upload_offset]
  return [
    route({
      id: 'uploadImagePart',
      method: 'PATCH',
      path: `${path}/:image_id/content`,
      ...object,
      summary: 'Upload a part of a file',
      description:
        'The body is the next part of the file, up to 16 MiB. After a failure, `GET` the image and continue at its `uploaded_bytes`; a part that did not arrive whole does not count. An upload that nobody continues for three days is deleted.',
      headers: {
        'Upload-Offset': 'Place of the part in the file in bytes: the `uploaded_bytes` of the image',
      },
      partBytes: PART_BYTES,
      reply: { 200: Image },
      examples: { 200: UPLOADING },
      problems,
      errors,
      run: async ({ loaded, part }) => imageView(await receivePart(options, loaded, part)),
    }),
    route({
      id: 'importImage',
      method: 'POST',
      path: `${path}/:image_id/import`,
      ...object,
      summary: 'Make the image from the uploaded file',
      description:
        'The file must have arrived whole. It is checked and converted; wait for the `operation_id` of the image. If the file can not be used, the image is in `error`, and its `status_reason` says why and what to do.',
      body: ImageImport,
      reply: { 202: Image },
      examples: { 202: { ...UPLOADING, status: 'importing', operation_id: OPERATION } },
      problems,
      errors,
      run: async ({ loaded, body, remember, setHeader }) =>
        shown(await importUpload(options, loaded, body.sha256 ?? null, remember), setHeader),
      recover: async ({ actor, setHeader }, imageId) => shown(await find(options, actor, imageId), setHeader),
    }),
  ]
}

/** The example of an image whose file has arrived in part. */
const UPLOADING = {
  status: 'uploading',
  ...{ content_bytes: 734_003_200, uploaded_bytes: 33_554_432 },
  ...{ template_id: null, min_disk_gb: null, size_gb: null, price_month_rub: '0.00' },
}

function objectRoutes(options: ImagesOptions): Route[] {
  const object = {
    path: `${path}/:image_id`,
    tag,
    params: { image_id: imageProblems.image_not_found },
    load: ({ actor, params }: { actor: Actor; params: { image_id: string } }) =>
      find(options, actor, params.image_id),
  }
  return [
    route({
      id: 'getImage',
      method: 'GET',
      ...object,
      scope: 'servers:read',
      summary: 'Get an image',
      description: 'Returns the image with its status, size and price. A deleted image returns 404.',
      reply: { 200: Image },
      run: async ({ loaded }) => imageView(loaded),
    }),
    route({
      id: 'updateImage',
      method: 'PATCH',
      ...object,
      scope: 'servers:write',
      summary: 'Rename an image',
      description: 'Its name and labels can be changed. They may be changed while the image is being made.',
      body: ImageUpdate,
      reply: { 200: Image },
      run: async ({ loaded, body }) =>
        imageView(await updateSnapshot(options, loaded, body, imageProblems.image_not_found)),
    }),
    route({
      id: 'deleteImage',
      method: 'DELETE',
      ...object,
      scope: 'servers:write',
      summary: 'Delete an image',
      description:
        'Its billing ends at once. One that is still being made is canceled. Servers that were created from it keep working.',
      reply: { 204: null },
      errors: [imageProblems.image_in_use],
      run: ({ loaded }) => deleteImage(options, loaded),
    }),
  ]
}
