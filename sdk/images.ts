import type { ImageCreate, ImageImport, ImageUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query, Settings } from './request.ts'
import { type UploadOptions, upload } from './upload.ts'

export function images(settings: Settings, call: Call) {
  const list = (query: Query<'GET /images'> = {}, options?: CallOptions) =>
    call('GET /images', { query }, options)
  const get = (image_id: string, options?: CallOptions) =>
    call('GET /images/{image_id}', { path: { image_id } }, options)
  const uploadPart = (image_id: string, part: Blob, options: CallOptions & { uploadOffset: number }) =>
    call('PATCH /images/{image_id}/content', { path: { image_id }, body: part }, options)
  return {
    /** One page, newest first. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /images'> = {}, options?: CallOptions) =>
      everyItem(list, 'image_id', query, options),
    /** Begins to make an image; wait for its operation, or upload its file. */
    create: (body: ImageCreate, options?: CallOptions) => call('POST /images', { body }, options),
    /** Uploads the file of an image that was created with `upload: true`, or the rest of it. */
    upload: (image_id: string, file: Blob, options?: UploadOptions) => {
      const calls = {
        get: (each: CallOptions) => get(image_id, each),
        send: (part: Blob, each: CallOptions & { uploadOffset: number }) => uploadPart(image_id, part, each),
      }
      return upload(settings, calls, file, options)
    },
    /** Uploads one part, whose place is `uploadOffset`; `upload` does so for a whole file. */
    uploadPart,
    /** Begins to make the image from its uploaded file; the operation of the reply is one to wait for. */
    import: (image_id: string, body: ImageImport = {}, options?: CallOptions) =>
      call('POST /images/{image_id}/import', { path: { image_id }, body }, options),
    get,
    update: (image_id: string, body: ImageUpdate, options?: CallOptions) =>
      call('PATCH /images/{image_id}', { path: { image_id }, body }, options),
    delete: (image_id: string, options?: CallOptions) =>
      call('DELETE /images/{image_id}', { path: { image_id } }, options),
  }
}
