import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import { OPERATION } from '../operations/schema.ts'
import { Image, ImageCreate, ImageQuery, ImageUpdate, imageProblems } from './image-schema.ts'
import { createImage, deleteImage, type ImagesOptions, imageQuota, listImages } from './images.ts'
import { findSnapshot, renameSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { imageView } from './view.ts'

const tag = 'Images'
const path = '/images'

export function imageRoutes(options: ImagesOptions): Route[] {
  return [listRoute(options), createRoute(options), ...objectRoutes(options)]
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
    run: (call) => paged(call, (page) => listImages(db, call.actor.accountId, page), imageView),
  })
}

function createRoute(options: ImagesOptions): Route {
  const shown = (row: SnapshotTable, setHeader: SetHeader) => {
    setHeader('location', `/v1/images/${row.snapshot_id}`)
    return imageView(row)
  }
  return route({
    id: 'createImage',
    method: 'POST',
    path,
    scope: 'servers:write',
    tag,
    summary: 'Make an image from a snapshot',
    description:
      'The image has the data of the snapshot, and stays when that is deleted. Wait for its `operation_id`. It is billed by the GB once it is available; servers of its zone can be created from it and rebuilt to it.',
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
      shown(await createImage(options, actor, body, remember), setHeader),
    recover: async ({ actor, setHeader }, imageId) => shown(await find(options, actor, imageId), setHeader),
  })
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
      description: 'Only the name can be changed. It may be changed while the image is being made.',
      body: ImageUpdate,
      reply: { 200: Image },
      run: async ({ loaded, body }) =>
        imageView(await renameSnapshot(options, loaded, body, imageProblems.image_not_found)),
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
