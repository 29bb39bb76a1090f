import type { VolumeAttach, VolumeCreate, VolumeUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function volumes(call: Call) {
  const list = (query: Query<'GET /volumes'> = {}, options?: CallOptions) =>
    call('GET /volumes', { query }, options)
  return {
    /** One page, newest first; `server_id` selects the volumes of a server. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /volumes'> = {}, options?: CallOptions) =>
      everyItem(list, 'volume_id', query, options),
    get: (volume_id: string, options?: CallOptions) =>
      call('GET /volumes/{volume_id}', { path: { volume_id } }, options),
    create: (body: VolumeCreate, options?: CallOptions) => call('POST /volumes', { body }, options),
    /** Replies with the volume, or, if it grows, with an operation to wait for. */
    update: (volume_id: string, body: VolumeUpdate, options?: CallOptions) =>
      call('PATCH /volumes/{volume_id}', { path: { volume_id }, body }, options),
    /** Deletes it with its data. Replies with an operation to wait for. */
    delete: (volume_id: string, options?: CallOptions) =>
      call('DELETE /volumes/{volume_id}', { path: { volume_id } }, options),
    /** Replies with an operation to wait for. */
    attach: (volume_id: string, body: VolumeAttach, options?: CallOptions) =>
      call('POST /volumes/{volume_id}/attach', { path: { volume_id }, body }, options),
    /** Replies with an operation to wait for. */
    detach: (volume_id: string, options?: CallOptions) =>
      call('POST /volumes/{volume_id}/detach', { path: { volume_id } }, options),
  }
}
