import type { ImageImport, IsoCreate, IsoUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query, Settings } from './request.ts'
import { type UploadOptions, upload } from './upload.ts'

export function isos(settings: Settings, call: Call) {
  const list = (query: Query<'GET /isos'> = {}, options?: CallOptions) =>
    call('GET /isos', { query }, options)
  const get = (iso_id: string, options?: CallOptions) =>
    call('GET /isos/{iso_id}', { path: { iso_id } }, options)
  const uploadPart = (iso_id: string, part: Blob, options: CallOptions & { uploadOffset: number }) =>
    call('PATCH /isos/{iso_id}/content', { path: { iso_id }, body: part }, options)
  return {
    /** One page: your own, newest first, and then those of the operator. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /isos'> = {}, options?: CallOptions) =>
      everyItem(list, 'iso_id', query, options),
    /** Begins to fetch an ISO; wait for its operation, or upload its file. */
    create: (body: IsoCreate, options?: CallOptions) => call('POST /isos', { body }, options),
    /** Uploads the file of an ISO that was created with `upload: true`, or the rest of it. */
    upload: (iso_id: string, file: Blob, options?: UploadOptions) => {
      const calls = {
        get: (each: CallOptions) => get(iso_id, each),
        send: (part: Blob, each: CallOptions & { uploadOffset: number }) => uploadPart(iso_id, part, each),
      }
      return upload(settings, calls, file, options)
    },
    /** Uploads one part, whose place is `uploadOffset`; `upload` does so for a whole file. */
    uploadPart,
    /** Begins to check the uploaded file; the operation of the reply is one to wait for. */
    import: (iso_id: string, body: ImageImport = {}, options?: CallOptions) =>
      call('POST /isos/{iso_id}/import', { path: { iso_id }, body }, options),
    get,
    update: (iso_id: string, body: IsoUpdate, options?: CallOptions) =>
      call('PATCH /isos/{iso_id}', { path: { iso_id }, body }, options),
    delete: (iso_id: string, options?: CallOptions) =>
      call('DELETE /isos/{iso_id}', { path: { iso_id } }, options),
  }
}
