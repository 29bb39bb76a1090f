import type { ImageCreate, ImageUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function images(call: Call) {
  const list = (query: Query<'GET /images'> = {}, options?: CallOptions) =>
    call('GET /images', { query }, options)
  return {
    /** One page, newest first. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /images'> = {}, options?: CallOptions) =>
      everyItem(list, 'image_id', query, options),
    /** Begins to make an image; the operation of the reply is one to wait for. */
    create: (body: ImageCreate, options?: CallOptions) => call('POST /images', { body }, options),
    get: (image_id: string, options?: CallOptions) =>
      call('GET /images/{image_id}', { path: { image_id } }, options),
    update: (image_id: string, body: ImageUpdate, options?: CallOptions) =>
      call('PATCH /images/{image_id}', { path: { image_id }, body }, options),
    delete: (image_id: string, options?: CallOptions) =>
      call('DELETE /images/{image_id}', { path: { image_id } }, options),
  }
}
