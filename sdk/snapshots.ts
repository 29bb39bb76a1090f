import type { SnapshotCreate, SnapshotUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function snapshots(call: Call) {
  const list = (query: Query<'GET /snapshots'> = {}, options?: CallOptions) =>
    call('GET /snapshots', { query }, options)
  return {
    /** One page, newest first; `server_id` selects the snapshots of a server. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /snapshots'> = {}, options?: CallOptions) =>
      everyItem(list, 'snapshot_id', query, options),
    /** Begins to copy the disk of a server; the operation of the reply is one to wait for. */
    create: (body: SnapshotCreate, options?: CallOptions) => call('POST /snapshots', { body }, options),
    get: (snapshot_id: string, options?: CallOptions) =>
      call('GET /snapshots/{snapshot_id}', { path: { snapshot_id } }, options),
    update: (snapshot_id: string, body: SnapshotUpdate, options?: CallOptions) =>
      call('PATCH /snapshots/{snapshot_id}', { path: { snapshot_id }, body }, options),
    delete: (snapshot_id: string, options?: CallOptions) =>
      call('DELETE /snapshots/{snapshot_id}', { path: { snapshot_id } }, options),
  }
}
